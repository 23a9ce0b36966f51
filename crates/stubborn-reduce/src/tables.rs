//! The relations of one system, arranged for set algorithms. Built once per run.
//!
//! *Necessary enabling sets* are numbered: set `g` is the row of label `g` in may-enable, and
//! set `half + h` the row of label `h` in may-disable, which enables every guard that never
//! holds together with `h` (Laarman et al. 2014, theorem 2); `half` is the number of labels,
//! rounded up to whole words of bits. Which of them a disabled transition may
//! use in a state is a question about one label: `g` must be false, `h` must be true.
//!
//! Condition V needs no code in the algorithms: an enabled visible member needs all visible
//! transitions, so these are added to its do-not-accord and do-not-left-accord rows. That
//! keeps do-not-accord symmetric, and deletion follows the same edges backwards. (With C2 such a
//! member needs all transitions, and a set that closes cycles all visible ones for any member:
//! then the rows are not symmetric, and deletion needs them transposed. The same goes for
//! condition G: who can make a goal false needs all who can make it true.)

use std::collections::BTreeMap;

use stubborn_system::{LabelId, Matrix, May, Relations, Structure, System, TransitionId};

use crate::aim::{Aim, Goals, Plan};
use crate::config::Visibility;
use crate::question::{Fields, Question};
use crate::rows::{Rows, has, put};

/// Up to this many words of labels, the enabling sets of a transition are gone through as bits;
/// beyond, its list of them is shorter.
const MOST_LABEL_WORDS: usize = 8;

/// Up to this many words of labels, facts about labels are inferred from others; beyond,
/// evaluating a label is cheaper than going through rows.
pub(crate) const MOST_INFERENCE_WORDS: usize = 64;

/// The number of a necessary enabling set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EnablingSet(pub(crate) u32);

/// Of a word of labels, those that are guards of a transition and those that never hold together with one
/// of its guards (if disabling sets are used). Words without any are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OptionWord {
    /// The number of the word.
    pub(crate) at: usize,
    pub(crate) guards: u64,
    pub(crate) excluders: u64,
}

