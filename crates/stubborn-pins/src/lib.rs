//! Language modules of LTSmin as systems: shared libraries that export a model's initial state,
//! next-state functions, guards and matrices by the names of SpinS (`spins_...`) or of the
//! patched DiVinE compiler (`get_...`). Every language that is compiled to them can be checked.
//!
//! The interface is PINS: Blom, van de Pol, Weber, *LTSmin: distributed and symbolic reachability* (2010);
//! guards and matrices as in Laarman, Pater, van de Pol, Hansen, *Guard-based partial-order reduction* (2014).
//!
//! - [`exports`]: the functions of a library, by either set of names;
//! - [`Module`]: the system. A state is the module's vector of integers, one word each.
//!
//! What a module says is taken for true where it can do no harm, and checked where it can:
//!
//! - a transition that is disabled although all its guards hold makes a stubborn set of everything, as for any
//!   system; one that is enabled although a guard does not hold [defeats](System::defeats_reduction) reduction;
//! - guards are compared with what is enabled on random walks, and not used if they differ; without guards,
//!   whether a transition is enabled is found by trying it;
//! - matrices of necessary enabling and disabling sets, of what may be co-enabled and of what does not accord make
//!   relations from read and write sets smaller, from [`RelationLevel::Syntax`] on. Groups may have several
//!   successors, so a zero of do-not-accord says that both orders have the same ends, and nothing of whether
//!   any two outcomes [meet again](Relations::do_not_meet).
//!
//! Loading a library runs its code, which can do whatever this program can: load only what you trust.

pub mod exports;
mod hand;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use stubborn_system::layout::LayoutBuilder;
use stubborn_system::{
    BitSet, Budget, Executor, FailureKind, FailureSite, FieldId, FieldKind, Label, LabelId, Layout,
    Matrix, May, Must, Property, PropertyKind, Random, RelationLevel, Relations, Structure,
    Successors, System, Transition, TransitionId,
};

use exports::{Exports, Type};
use hand::Hand;

/// Why a library is no module.
#[derive(Debug, thiserror::Error)]
pub enum ModuleError {
    /// It cannot be loaded.
    #[error("it cannot be loaded as a shared library: {0}")]
    Unloadable(String),
    /// It does not export what a module exports.
    #[error("it does not export `{0}`, as language modules of LTSmin do")]
    Missing(String),
    /// It says something impossible about its model.
    #[error("it is a module, but {0}")]
    Impossible(String),
    /// A condition names nothing of the model.
    #[error("{0}")]
    Condition(String),
}

/// States in which guards are compared with what is enabled.
const SAMPLES: usize = 300;

/// How a number is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// A part of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Atom {
    Variable(usize, Comparison, i32),
    Label(LabelId, bool),
}

/// What a label of the system is.
#[derive(Clone, Debug)]
enum Meaning {
    /// A label of the module.
    Own(usize),
    /// The transition has successors.
    Enabled(TransitionId),
    /// The property of the module accepts.
    Accepting,
    /// Some of these have only true parts.
    Condition(Vec<Vec<Atom>>),
}

/// A model that a module exports.
pub struct Module {
    exports: Exports,
    layout: Layout,
    structure: Structure,
    meanings: Vec<Meaning>,
    types: Vec<Type>,
    /// The type of each variable.
    type_of: Vec<usize>,
    initial: Vec<u32>,
    /// For each label of the module, the transitions that have it as a guard.
    guarded: Vec<BitSet>,
    /// Which value of which label of edges says that an assertion is violated.
    assertion: Option<(usize, i32)>,
    accepting: Option<LabelId>,
    /// A transition was enabled although a guard did not hold.
    liar: AtomicBool,
    distrusted: bool,
    budget: Arc<Budget>,
}

impl std::fmt::Debug for Module {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Module")
            .field("transitions", &self.structure.transitions.len())
            .field("variables", &self.type_of.len())
            .finish_non_exhaustive()
    }
}

/// Raw bits of a value: fields have the range of C's `int`.
fn raw(value: i32) -> u32 {
    value.cast_unsigned() ^ (1 << 31)
}

/// The value of raw bits.
fn value(raw: u32) -> i32 {
    (raw ^ (1 << 31)).cast_signed()
}

/// The numbers of the columns that are set in a row.
fn columns(row: &[i32]) -> Vec<u32> {
    let set = row.iter().enumerate().filter(|(_, bit)| **bit != 0);
    set.map(|(column, _)| column as u32).collect()
}

fn fields(row: &[i32]) -> Vec<FieldId> {
    columns(row)
        .into_iter()
        .map(|c| FieldId::new(c as usize))
        .collect()
}

