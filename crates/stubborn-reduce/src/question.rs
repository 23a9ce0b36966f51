//! Asking whether a label holds in a state.
//!
//! Most guards are about one small field: where a process is, whether a channel is empty. What the
//! [system](stubborn_system::System::truth_table) knows of them beforehand are a few words of bits, one for each
//! value of the field, and a look at it costs a few instructions. The others are asked of the executor.
//!
//! Labels are asked one by one when a set is computed, often several of one field in a row: at which of its
//! locations a process is. Where it is known beforehand what will be asked, one look at the field answers all of
//! them ([`Fields`]).

use std::collections::BTreeMap;

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
        self.holds_for(state[self.word as usize] >> self.shift & u32::from(self.mask))
    }

    /// Whether it holds for a value of its field.
    #[inline]
    fn holds_for(&self, raw: u32) -> bool {
        self.truth[raw as usize / 64] >> (raw % 64) & 1 == 1
    }
}

/// Most classes of values of a field: the bits of a word.
const MOST_CLASSES: usize = 64;

/// Some labels about one field, whose values fall into classes that these labels tell apart; or a single label
/// that only an executor can answer, with the classes 0 and 1.
#[derive(Clone, Copy, Debug)]
struct Field {
    /// Its first label, if the executor is to be asked.
    question: u32,
    /// Where the classes of its values begin.
    first: u32,
    word: u16,
    shift: u8,
    mask: u8,
}

/// What is known about the answer to a question about a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) field: u32,
    /// How many classes the field has.
    pub(crate) classes: usize,
    /// Those that it may be in.
    pub(crate) possible: u64,
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Fields {
    fields: Vec<Field>,
    /// By value, for one field after the other.
    class_of: Vec<u8>,
    /// How many classes each field has, and its labels.
    about: Vec<(usize, Vec<u32>)>,
    /// For each label, its field and the classes where it holds.
    of_label: Vec<(u32, u64)>,
}

impl Fields {
    pub(crate) fn new(questions: &[Question]) -> Self {
        let mut all = Self {
            fields: Vec::new(),
            class_of: Vec::new(),
            about: Vec::new(),
            of_label: vec![(0, 0); questions.len()],
        };
        let mut groups: BTreeMap<_, Vec<&Question>> = BTreeMap::new();
        for question in questions {
            let alone = (question.word == NO_WORD).then_some(question.label);
            let place = (question.word, question.shift, question.mask, alone);
            groups.entry(place).or_default().push(question);
        }
        for group in groups.values() {
            if !all.add(group) {
                for question in group {
                    all.add(&[question]);
                }
            }
        }
        all
    }

    /// Makes a field of some labels, unless they tell too many values apart.
    fn add(&mut self, labels: &[&Question]) -> bool {
        let Some(Question {
            word, shift, mask, ..
        }) = labels.first()
        else {
            return true;
        };
        let mut patterns: Vec<Vec<bool>> = Vec::new();
        let mut class_of = Vec::new();
        if *word == NO_WORD {
            patterns = vec![vec![false], vec![true]];
        } else {
            for raw in 0..=u32::from(*mask) {
                let pattern: Vec<bool> = labels.iter().map(|label| label.holds_for(raw)).collect();
                let known = patterns.iter().position(|known| *known == pattern);
                class_of.push(known.unwrap_or(patterns.len()) as u8);
                if known.is_none() {
                    patterns.push(pattern);
                }
            }
        }
        if patterns.len() > MOST_CLASSES {
            return false;
        }
        for (at, label) in labels.iter().enumerate() {
            let holding = (patterns.iter().enumerate()).filter(|(_, pattern)| pattern[at]);
            let classes = holding.fold(0, |all, (class, _)| all | 1 << class);
            self.of_label[label.label as usize] = (self.fields.len() as u32, classes);
        }
        self.fields.push(Field {
            question: labels[0].label,
            first: self.class_of.len() as u32,
            word: *word,
            shift: *shift,
            mask: *mask,
        });
        self.class_of.extend(class_of);
        let labels = labels.iter().map(|label| label.label).collect();
        self.about.push((patterns.len(), labels));
        true
    }