impl OptionWord {
    fn all(guards: &[u32], excluders: &[u32]) -> Box<[Self]> {
        let mut words: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
        for label in guards {
            words.entry(*label as usize / 64).or_default().0 |= 1 << (label % 64);
        }
        for label in excluders {
            words.entry(*label as usize / 64).or_default().1 |= 1 << (label % 64);
        }
        let words = words.into_iter();
        let word = |(at, (guards, excluders))| Self {
            at,
            guards,
            excluders,
        };
        words.map(word).collect()
    }
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Tables {
    pub(crate) transitions: usize,
    pub(crate) labels: usize,
    /// The number of the first disabling set.
    pub(crate) half: usize,
    /// Words of a bit vector of transitions.
    pub(crate) words: usize,
    /// How to evaluate each label.
    pub(crate) questions: Vec<Question>,
    /// The same, of whole fields.
    pub(crate) fields: Fields,
    /// Transition to its guards.
    pub(crate) guards: Rows,
    /// Transition to the labels that are known where it is enabled: its guards, and what never holds
    /// together with one of them. Empty where nothing is inferred.
    pub(crate) implied: Rows,
    /// Label to labels that never hold together with it.
    pub(crate) excludes: Rows,
    /// Transition to the words of its options, where that is the cheaper form; else empty.
    option_words: Vec<Box<[OptionWord]>>,
    /// Transition to the enabling sets it may use: those of its own guards first.
    pub(crate) options: Rows,
    /// Enabling set to the transitions that may use it.
    pub(crate) users: Rows,
    /// Enabling set to its transitions.
    pub(crate) enabling: Rows,
    /// Do not accord, or do not meet where that matters, with condition V.
    pub(crate) accord: Rows,
    /// Whether that is symmetric.
    pub(crate) is_symmetric: bool,
    /// Do not left-accord, with condition V; row `t` are those that `t` cannot move left over.
    pub(crate) left: Rows,
    /// Some step can fail.
    pub(crate) may_fail: bool,
    /// Transitions of low priority: they may be disabled although all guards hold.
    pub(crate) low_priority: Vec<u32>,
    /// By transition; empty if all have the same.
    pub(crate) priorities: Vec<u8>,
    /// Visible transitions, as bits.
    pub(crate) visible: Vec<u64>,
    /// See [`Plan::needs_invisible_key`].
    pub(crate) needs_invisible_key: bool,
    /// What must be reached, for goal-driven sets.
    pub(crate) goals: Goals,
}

impl Tables {
    pub(crate) fn new(system: &dyn System, relations: &Relations, plan: &Plan) -> Self {
        let structure = system.structure();
        let (transitions, labels) = (structure.transitions.len(), structure.labels.len());
        let words = transitions.div_ceil(64);
        let enable = |label| relations.may_enable.0.row_indices(label).to_vec();
        let disable = |label| relations.may_disable.0.row_indices(label).to_vec();
        let half = labels.next_multiple_of(64);
        let padding = (labels..half).map(|_| Vec::new());
        let enabling = (structure.label_ids().map(enable))
            .chain(padding.clone())
            .chain(structure.label_ids().map(disable))
            .chain(padding)
            .collect();
        let excludes: Vec<Vec<u32>> = symmetric(
            structure
                .label_ids()
                .map(|l| relations.never_together.0.row_indices(l).to_vec())
                .collect(),
        );

        let mut visible = vec![0; words];
        let (visible_labels, visible_transitions) = plan.visible();
        for transition in visible_transitions {
            put(&mut visible, transition.index() as u32);
        }
        for label in visible_labels {
            for transition in enable(label).into_iter().chain(disable(label)) {
                put(&mut visible, transition);
            }
        }
        let all_visible: Vec<u32> = crate::rows::ones_of(&visible).collect();
        let kept_goals = plan.kept_goals().map(|goals| {
            let makers = |labels: &Vec<LabelId>| {
                let (mut makers, mut breakers) = (Vec::new(), vec![0; words]);
                for label in labels {
                    makers.extend(enable(*label));
                    for transition in disable(*label) {
                        put(&mut breakers, transition);
                    }
                }
                (makers, breakers)
            };
            goals.any_of.iter().map(makers).collect::<Vec<_>>()
        });
        let with_visible = |rows: Vec<Vec<u32>>| -> Vec<Vec<u32>> {
            let all = |(t, mut row): (usize, Vec<u32>)| {
                if let Some(goals) = &kept_goals {
                    for (makers, breakers) in goals {
                        if has(breakers, t as u32) {
                            row.extend(makers);
                        }
                    }
                    return row;
                }
                let is_visible = has(&visible, t as u32);
                if is_visible && plan.settings.visibility == Visibility::C2 {
                    row = (0..transitions as u32).collect();
                } else if is_visible || plan.all_visible {
                    row.extend_from_slice(&all_visible);
                }
                row
            };
            rows.into_iter().enumerate().map(all).collect()
        };
        let goals = match &plan.aim {
            Aim::Goals(goals) => goals.clone(),
            _ => Goals::default(),
        };
        let sought = |t: &TransitionId| may_change_outcome(structure, relations, *t);
        let sought: Vec<Vec<u32>> = goals.transitions.iter().map(sought).collect();
        let rows = |conflicts: &Conflicts| -> Vec<Vec<u32>> {
            let mut rows: Vec<_> = structure
                .transition_ids()
                .map(|t| conflicts.0.row_indices(t).to_vec())
                .collect();
            for (t, others) in goals.transitions.iter().zip(&sought) {
                rows[t.index()].extend(others);
            }
            rows
        };
        let mut conflicts = rows(&relations.do_not_accord);
        if plan.follows_any_step() {
            let apart = relations.may_not_meet(structure);
            for t in structure.transition_ids() {
                conflicts[t.index()].extend(apart.0.row_indices(t));
            }
        }
        let accord = with_visible(symmetric(conflicts));
        let left = match plan.settings.moves_left() {
            true => with_visible(rows(&relations.do_not_left_accord)),
            false => vec![Vec::new(); transitions],
        };

        let guard_rows: Vec<Vec<u32>> = structure
            .transitions
            .iter()
            .map(|t| t.guards.iter().map(|g| g.index() as u32).collect())
            .collect();
        let excluders: Vec<Vec<u32>> = guard_rows
            .iter()
            .map(|guards| excluders_of(guards, &excludes, plan.settings.disabling_sets))
            .collect();
        let implied = match labels.div_ceil(64) <= MOST_INFERENCE_WORDS {
            true => (guard_rows.iter())
                .map(|guards| [&guards[..], &excluders_of(guards, &excludes, true)].concat())
                .collect(),
            false => Vec::new(),
        };
        let option_words = match half / 64 <= MOST_LABEL_WORDS {
            true => (guard_rows.iter().zip(&excluders))
                .map(|(guards, excluders)| OptionWord::all(guards, excluders))
                .collect(),
            false => Vec::new(),
        };
        let options = (guard_rows.iter().zip(&excluders))
            .map(|(guards, excluders)| options_of(guards, excluders, half))
            .collect();
        let options = Rows::ordered(options);
        let questions = Question::all(system);
        let low_priority = structure.transitions.iter().enumerate();
        let low_priority: Vec<u32> = low_priority
            .filter(|(_, t)| t.priority > 0)
            .map(|(at, _)| at as u32)
            .collect();
        let priorities = match low_priority.is_empty() {
            true => Vec::new(),
            false => structure.transitions.iter().map(|t| t.priority).collect(),
        };
        Self {
            transitions,
            labels,
            half,
            words,
            fields: Fields::new(&questions),
            questions,
            guards: Rows::new(labels, guard_rows),
            implied: Rows::new(labels, implied),
            excludes: Rows::new(labels, excludes),
            option_words,
            users: options.transpose(2 * half),
            options,
            enabling: Rows::new(transitions, enabling),
            accord: Rows::new(transitions, accord),
            is_symmetric: plan.settings.visibility == Visibility::Vi
                && !plan.all_visible
                && plan
                    .kept_goals()
                    .is_none_or(|goals| goals.any_of.is_empty()),
            left: Rows::new(transitions, left),
            may_fail: structure.transitions.iter().any(|t| t.may_fail),
            low_priority,
            priorities,
            visible,
            needs_invisible_key: plan.needs_invisible_key(),
            goals,
        }
    }

