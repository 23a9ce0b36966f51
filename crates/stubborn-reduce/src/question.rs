//! Asking whether a label holds in a state.
//!
//! Most guards are about one small field: where a process is, whether a channel is empty. What the
//! [system](stubborn_system::System::truth_table) knows of them beforehand are a few words of bits, one for each
//! value of the field, and a look at it costs a few instructions. The others are asked of the executor.

use stubborn_system::{Executor, LabelId, System};

/// The word of a question that only an executor can answer.
const NO_WORD: u16 = u16::MAX;

/// A label, with what is needed to evaluate it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question {
    /// By raw value of the field, whether it holds.
    truth: [u64; 4],
    pub(crate) label: u32,
    /// Where the field lies.
    word: u16,
    shift: u8,
    mask: u8,
}

impl Question {
    /// One that an executor answers.
    fn new(label: u32) -> Self {
        Self {
            truth: [0; 4],
            label,
            word: NO_WORD,
            shift: 0,
            mask: 0,
        }
    }

    /// All labels of a system.
    pub(crate) fn all(system: &dyn System) -> Vec<Self> {
        let of = |id: LabelId| {
            let question = Self::new(id.index() as u32);
            let [field] = system.structure().label(id).tests[..] else {
                return question;
            };
            let field = system.layout().field(field);
            match system.truth_table(id) {
                Some(truth) if field.word < u32::from(NO_WORD) && (1..=8).contains(&field.bits) => {
                    Self {
                        truth,
                        word: field.word as u16,
                        shift: field.shift,
                        mask: field.low_mask() as u8,
                        ..question
                    }
                }
                _ => question,
            }
        };
        system.structure().label_ids().map(of).collect()
    }

    /// Whether the label holds.
    #[inline]
    pub(crate) fn holds(&self, state: &[u32], executor: &mut dyn Executor) -> bool {
        if self.word == NO_WORD {
            return executor.label(state, LabelId::new(self.label as usize));
        }
        let raw = state[self.word as usize] >> self.shift & u32::from(self.mask);
        self.truth[raw as usize / 64] >> (raw % 64) & 1 == 1
    }
}
