//! A system whose states say late what is a good tree for them.

use stubborn_system::layout::LayoutBuilder;
use stubborn_system::{
    Executor, FieldKind, LabelId, Layout, Structure, Successors, System, Transition, TransitionId,
};

/// Words of the counters, and their ends. The first two count, and when they have come to their
/// ends, the others. In the usual tree the first two are in different halves, the others in one.
const COUNTERS: [(usize, u32); 4] = [(0, 150), (4, 150), (1, 600), (2, 600)];
const WORDS: usize = 8;

/// See [`COUNTERS`].
pub struct LateCounters {
    layout: Layout,
    structure: Structure,
}

impl System for LateCounters {
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

impl LateCounters {
    /// All states.
    pub const STATES: u64 = 151 * 151 + 601 * 601 - 1;

    pub fn new() -> Self {
        let mut layout = LayoutBuilder::new();
        for word in 0..WORDS {
            layout.align_to_word();
            let range = (0, i64::from(u32::MAX));
            layout.field(format!("word {word}"), range, FieldKind::Integer, None);
        }
        Self {
            layout: layout.finish(),
            structure: Structure {
                transitions: vec![Transition::default(); COUNTERS.len()],
                ..Structure::default()
            },
        }
    }
}
