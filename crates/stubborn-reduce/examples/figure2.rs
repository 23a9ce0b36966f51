//! Figure 2 of Bokor, Kinder, Serafini, Suri, *Supporting domain-specific state space reductions
//! through local partial-order reduction* (2011), by a program that knows nothing but the
//! reduction library.
//!
//! The net: `t1` and `t2` compete for a token. `t2` also needs a token that `t3` makes, and `t3`
//! needs one from `t4` and one from `t5`. At first `t1`, `t4` and `t5` are enabled. Whoever
//! explores `t1` must explore what leads to `t2`. Without more knowledge these are `t4` and
//! `t5`; but `t3` cannot happen before both have happened, so one of them is enough.
//!
//! (The text of the paper prints the pairs of `net` the wrong way round against its definition 3:
//! `t3` needs `t4` and `t5`, so the pairs are (t3, t4) and (t3, t5).)

#![allow(clippy::print_stdout)] // an example talks

use stubborn_reduce::lpor::{ForwardSets, Keep, Lpor, Relations, Situation, TransitionId};

/// The net as relations between transitions, counted from 1 as in the figure.
struct Figure2 {
    with_net: bool,
}

fn is_one_of(t: TransitionId, u: TransitionId, pairs: &[(usize, usize)]) -> bool {
    pairs.contains(&(t.index() + 1, u.index() + 1))
}

impl Relations for Figure2 {
    fn transitions(&self) -> usize {
        5
    }

    fn can_enable(&self, t: TransitionId, u: TransitionId) -> bool {
        is_one_of(t, u, &[(3, 2), (4, 3), (5, 3)])
    }

    fn disturbs(&self, t: TransitionId, u: TransitionId) -> bool {
        is_one_of(t, u, &[(1, 2), (2, 1)])
    }

    fn needs(&self, t: TransitionId, u: TransitionId) -> bool {
        self.with_net && is_one_of(t, u, &[(3, 4), (3, 5)])
    }
}

/// The search path so far.
struct Path(Vec<TransitionId>);

impl Situation for Path {
    fn was_fired(&self, t: TransitionId) -> Option<bool> {
        Some(self.0.contains(&t))
    }
}

/// What a checker that can look into the state says instead: which transitions must be fired
/// before a disabled one is enabled. Independent of the path.
struct Marking;

impl Situation for Marking {
    fn enabling_sets(&self, t: TransitionId, visit: &mut dyn FnMut(&[TransitionId])) {
        let by = |number: usize| TransitionId::new(number - 1);
        match t.index() + 1 {
            2 => visit(&[by(3)]),
            3 => {
                visit(&[by(4)]);
                visit(&[by(5)]);
            }
            _ => {}
        }
    }
}

fn names(set: &[TransitionId]) -> String {
    let names: Vec<_> = set.iter().map(|t| format!("t{}", t.index() + 1)).collect();
    format!("{{{}}}", names.join(", "))
}

pub(crate) fn main() {
    let enabled = [1, 4, 5].map(|number| TransitionId::new(number - 1));
    let start = enabled[0];
    for sets in [ForwardSets::Precomputed, ForwardSets::OnLine] {
        let lpor = |with_net| {
            Lpor::with_forward_sets(Figure2 { with_net }, Keep::Deadlocks, sets)
                .expect("deadlocks need nothing else")
        };
        let without = lpor(false).stubborn_set(start, &enabled);
        let with = lpor(true).stubborn_set_in(start, &enabled, &Path(Vec::new()));
        let in_state = lpor(false).stubborn_set_in(start, &enabled, &Marking);
        println!("{sets:?}: without NET {}", names(&without));
        println!("{sets:?}: with NET    {}", names(&with));
        println!("{sets:?}: by marking  {}", names(&in_state));
        assert_eq!(names(&without), "{t1, t4, t5}");
        assert_eq!(names(&with), "{t1, t4}");
        assert_eq!(names(&in_state), "{t1, t4}");
        // Once t4 was fired, it is no reason any more to leave out t5.
        let later = [1, 5].map(|number| TransitionId::new(number - 1));
        let path = Path(vec![TransitionId::new(3)]);
        let after = lpor(true).stubborn_set_in(start, &later, &path);
        assert_eq!(names(&after), "{t1, t5}");
    }
}
