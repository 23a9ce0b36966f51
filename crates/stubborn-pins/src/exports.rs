//! The functions that a module exports, under either set of names, and what they say once and for all.
//!
//! Tables of a module are arrays of `int`, one a column, for each row; guards of a transition are an
//! array with its length in front.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;

use dlopen2::raw::Library;

use crate::ModuleError;

/// What a module says of a step.
#[derive(Debug)]
#[repr(C)]
pub struct Edge {
    /// A value for each label of edges; or null.
    pub labels: *const c_int,
    /// By which transition; negative if that is not known.
    pub group: c_int,
    /// For the tool's own use.
    pub proviso: c_int,
}

/// What a module calls for each successor: context, edge, state, what was not written.
pub type Collect = unsafe extern "C" fn(*mut c_void, *const Edge, *const c_int, *const c_int);

type Number = unsafe extern "C" fn() -> c_int;
type NumberOf = unsafe extern "C" fn(c_int) -> c_int;
type Row = unsafe extern "C" fn(c_int) -> *const c_int;
type Text = unsafe extern "C" fn(c_int) -> *const c_char;
type TextOf = unsafe extern "C" fn(c_int, c_int) -> *const c_char;
type Initial = unsafe extern "C" fn(*mut c_int);
type Next = unsafe extern "C" fn(*mut c_void, c_int, *mut c_int, Collect, *mut c_void) -> c_int;
type NextAll = unsafe extern "C" fn(*mut c_void, *mut c_int, Collect, *mut c_void) -> c_int;
type Holds = unsafe extern "C" fn(*mut c_void, c_int, *mut c_int) -> c_int;
type Accepts = unsafe extern "C" fn(*mut c_void, *mut c_int) -> c_int;
type HasEdge = unsafe extern "C" fn(c_int, c_int, c_int) -> c_int;

/// Most that is believed of a count; more is a library with other functions of these names.
const MOST: usize = 1 << 24;

/// A type of variables and labels.
#[derive(Clone, Debug, Default)]
pub struct Type {
    /// Names of its values; none if they are numbers.
    pub values: Vec<String>,
}

/// The functions of a module.
pub struct Exports {
    initial: Initial,
    next: Next,
    next_all: NextAll,
    name: Text,
    type_of: NumberOf,
    types: Number,
    type_values: NumberOf,
    type_value: TextOf,
    reads: Row,
    writes: Row,
    label_name: Option<Text>,
    label_tests: Option<Row>,
    guards: Option<Row>,
    holds: Option<Holds>,
    accepts: Option<Accepts>,
    edges: Vec<(String, usize)>,
    has_edge: Option<HasEdge>,
    /// Number of variables.
    pub variables: usize,
    /// Number of transitions.
    pub transitions: usize,
    /// Number of labels; guards come first.
    pub labels: usize,
    /// For each label, a row of transitions that may make it true.
    pub enabling: Option<Vec<Vec<i32>>>,
    /// For each label, a row of transitions that may make it false.
    pub disabling: Option<Vec<Vec<i32>>>,
    /// For each label, a row of labels that may hold together with it.
    pub coenabled: Option<Vec<Vec<i32>>>,
    /// For each transition, a row of those that do not accord with it.
    pub conflicts: Option<Vec<Vec<i32>>>,
    /// Kept open as long as the functions are called.
    _library: Library,
}

impl std::fmt::Debug for Exports {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exports").finish_non_exhaustive()
    }
}

/// Names of functions: those of SpinS where a library has them, otherwise DiVinE's.
struct Names<'l> {
    library: &'l Library,
    spins: bool,
}

impl Names<'_> {
    fn name(&self, spins: &str, divine: &str) -> Option<String> {
        match self.spins {
            true if !spins.is_empty() => Some(format!("spins_{spins}")),
            false if !divine.is_empty() => Some(divine.to_owned()),
            _ => None,
        }
    }

    /// A function that may be missing, by SpinS's name (without `spins_`) or DiVinE's; empty if it has none.
    ///
    /// # Safety
    /// `T` is the type of the function.
    unsafe fn optional<T>(&self, spins: &str, divine: &str) -> Option<T> {
        let name = self.name(spins, divine)?;
        // SAFETY: as the caller says.
        unsafe { self.library.symbol::<T>(&name) }.ok()
    }

    /// A function that every module has.
    ///
    /// # Safety
    /// As [`optional`](Self::optional).
    unsafe fn required<T>(&self, spins: &str, divine: &str) -> Result<T, ModuleError> {
        // SAFETY: as the caller says.
        let found = unsafe { self.optional(spins, divine) };
        found.ok_or_else(|| ModuleError::Missing(self.name(spins, divine).unwrap_or_default()))
    }
}