impl Module {
    /// Loads a module. Its code is run.
    ///
    /// # Errors
    /// If it is none.
    pub fn load(path: &Path, budget: Arc<Budget>) -> Result<Self, ModuleError> {
        let exports = Exports::load(path)?;
        let types = exports.types()?;
        let mut layout = LayoutBuilder::new();
        let mut type_of = Vec::new();
        for variable in 0..exports.variables {
            let number = exports.type_of(variable);
            if number >= types.len() {
                let text = format!(
                    "its variable {variable} has type {number} of {}",
                    types.len()
                );
                return Err(ModuleError::Impossible(text));
            }
            type_of.push(number);
            let range = (i64::from(i32::MIN), i64::from(i32::MAX));
            layout.field(
                exports.variable_name(variable),
                range,
                FieldKind::Integer,
                None,
            );
        }
        let mut module = Self {
            initial: exports.initial_state().into_iter().map(raw).collect(),
            guarded: vec![BitSet::new(exports.transitions); exports.labels],
            assertion: exports.assertion(&types),
            layout: layout.finish(),
            structure: Structure::default(),
            meanings: Vec::new(),
            types,
            type_of,
            accepting: None,
            liar: AtomicBool::new(false),
            distrusted: false,
            budget,
            exports,
        };
        module.describe()?;
        if module.exports.has_guards() && module.guards_lie() {
            module.forget_guards();
            module.describe()?;
        }
        Ok(module)
    }

    /// Whether guards, on some random walks, say something else than what is enabled.
    fn guards_lie(&self) -> bool {
        let mut random = Random::new(1);
        let mut hand = Hand::new(self);
        let mut successors = Successors::new(self.layout.words());
        let mut state = self.initial.clone();
        for _ in 0..SAMPLES {
            successors.clear();
            hand.successors(&state, &mut successors);
            for id in self.structure.transition_ids() {
                let mut guards = self.structure.transition(id).guards.iter();
                let holds = guards.all(|guard| hand.label(&state, *guard));
                if holds != successors.transitions().contains(&id) {
                    return true;
                }
            }
            match successors.len() {
                0 => state.clone_from(&self.initial),
                some => state = successors.state(random.below(some)).to_vec(),
            }
        }
        false
    }

    /// Finds out what is enabled by trying, from now on.
    fn forget_guards(&mut self) {
        self.exports.forget_guards();
        self.structure = Structure::default();
        self.meanings.clear();
        self.guarded.iter_mut().for_each(BitSet::clear);
        self.liar = AtomicBool::new(false);
        self.distrusted = true;
    }

    /// Whether its guards were found to say something else than what is enabled, and are not used.
    pub fn distrusted(&self) -> bool {
        self.distrusted
    }

    /// Fills the structure.
    fn describe(&mut self) -> Result<(), ModuleError> {
        for number in 0..self.exports.labels {
            let (name, tests) = self.exports.label(number)?;
            if name == "end_" {
                self.structure.valid_end = Some(LabelId::new(number));
            }
            if name == "accept_" {
                self.accepting = Some(LabelId::new(number));
            }
            self.label(name, fields(&tests), Meaning::Own(number));
        }
        let mut names: HashMap<String, usize> = HashMap::new();
        for number in 0..self.exports.transitions {
            let id = TransitionId::new(number);
            let mut name = as_written(&self.exports.transition_name(number, &self.types));
            let uses = names.entry(name.clone()).or_default();
            *uses += 1;
            if *uses > 1 {
                name += &format!(" #{uses}");
            }
            let reads = fields(&self.exports.reads(number)?);
            let mut guards = Vec::new();
            match self.exports.guards_of(number)? {
                Some(own) => {
                    for guard in own {
                        self.guarded[guard].insert(number);
                        guards.push(LabelId::new(guard));
                    }
                }
                None => {
                    let text = format!("transition {number} is enabled");
                    guards.push(self.label(text, reads.clone(), Meaning::Enabled(id)));
                }
            }
            self.structure.transitions.push(Transition {
                name,
                guards,
                reads,
                writes: fields(&self.exports.writes(number)?),
                may_violate: self
                    .assertion
                    .is_some_and(|(edge, value)| self.exports.may_have(number, edge, value)),
                ..Transition::default()
            });
        }
        if self.assertion.is_some() {
            self.structure.failures.push(FailureSite {
                kind: FailureKind::Assertion,
                message: "an assertion of the module is violated".into(),
                span: None,
            });
        }
        if self.accepting.is_none() && self.exports.has_property() {
            // Nobody says what it looks at.
            let tests = (0..self.type_of.len()).map(FieldId::new).collect();
            self.accepting = Some(self.label("accepting".into(), tests, Meaning::Accepting));
        }
        Ok(())
    }

    fn label(&mut self, text: String, tests: Vec<FieldId>, meaning: Meaning) -> LabelId {
        self.structure.labels.push(Label { text, tests });
        self.meanings.push(meaning);
        LabelId::new(self.meanings.len() - 1)
    }