    /// The enabling sets that a conjunction of labels may use.
    pub(crate) fn options_of_conjunction(&self, labels: &[LabelId], disabling: bool) -> Vec<u32> {
        let labels: Vec<u32> = labels.iter().map(|l| l.index() as u32).collect();
        let excluded = labels.iter().filter(|_| disabling);
        let excluded = excluded.flat_map(|g| self.excludes.list(*g as usize));
        let mut excluders: Vec<u32> = excluded.copied().collect();
        excluders.sort_unstable();
        excluders.dedup();
        options_of(&labels, &excluders, self.half)
    }

    /// Whether there are words of options.
    pub(crate) fn has_option_words(&self) -> bool {
        !self.option_words.is_empty()
    }

    /// The words of the options of a transition, where that is the cheaper form.
    #[inline]
    pub(crate) fn option_words(&self, t: u32) -> Option<&[OptionWord]> {
        self.option_words.get(t as usize).map(|words| &**words)
    }

    /// The label that decides whether an enabling set can be used, and the value it must have.
    #[inline]
    pub(crate) fn condition(&self, set: EnablingSet) -> (u32, bool) {
        match set.0.checked_sub(self.half as u32) {
            None => (set.0, false),
            Some(label) => (label, true),
        }
    }

    /// Enabling sets that contain each transition, and who cannot move over it.
    pub(crate) fn inverse(&self) -> Inverse {
        Inverse {
            sets_with: self.enabling.transpose(self.transitions),
            left_from: self.left.transpose(self.transitions),
            accord_from: match self.is_symmetric {
                true => None,
                false => Some(self.accord.transpose(self.transitions)),
            },
        }
    }
}

/// The tables read backwards, for algorithms that need it.
#[derive(Debug)]
pub(crate) struct Inverse {
    /// Transition to the enabling sets that contain it.
    pub(crate) sets_with: Rows,
    /// Transition `t` to those that cannot move left over `t`.
    pub(crate) left_from: Rows,
    /// Transition `t` to those that do not accord with it, where that is not the same as the
    /// other way round.
    pub(crate) accord_from: Option<Rows>,
}

/// Those that may change the outcome of a transition that is a goal by its outcome, or disable it
/// where it has one. Two orders that end in the same state may still differ in whether an assertion
/// on the way holds.
///
/// A step of low priority that fails, and so counts as disabled, can also be outranked by what
/// another step enables, of which relations say nothing. That one is enabled together with it,
/// so it has the same priority.
fn may_change_outcome(structure: &Structure, relations: &Relations, t: TransitionId) -> Vec<u32> {
    let sought = structure.transition(t);
    if let Some(known) = &relations.may_change_outcome
        && (sought.may_fail || sought.may_violate)
    {
        return known.0.row_indices(t).to_vec();
    }
    let tests = sought
        .guards
        .iter()
        .flat_map(|g| &structure.label(*g).tests);
    let looked: Vec<_> = sought.reads.iter().chain(tests).collect();
    let changes = |u: &TransitionId| {
        let u = structure.transition(*u);
        looked.iter().any(|field| u.writes.contains(field))
            || sought.priority > 0 && u.priority == sought.priority
    };
    let all = structure.transition_ids().filter(changes);
    all.map(|u| u.index() as u32).collect()
}

type Conflicts = May<Matrix<TransitionId, TransitionId>>;

/// Labels that never hold together with one of the guards, in order.
fn excluders_of(guards: &[u32], excludes: &[Vec<u32>], disabling_sets: bool) -> Vec<u32> {
    let guards = guards.iter().filter(|_| disabling_sets);
    let mut all: Vec<u32> = guards
        .flat_map(|g| &excludes[*g as usize])
        .copied()
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Sets of own guards in the order of the guards, then disabling sets by label.
fn options_of(guards: &[u32], excluders: &[u32], half: usize) -> Vec<u32> {
    let mut all = Vec::new();
    for guard in guards {
        if !all.contains(guard) {
            all.push(*guard);
        }
    }
    all.extend(excluders.iter().map(|h| h + half as u32));
    all
}

/// Adds the other direction of every pair: algorithms rely on symmetry, and a front-end that
/// gives one direction only must not be able to break them.
fn symmetric(mut rows: Vec<Vec<u32>>) -> Vec<Vec<u32>> {
    let pairs: Vec<(u32, u32)> = rows
        .iter()
        .enumerate()
        .flat_map(|(a, row)| row.iter().map(move |b| (*b, a as u32)))
        .collect();
    for (row, column) in pairs {
        rows[row as usize].push(column);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_the_options_of_the_list() {
        let (guards, excluders, half) = ([3, 64, 65], [0, 3, 200], 256);
        let words = OptionWord::all(&guards, &excluders);
        let numbers = words.iter().map(|word| word.at);
        assert!(numbers.eq([0, 1, 3]), "{words:?}");
        let bits = |of: fn(&OptionWord) -> u64| {
            let all = words.iter().map(move |word| (word.at as u32, of(word)));
            all.flat_map(|(at, bits)| {
                stubborn_system::bits::ones(bits).map(move |b| at * 64 + b as u32)
            })
        };
        let disabling = bits(|word| word.excluders).map(|label| label + half);
        let all: Vec<u32> = bits(|word| word.guards).chain(disabling).collect();
        assert_eq!(all, options_of(&guards, &excluders, half as usize));
    }
}