/// A count that a module gives.
fn count(number: c_int, what: &str) -> Result<usize, ModuleError> {
    let fits = usize::try_from(number)
        .ok()
        .filter(|number| *number <= MOST);
    fits.ok_or_else(|| ModuleError::Impossible(format!("it says that it has {number} {what}")))
}

/// A text that a module gives.
fn text(pointer: *const c_char) -> Option<String> {
    // SAFETY: modules give texts that end with zero and stay; or null.
    (!pointer.is_null()).then(|| {
        unsafe { CStr::from_ptr(pointer) }
            .to_string_lossy()
            .into_owned()
    })
}

/// One row of a table of a module.
fn row(table: Row, at: usize, columns: usize) -> Result<Vec<i32>, ModuleError> {
    // SAFETY: the module's function, with a row that it has.
    let pointer = unsafe { table(at as c_int) };
    if pointer.is_null() {
        return Err(ModuleError::Impossible(format!(
            "row {at} of a table is missing"
        )));
    }
    // SAFETY: rows have one number a column.
    Ok(unsafe { std::slice::from_raw_parts(pointer, columns) }.to_vec())
}

fn table(
    of: Option<Row>,
    rows: usize,
    columns: usize,
) -> Result<Option<Vec<Vec<i32>>>, ModuleError> {
    let rows = of.map(|table| (0..rows).map(|at| row(table, at, columns)).collect());
    rows.transpose()
}

/// Other systems resolve names at once anyway.
#[cfg(unix)]
const BIND_NOW: Option<i32> = Some(libc::RTLD_NOW | libc::RTLD_LOCAL);
#[cfg(not(unix))]
const BIND_NOW: Option<i32> = None;

