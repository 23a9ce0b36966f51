//! Trees that turn out to be bad ones when much is explored.

use stubborn_search::Search;
use stubborn_system::layout::LayoutBuilder;
use stubborn_system::{
    Executor, FieldKind, LabelId, Layout, Structure, Successors, System, Transition, TransitionId,
};

/// Words of the counters, and their ends. The first two count, and when they have come to their
/// ends, the others. In the usual tree the first two are in different halves, the others in one.
const COUNTERS: [(usize, u32); 4] = [(0, 150), (4, 150), (1, 600), (2, 600)];
const WORDS: usize = 8;

struct Counters {
    layout: Layout,
    structure: Structure,
}

impl System for Counters {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn structure(&self) -> &Structure {
        &self.structure
    }

    fn initial_states(&self) -> Vec<u32> {
        vec![0; WORDS]
    }

    fn executor(&self) -> Box<dyn Executor + '_> {
        Box::new(Counting)
    }
}

struct Counting;

impl Executor for Counting {
    fn successors(&mut self, state: &[u32], out: &mut Successors) {
        for counter in 0..COUNTERS.len() {
            self.fire(state, TransitionId::new(counter), out);
        }
    }

    fn fire(&mut self, state: &[u32], transition: TransitionId, out: &mut Successors) {
        let is_at_end = |(word, end): &(usize, u32)| state[*word] == *end;
        let counter = transition.index();
        let (word, _) = COUNTERS[counter];
        if !is_at_end(&COUNTERS[counter]) && (counter < 2 || COUNTERS[..2].iter().all(is_at_end)) {
            let (words, mask) = out.push_copy(transition, state);
            words[word] += 1;
            mask[0] |= 1 << word;
        }
    }

    fn label(&mut self, _: &[u32], _: LabelId) -> bool {
        false
    }
}

/// The first states say nothing against the usual tree. It would have a node for each of the others.
#[test]
fn a_large_search_gets_another_tree() {
    let mut layout = LayoutBuilder::new();
    for word in 0..WORDS {
        layout.align_to_word();
        let range = (0, i64::from(u32::MAX));
        layout.field(format!("word {word}"), range, FieldKind::Integer, None);
    }
    let system = Counters {
        layout: layout.finish(),
        structure: Structure {
            transitions: vec![Transition::default(); COUNTERS.len()],
            ..Structure::default()
        },
    };
    for threads in [1, 2] {
        let search = Search {
            threads,
            ..Search::new(&system)
        };
        let result = search.run().expect("it fits together");
        assert_eq!(result.states, 151 * 151 + 601 * 601 - 1);
        let bytes = result.bytes_per_state();
        assert!(bytes < 12.0, "{bytes} bytes a state on {threads} threads");
    }
}