    /// Holds where the property that was compiled into the module accepts, if one was.
    pub fn accepting(&self) -> Option<LabelId> {
        self.accepting
    }

    /// A condition as a label: comparisons of variables with numbers or names of values, and names of the module's
    /// labels, joined by `&&` and, less tightly, by `||`; `!` negates a label.
    ///
    /// # Errors
    /// If it has another form, or names nothing of the model.
    pub fn condition(&mut self, text: &str) -> Result<LabelId, ModuleError> {
        let atoms = |conjunction: &str| {
            conjunction
                .split("&&")
                .map(|atom| self.atom(atom.trim()))
                .collect()
        };
        let parts: Vec<Vec<Atom>> = text.split("||").map(atoms).collect::<Result<_, _>>()?;
        let mut tests = Vec::new();
        for atom in parts.iter().flatten() {
            match atom {
                Atom::Variable(variable, ..) => tests.push(FieldId::new(*variable)),
                Atom::Label(label, _) => tests.extend(&self.structure.label(*label).tests),
            }
        }
        tests.sort_unstable();
        tests.dedup();
        Ok(self.label(text.trim().into(), tests, Meaning::Condition(parts)))
    }

    /// States that a condition holds in every state.
    ///
    /// # Errors
    /// As [`condition`](Self::condition).
    pub fn invariant(&mut self, text: &str) -> Result<(), ModuleError> {
        let holds = self.condition(text)?;
        let tests = self.structure.label(holds).tests.clone();
        let not = vec![vec![Atom::Label(holds, false)]];
        let violated_by = self.label(
            format!("!({})", text.trim()),
            tests,
            Meaning::Condition(not),
        );
        self.state_property(text, PropertyKind::Invariant, violated_by);
        Ok(())
    }

    /// Asks whether a condition holds in some state.
    ///
    /// # Errors
    /// As [`condition`](Self::condition).
    pub fn reachable(&mut self, text: &str) -> Result<(), ModuleError> {
        let holds = self.condition(text)?;
        self.state_property(text, PropertyKind::Reachable, holds);
        Ok(())
    }

    fn state_property(&mut self, text: &str, kind: PropertyKind, violated_by: LabelId) {
        self.structure.properties.push(Property {
            name: text.trim().into(),
            kind,
            violated_by,
            span: None,
        });
    }

    /// The number of what has this name, if anything has.
    fn named<'n>(
        what: &str,
        name: &str,
        names: impl Iterator<Item = &'n str>,
    ) -> Result<Option<usize>, ModuleError> {
        let mut called = names.enumerate().filter(|(_, other)| *other == name);
        let found = called.next();
        match (found, called.next()) {
            (Some((first, _)), Some((second, _))) => {
                let text =
                    format!("`{name}` is ambiguous: {what} {first} and {second} are called so");
                Err(ModuleError::Condition(text))
            }
            (found, _) => Ok(found.map(|(at, _)| at)),
        }
    }

    fn atom(&self, text: &str) -> Result<Atom, ModuleError> {
        use Comparison::*;
        let wrong = |text: String| Err(ModuleError::Condition(text));
        // Longer ones first.
        let signs = [
            ("==", Equal),
            ("!=", Unequal),
            ("<=", LessOrEqual),
            (">=", GreaterOrEqual),
            ("<", Less),
            (">", Greater),
        ];
        let split = signs.iter().find_map(|(sign, comparison)| {
            text.split_once(sign)
                .map(|(left, right)| (left.trim(), *comparison, right.trim()))
        });
        let Some((name, comparison, number)) = split else {
            let (name, holds) = match text.strip_prefix('!') {
                Some(name) => (name.trim(), false),
                None => (text, true),
            };
            // Those of the module come first; what follows are conditions.
            let own = self.structure.labels.iter().take(self.exports.labels);
            let own = own.map(|label| label.text.as_str());
            return match Self::named("labels", name, own)? {
                Some(label) => Ok(Atom::Label(LabelId::new(label), holds)),
                None => wrong(format!(
                    "`{name}` is no label of the model; conditions compare variables with numbers, as in `{} == 0`",
                    self.layout
                        .fields()
                        .first()
                        .map_or("x", |field| field.name.as_str())
                )),
            };
        };
        let fields = self.layout.fields().iter();
        let fields = fields.map(|field| field.name.as_str());
        let Some(variable) = Self::named("variables", name, fields)? else {
            return wrong(format!(
                "the model has no variable `{name}`; `stubborn inspect --fields` lists them"
            ));
        };
        let values = &self.types[self.type_of[variable]].values;
        let named = values
            .iter()
            .position(|value| value == number)
            .map(|at| at as i32);
        match named.or_else(|| number.parse().ok()) {
            Some(number) => Ok(Atom::Variable(variable, comparison, number)),
            None => wrong(format!(
                "`{number}` is neither a number nor a value of `{name}`"
            )),
        }
    }
}