impl Exports {
    /// Loads a library and looks for the functions of a module.
    ///
    /// # Errors
    /// If it cannot be loaded, or is no module.
    pub fn load(path: &Path) -> Result<Self, ModuleError> {
        // A bare name would be looked for elsewhere.
        let path = path
            .canonicalize()
            .map_err(|error| ModuleError::Unloadable(error.to_string()))?;
        // With all that it needs: what is missing later would end the program.
        let library = Library::open_with_flags(&path, BIND_NOW)
            .map_err(|error| ModuleError::Unloadable(error.to_string()))?;
        // SAFETY: only looked at.
        let spins = unsafe { library.symbol::<*const c_void>("spins_get_successor_all") }.is_ok();
        let names = Names {
            library: &library,
            spins,
        };
        // SAFETY: these are the types that the interface gives to these names.
        unsafe {
            let variables: Number = names.required("get_state_size", "get_state_variable_count")?;
            let transitions: Number =
                names.required("get_transition_groups", "get_transition_count")?;
            let variables = count(variables(), "variables")?;
            let transitions = count(transitions(), "transitions")?;
            let holds: Option<Holds> = names.optional("get_label", "get_guard");
            let guards: Option<Row> = names.optional("get_labels", "get_guards");
            let label_tests: Option<Row> = names.optional("get_label_matrix", "get_guard_matrix");
            let labels: Option<Number> = names.optional("get_label_count", "get_guard_count");
            let labels = match labels {
                // Labels without their values are of no use.
                Some(labels) if holds.is_some() && label_tests.is_some() => {
                    count(labels(), "labels")?
                }
                _ => 0,
            };
            let edges: Option<Number> = names.optional("get_edge_count", "");
            let edge_name: Option<Text> = names.optional("get_edge_name", "");
            let edge_type: Option<NumberOf> = names.optional("get_edge_type", "");
            let edges = match (edges, edge_name, edge_type) {
                (Some(edges), Some(name), Some(type_of)) => (0..edges().clamp(0, 64))
                    .map(|edge| {
                        (
                            text(name(edge)).unwrap_or_default(),
                            type_of(edge).max(0) as usize,
                        )
                    })
                    .collect(),
                _ => Vec::new(),
            };
            let has_property: Option<Number> = names.optional("", "have_property");
            let accepts: Option<Accepts> = match has_property {
                Some(has) if has() != 0 => Some(names.required("", "buchi_is_accepting")?),
                _ => None,
            };
            let rows = |spins: &str, divine: &str, rows, columns| {
                table(names.optional(spins, divine), rows, columns)
            };
            Ok(Self {
                initial: names.required("get_initial_state", "get_initial_state")?,
                next: names.required("get_successor", "get_successor")?,
                next_all: names.required("get_successor_all", "get_successors")?,
                name: names.required("get_state_variable_name", "get_state_variable_name")?,
                type_of: names.required("get_state_variable_type", "get_state_variable_type")?,
                types: names.required("get_type_count", "get_state_variable_type_count")?,
                type_values: names.required(
                    "get_type_value_count",
                    "get_state_variable_type_value_count",
                )?,
                type_value: names
                    .required("get_type_value_name", "get_state_variable_type_value")?,
                reads: names.required(
                    "get_transition_read_dependencies",
                    "get_transition_read_dependencies",
                )?,
                writes: names.required(
                    "get_transition_may_write_dependencies",
                    "get_transition_may_write_dependencies",
                )?,
                label_name: names.optional("get_label_name", ""),
                label_tests: label_tests.filter(|_| labels > 0),
                guards: guards.filter(|_| labels > 0),
                holds,
                accepts,
                edges,
                has_edge: names.optional("transition_has_edge", ""),
                variables,
                transitions,
                labels,
                enabling: rows(
                    "get_label_nes_matrix",
                    "get_guard_nes_matrix",
                    labels,
                    transitions,
                )?,
                disabling: rows(
                    "get_label_nds_matrix",
                    "get_guard_nds_matrix",
                    labels,
                    transitions,
                )?,
                coenabled: rows(
                    "get_label_may_be_coenabled_matrix",
                    "get_guard_may_be_coenabled_matrix",
                    labels,
                    labels,
                )?,
                conflicts: rows(
                    "get_trans_do_not_accord_matrix",
                    "get_dna_matrix",
                    transitions,
                    transitions,
                )?,
                _library: library,
            })
        }
    }

    /// The types, with names of values.
    pub(crate) fn types(&self) -> Result<Vec<Type>, ModuleError> {
        // SAFETY: functions of the module, with numbers that it has.
        let types = count(unsafe { (self.types)() }, "types")?;
        let values = |number: usize| {
            // SAFETY: the same.
            let values = count(unsafe { (self.type_values)(number as c_int) }, "values")?;
            let name = |value: usize| {
                // SAFETY: the same.
                let name = unsafe { (self.type_value)(number as c_int, value as c_int) };
                text(name).unwrap_or_else(|| value.to_string())
            };
            Ok(Type {
                values: (0..values).map(name).collect(),
            })
        };
        (0..types).map(values).collect()
    }

    /// The type of a variable.
    pub(crate) fn type_of(&self, variable: usize) -> usize {
        // SAFETY: a variable of the module.
        usize::try_from(unsafe { (self.type_of)(variable as c_int) }).unwrap_or(usize::MAX)
    }

    pub(crate) fn variable_name(&self, variable: usize) -> String {
        // SAFETY: a variable of the module.
        text(unsafe { (self.name)(variable as c_int) }).unwrap_or_else(|| format!("v{variable}"))
    }

    pub(crate) fn initial_state(&self) -> Vec<i32> {
        let mut state = vec![0; self.variables];
        // SAFETY: there is room for all variables.
        unsafe { (self.initial)(state.as_mut_ptr()) };
        state
    }

    /// What a label is called, and which variables it looks at.
    pub(crate) fn label(&self, label: usize) -> Result<(String, Vec<i32>), ModuleError> {
        // SAFETY: a label of the module.
        let name = self
            .label_name
            .and_then(|name| text(unsafe { name(label as c_int) }));
        let tests = self
            .label_tests
            .map(|tests| row(tests, label, self.variables));
        let all = || Ok(vec![1; self.variables]);
        Ok((
            name.unwrap_or_else(|| format!("guard {label}")),
            tests.unwrap_or_else(all)?,
        ))
    }

