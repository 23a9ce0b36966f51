//! Which enabling set a disabled member takes, and what it takes to find out.

use stubborn_reduce::testing::tiny::Tiny;
use stubborn_reduce::validate::sets::ask;
use stubborn_reduce::{Aim, Algorithm, Config, Plan, StubbornReduction};
use stubborn_system::{LabelId, Matrix, May, Must, Reduction, Relations, System, TransitionId};

/// Relations of which these are the pairs.
fn relations(
    tiny: &Tiny,
    enables: &[(LabelId, TransitionId)],
    disables: &[(LabelId, TransitionId)],
    conflicts: &[(TransitionId, TransitionId)],
    is_excluded: impl Fn(LabelId, LabelId) -> bool,
) -> Relations {
    let structure = tiny.structure();
    let (n, labels) = (structure.transitions.len(), structure.labels.len());
    let who = |pairs: &[(LabelId, TransitionId)]| {
        Matrix::from_fn(labels, n, |g, t| pairs.contains(&(g, t)))
    };
    Relations {
        may_enable: May(who(enables)),
        may_disable: May(who(disables)),
        never_together: Must(Matrix::from_fn(labels, labels, is_excluded)),
        do_not_accord: May(Matrix::from_fn(n, n, |t, u| {
            conflicts.contains(&(t, u)) || conflicts.contains(&(u, t))
        })),
        ..Relations::from_sets(structure)
    }
}

fn beam(tiny: &Tiny, relations: &Relations) -> StubbornReduction {
    let plan = Plan::new(&Config::new(Algorithm::Beam), Aim::Deadlocks).expect("a plan");
    StubbornReduction::new(tiny, relations, plan).expect("a reduction")
}

/// `k` needs `d` and `e`. When `d` has taken in what enables it, the other `d`s need nothing more: to let `e`
/// wait for the seven of them costs less than to let it wait for `f`, which needs `x`.
#[test]
fn what_needs_nothing_more_costs_nothing() {
    // Rows as one word, as several words, and as lists.
    for others in [0, 300, 700] {
        let mut tiny = Tiny::new(&[2]);
        let mut never = |name: &str| tiny.label(name, &[0], |_| false);
        let [of_a, of_d, first, second, of_f, of_h] =
            ["a", "d", "first", "second", "f", "h"].map(&mut never);
        let mut step =
            |name: &str, guards: &[LabelId]| tiny.simple(name, guards, (&[], &[]), |_| {});
        let k = step("k", &[]);
        let d = step("d", &[of_d]);
        let e = step("e", &[first, second]);
        let more = [(); 7].map(|()| step("d", &[of_d]));
        let a = step("a", &[of_a]);
        let f = step("f", &[of_f]);
        let h = step("h", &[of_h]);
        let x = step("x", &[]);
        for _ in 0..others {
            step("another", &[of_a]);
        }
        let mut enables = vec![(of_d, a), (second, f), (of_f, x), (of_h, k)];
        enables.extend(more.map(|d| (first, d)));
        let relations = relations(&tiny, &enables, &[], &[(k, d), (k, e), (x, h)], |_, _| {
            false
        });
        let reduction = beam(&tiny, &relations);
        let (mut executor, mut reducer) = (tiny.executor(), reduction.reducer());
        let (kept, _) = ask(&tiny, executor.as_mut(), reducer.as_mut(), &tiny.pack(&[0]));
        assert!(kept.contains(k.index()), "{others}");
        assert!(!kept.contains(x.index()), "{others}");
    }
}

/// A process with many locations is at one of them: those that it is not at are not looked at one by one.
#[test]
fn sets_of_other_locations_are_not_counted() {
    const LOCATIONS: i64 = 600;
    let mut tiny = Tiny::new(&[LOCATIONS]);
    let mut at = Vec::new();
    let mut steps = Vec::new();
    for location in 0..LOCATIONS {
        let here = tiny.label(format!("at {location}"), &[0], move |v| v[0] == location);
        at.push(here);
        steps.push(tiny.simple("go on", &[here], (&[0], &[0]), move |v| {
            v[0] = (location + 1) % LOCATIONS;
        }));
    }
    let other = tiny.simple("other", &[], (&[], &[]), |_| {});
    let enables: Vec<_> = (0..600).map(|l| (at[(l + 1) % 600], steps[l])).collect();
    let disables: Vec<_> = (0..600).map(|l| (at[l], steps[l])).collect();
    let conflicts = [(other, steps[300])];
    let relations = relations(&tiny, &enables, &disables, &conflicts, |g, h| g != h);
    let reduction = beam(&tiny, &relations);
    let mut executor = tiny.executor();
    let mut reducer = reduction.reducer();
    ask(&tiny, executor.as_mut(), reducer.as_mut(), &tiny.pack(&[0]));
    drop(reducer);
    // Three hundred members lie between the two, each with six hundred sets to choose from.
    assert!(
        (1..10_000).contains(&reduction.work()),
        "{}",
        reduction.work()
    );
}