impl Comparison {
    fn holds(self, left: i32, right: i32) -> bool {
        match self {
            Self::Equal => left == right,
            Self::Unequal => left != right,
            Self::Less => left < right,
            Self::LessOrEqual => left <= right,
            Self::Greater => left > right,
            Self::GreaterOrEqual => left >= right,
        }
    }
}

impl System for Module {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn structure(&self) -> &Structure {
        &self.structure
    }

    fn initial_states(&self) -> Vec<u32> {
        self.initial.clone()
    }

    fn executor(&self) -> Box<dyn Executor + '_> {
        Box::new(Hand::new(self))
    }

    fn relations(&self, level: RelationLevel) -> Relations {
        let sets = Relations::from_sets_within(&self.structure, &self.budget);
        if level < RelationLevel::Syntax {
            return sets;
        }
        let (labels, transitions) = (
            self.structure.labels.len(),
            self.structure.transitions.len(),
        );
        // What the module says of its own labels; nothing is known of the others.
        let of_labels = |known: Option<&Vec<Vec<i32>>>,
                         sets: May<Matrix<LabelId, TransitionId>>| {
            let Some(known) = known else { return sets };
            let all: Vec<u32> = (0..transitions as u32).collect();
            let rows =
                (0..labels).map(|label| known.get(label).map_or(all.clone(), |row| columns(row)));
            sets.refine(&May(Matrix::from_rows(transitions, rows)))
        };
        let exports = &self.exports;
        let apart = exports.coenabled.as_ref().map(|rows| {
            let apart = |label: usize| match rows.get(label) {
                // Both say so, since it is symmetric.
                Some(row) => (0..rows.len())
                    .filter(|other| row[*other] == 0 && rows[*other][label] == 0 && *other != label)
                    .map(|other| other as u32)
                    .collect(),
                None => Vec::new(),
            };
            Must(Matrix::from_rows(labels, (0..labels).map(apart)))
        });
        let accord = exports.conflicts.as_ref().map(|rows| {
            // Both directions, whatever the module means by a row.
            let related = |t: TransitionId, u: TransitionId| {
                t == u || rows[t.index()][u.index()] != 0 || rows[u.index()][t.index()] != 0
            };
            May(Matrix::from_fn(transitions, transitions, related))
        });
        Relations {
            may_enable: of_labels(exports.enabling.as_ref(), sets.may_enable),
            may_disable: of_labels(exports.disabling.as_ref(), sets.may_disable),
            never_together: apart.unwrap_or(sets.never_together),
            do_not_accord: accord.map_or_else(
                || sets.do_not_accord.clone(),
                |own| sets.do_not_accord.refine(&own),
            ),
            ..sets
        }
    }

    fn budget(&self) -> &Budget {
        &self.budget
    }

    fn defeats_reduction(&self) -> bool {
        self.liar.load(Ordering::Relaxed)
    }

    fn value_text(&self, field: FieldId, value: i64) -> String {
        let values = &self.types[self.type_of[field.index()]].values;
        let named = usize::try_from(value).ok().and_then(|at| values.get(at));
        named.cloned().unwrap_or_else(|| value.to_string())
    }
}

/// A statement as its author knows it: of SpinS's
/// `group 0 (P_0) m.pml:15 (state 3) <invalid end state> [x = 1] -1`, that is `P_0:15 x = 1`. Statements that
/// SpinS has made itself have no line.
fn as_written(name: &str) -> String {
    let parts = || {
        let (number, rest) = name.strip_prefix("group ")?.split_once(" (")?;
        number.parse::<u32>().ok()?;
        let (process, rest) = rest.split_once(") ")?;
        let (place, rest) = rest.split_once(" (state ")?;
        let line = place.rsplit_once(':')?.1.parse::<i32>().ok()?;
        let (_, statement) = rest.split_once('[')?;
        let (statement, _) = statement.rsplit_once(']')?;
        Some(match line {
            1.. => format!("{process}:{line} {statement}"),
            _ => format!("{process}: {statement}"),
        })
    };
    parts().unwrap_or_else(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::as_written;

    #[test]
    fn statements_of_spins_are_named_as_they_are_written() {
        for (name, wanted) in [
            (
                "group 0 (P_0) a b.pml:15 (state 3) <invalid end state> [(a[1] == 0)] -1",
                "P_0:15 (a[1] == 0)",
            ),
            ("group 21 (P_2) m.pml:-1 (state 1) [tau] -1", "P_2: tau"),
            ("group therapy (at noon) [x]", "group therapy (at noon) [x]"),
            ("P0 takes", "P0 takes"),
        ] {
            assert_eq!(as_written(name), wanted);
        }
    }
}