    pub(crate) fn reads(&self, transition: usize) -> Result<Vec<i32>, ModuleError> {
        row(self.reads, transition, self.variables)
    }

    pub(crate) fn writes(&self, transition: usize) -> Result<Vec<i32>, ModuleError> {
        row(self.writes, transition, self.variables)
    }

    /// The guards of a transition; `None` if the module has none.
    pub(crate) fn guards_of(&self, transition: usize) -> Result<Option<Vec<usize>>, ModuleError> {
        let Some(guards) = self.guards else {
            return Ok(None);
        };
        let length = row(guards, transition, 1)?[0];
        let length = count(length, "guards of one transition")?;
        let mut found = Vec::with_capacity(length);
        for guard in &row(guards, transition, length + 1)?[1..] {
            let known = usize::try_from(*guard)
                .ok()
                .filter(|guard| *guard < self.labels);
            found.push(known.ok_or_else(|| {
                ModuleError::Impossible(format!(
                    "transition {transition} has a guard {guard} of {}",
                    self.labels
                ))
            })?);
        }
        Ok(Some(found))
    }

    pub(crate) fn has_guards(&self) -> bool {
        self.guards.is_some()
    }

    pub(crate) fn forget_guards(&mut self) {
        self.guards = None;
    }

    /// The label of edges that is called so, or begins so, with its type.
    fn edge(&self, name: &str) -> Option<(usize, usize)> {
        let at = self
            .edges
            .iter()
            .position(|(edge, _)| edge.starts_with(name))?;
        Some((at, self.edges[at].1))
    }

    /// The statement of a transition, if the module tells.
    pub(crate) fn transition_name(&self, transition: usize, types: &[Type]) -> String {
        let statement = self.edge("statement").and_then(|(edge, number)| {
            let values = &types.get(number)?.values;
            let mut all = 0..values.len();
            self.has_edge?;
            let value = all.find(|value| self.may_have(transition, edge, *value as i32))?;
            Some(values[value].trim().to_owned())
        });
        statement.unwrap_or_else(|| format!("transition {transition}"))
    }

    /// The label of edges and its value that say that an assertion is violated.
    pub(crate) fn assertion(&self, types: &[Type]) -> Option<(usize, i32)> {
        let (edge, number) = self.edge("action")?;
        let value = types
            .get(number)?
            .values
            .iter()
            .position(|value| value == "assert")?;
        Some((edge, value as i32))
    }

    /// Whether a step of a transition may have a label of this value.
    pub(crate) fn may_have(&self, transition: usize, edge: usize, value: i32) -> bool {
        // SAFETY: numbers of the module.
        let ask = |has: HasEdge| unsafe { has(transition as c_int, edge as c_int, value) != 0 };
        self.has_edge.is_none_or(ask)
    }

    /// Whether a property was compiled into the model.
    pub(crate) fn has_property(&self) -> bool {
        self.accepts.is_some()
    }

    /// Whether the property accepts in a state.
    pub(crate) fn accepts(&self, state: &mut [i32]) -> bool {
        // SAFETY: a state of the module's length.
        let ask =
            |accepts: Accepts| unsafe { accepts(std::ptr::null_mut(), state.as_mut_ptr()) != 0 };
        self.accepts.is_some_and(ask)
    }

    /// Whether a label holds in a state. What may be (2) counts as holding.
    pub(crate) fn holds(&self, label: usize, state: &mut [i32]) -> bool {
        // SAFETY: a label of the module and a state of its length.
        let ask = |holds: Holds| unsafe {
            holds(std::ptr::null_mut(), label as c_int, state.as_mut_ptr()) != 0
        };
        self.holds.is_none_or(ask)
    }

    /// Reports the successors of a state by one transition, or by all.
    pub(crate) fn successors(
        &self,
        by: Option<usize>,
        state: &mut [i32],
        collect: Collect,
        context: *mut c_void,
    ) {
        let model = std::ptr::null_mut();
        // SAFETY: a transition of the module, a state of its length, and a function with its context.
        unsafe {
            match by {
                Some(transition) => (self.next)(
                    model,
                    transition as c_int,
                    state.as_mut_ptr(),
                    collect,
                    context,
                ),
                None => (self.next_all)(model, state.as_mut_ptr(), collect, context),
            }
        };
    }
}