    /// The class that a field is in.
    #[inline]
    pub(crate) fn class(&self, field: u32, state: &[u32], executor: &mut dyn Executor) -> usize {
        let field = &self.fields[field as usize];
        if field.word == NO_WORD {
            let label = LabelId::new(field.question as usize);
            return usize::from(executor.label(state, label));
        }
        self.class_in(field, state)
    }

    #[inline]
    fn class_in(&self, field: &Field, state: &[u32]) -> usize {
        let raw = state[field.word as usize] >> field.shift & u32::from(field.mask);
        usize::from(self.class_of[(field.first + raw) as usize])
    }

    /// What questions and answers about labels say about fields. Questions about one field in a row are one.
    pub(crate) fn steps(&self, log: &[(u32, bool)]) -> impl Iterator<Item = Step> {
        let mut rest = log.iter().peekable();
        std::iter::from_fn(move || {
            let field = self.of_label[rest.peek()?.0 as usize].0;
            let classes = self.classes(field);
            let mut possible = u64::MAX >> (MOST_CLASSES - classes);
            while let Some((label, holds)) = rest.peek() {
                let (other, holding) = self.of_label[*label as usize];
                if other != field {
                    break;
                }
                possible &= if *holds { holding } else { !holding };
                rest.next();
            }
            Some(Step {
                field,
                classes,
                possible,
            })
        })
    }

    /// How many classes a field has.
    pub(crate) fn classes(&self, field: u32) -> usize {
        self.about[field as usize].0
    }

    /// What a step says about labels.
    pub(crate) fn answers(&self, step: Step) -> impl Iterator<Item = (u32, bool)> {
        let labels = self.about[step.field as usize].1.iter();
        labels.filter_map(move |label| {
            let holding = self.of_label[*label as usize].1;
            let (yes, no) = (step.possible & holding != 0, step.possible & !holding != 0);
            (yes != no).then_some((*label, yes))
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A label about a field in the first word, that holds for these of its values.
    pub(crate) fn question(label: u32, shift: u8, mask: u8, values: &[u64]) -> Question {
        let mut question = Question {
            word: 0,
            shift,
            mask,
            ..Question::new(label)
        };
        for value in values {
            question.truth[*value as usize / 64] |= 1 << (value % 64);
        }
        question
    }

    impl Fields {
        /// The class of a field that no executor need be asked about.
        pub(crate) fn class_of(&self, field: u32, state: &[u32]) -> usize {
            self.class_in(&self.fields[field as usize], state)
        }
    }

    #[test]
    fn fields_answer_what_their_labels_do() {
        let values: Vec<u64> = (0..256).collect();
        // The first field has four classes; the second one would have 101, and the third one is two labels'.
        let mut labels = vec![
            question(0, 0, 15, &[3]),
            question(1, 0, 15, &[5, 6, 7]),
            question(2, 0, 15, &[3, 4]),
        ];
        labels.extend((0..100).map(|n| question(3 + n, 8, 255, &values[n as usize..][..1])));
        labels.extend([question(103, 16, 1, &[]), question(104, 16, 1, &[1])]);
        let fields = Fields::new(&labels);
        assert_eq!(fields.fields.len(), 102);
        assert_eq!(fields.of_label[0].0, fields.of_label[2].0);
        assert_eq!(fields.classes(fields.of_label[0].0), 4);
        for round in 0..1_000 {
            let state = [stubborn_system::random::mix(round) as u32];
            for label in &labels {
                let raw = state[0] >> label.shift & u32::from(label.mask);
                let holds = label.holds_for(raw);
                let (field, holding) = fields.of_label[label.label as usize];
                assert_eq!(holding >> fields.class_of(field, &state) & 1 == 1, holds);
                let steps: Vec<Step> = fields.steps(&[(label.label, holds)]).collect();
                assert_eq!((steps.len(), steps[0].field), (1, field));
                assert!(
                    fields
                        .answers(steps[0])
                        .any(|answer| answer == (label.label, holds))
                );
            }
        }
    }
}
