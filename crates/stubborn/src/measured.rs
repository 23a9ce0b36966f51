//! Relations in a file: what an explored state space says, to be used in place of analysis.
//!
//! The format is JSON, one object:
//!
//! - `format` is `stubborn relations`, `version` is 2;
//! - `model` and `language` are for people; `fingerprint` ties the file to the model (its text,
//!   its transitions, guards and fields, the invariants it was loaded with), `checksum` to what
//!   was computed: relations that were changed by hand could hide errors;
//! - `dependency` and `precedence` say where the relations come from, `states` from how many
//!   states; `transitions` and `labels` are how many there are;
//! - `contexts` has the relations: for each of `do_not_accord`, `do_not_left_accord`,
//!   `may_enable`, `may_disable`, `never_together` a list of rows, each a list of numbers of
//!   transitions or labels as `stubborn inspect --format json` numbers them; `do_not_meet` and
//!   `enablers` likewise, or null;
//! - `state_contexts` is null if there is one context; else a list of pairs, a state (its words
//!   in hexadecimal, eight digits each) and the number of its context.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use stubborn_reduce::ConfigError;
use stubborn_reduce::experiments::measured::{
    Context, Dependency, MeasureError, MeasuredRelations, Precedence, measure,
};
use stubborn_system::matrix::Index;
use stubborn_system::{FieldKind, Matrix, May, Must, Relations};

use crate::load::LoadedModel;
use crate::text::ModelText;

const FORMAT: &str = "stubborn relations";
const VERSION: u32 = 2;
/// Longest file that is read.
const LARGEST_FILE: u64 = 1 << 30;
/// Most numbers in all rows together.
const LARGEST_CONTENT: usize = 100_000_000;

/// Relations of one model.
#[derive(Clone, Debug)]
pub struct SavedRelations {
    model: String,
    language: String,
    fingerprint: String,
    checksum: String,
    transitions: usize,
    labels: usize,
    relations: Arc<MeasuredRelations>,
}

impl PartialEq for SavedRelations {
    fn eq(&self, other: &Self) -> bool {
        (&self.fingerprint, &self.checksum) == (&other.fingerprint, &other.checksum)
    }
}

impl Eq for SavedRelations {}

/// What is wrong with relations, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelationsError(String);

impl fmt::Display for RelationsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RelationsError {}

fn wrong<T>(text: impl Into<String>) -> Result<T, RelationsError> {
    Err(RelationsError(text.into()))
}

/// The object of the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: String,
    version: u32,
    model: String,
    language: String,
    fingerprint: String,
    checksum: String,
    dependency: String,
    precedence: String,
    states: usize,
    transitions: usize,
    labels: usize,
    contexts: Vec<ContextRecord>,
    state_contexts: Option<Vec<(String, u32)>>,
}

type Rows = Vec<Vec<u32>>;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ContextRecord {
    do_not_accord: Rows,
    do_not_meet: Option<Rows>,
    do_not_left_accord: Rows,
    may_enable: Rows,
    may_disable: Rows,
    never_together: Rows,
    enablers: Option<Rows>,
}

/// What every version has.
#[derive(Deserialize)]
struct Head {
    format: String,
    version: u32,
}

impl SavedRelations {
    /// Computes the relations of a model from its state space, of at most `limit` states.
    pub fn measure(
        model: &LoadedModel,
        dependency: Dependency,
        precedence: Precedence,
        limit: usize,
    ) -> Result<Self, RelationsError> {
        let system = model.system();
        let dynamic = dependency == Dependency::Dynamic || precedence == Precedence::Dynamic;
        let mut fields = system.layout().fields().iter();
        if dynamic && fields.any(|field| field.kind == FieldKind::Interned) {
            return wrong(
                "states of this model are numbered anew in every run; relations cannot depend on \
                 the state",
            );
        }
        let structure = system.structure();
        let relations =
            measure(system, dependency, precedence, limit).map_err(|error| match error {
                MeasureError::OrderMatters(t, u) => {
                    let name = |t| &structure.transition(t).name;
                    RelationsError(format!(
                        "the order of `{}` and `{}` matters although neither disables the \
                         other; the dependency `disabling` is for models in which that never \
                         happens, such as nets",
                        name(t),
                        name(u)
                    ))
                }
                other => RelationsError(other.to_string()),
            })?;
        let mut saved = Self {
            model: model.name().to_owned(),
            language: model.language().name().to_owned(),
            fingerprint: fingerprint(model),
            checksum: String::new(),
            transitions: structure.transitions.len(),
            labels: structure.labels.len(),
            relations: Arc::new(relations),
        };
        saved.checksum = saved.sum();
        Ok(saved)
    }

    /// The relations, if they are those of this model.
    pub fn of(&self, model: &LoadedModel) -> Result<&Arc<MeasuredRelations>, ConfigError> {
        let structure = model.system().structure();
        let fits = self.fingerprint == fingerprint(model)
            && self.transitions == structure.transitions.len()
            && self.labels == structure.labels.len();
        if fits {
            return Ok(&self.relations);
        }
        Err(ConfigError::new(format!(
            "the relations are those of another model ({}), or of this one before it was changed \
             or with other invariants; write them again with `stubborn inspect --relations full \
             --write-relations FILE`",
            self.model
        )))
    }

    /// The relations, whatever they belong to.
    pub fn relations(&self) -> &Arc<MeasuredRelations> {
        &self.relations
    }

    /// The text of a file.
    pub fn to_json(&self) -> String {
        let relations = &self.relations;
        let mut states: Option<Vec<(String, u32)>> = relations
            .context_of
            .as_ref()
            .map(|map| map.iter().map(|(s, c)| (hex(s), *c)).collect());
        if let Some(states) = &mut states {
            states.sort_unstable();
        }
        let file = File {
            format: FORMAT.into(),
            version: VERSION,
            model: self.model.clone(),
            language: self.language.clone(),
            fingerprint: self.fingerprint.clone(),
            checksum: self.checksum.clone(),
            dependency: relations.dependency.name().into(),
            precedence: relations.precedence.name().into(),
            states: relations.states,
            transitions: self.transitions,
            labels: self.labels,
            contexts: relations.contexts.iter().map(record).collect(),
            state_contexts: states,
        };
        // Nothing in it can fail to be written: keys are strings, numbers are finite.
        serde_json::to_string(&file).unwrap_or_default() + "\n"
    }

    /// Reads a file.
    pub fn read(path: &std::path::Path) -> Result<Self, RelationsError> {
        let about = |problem: String| RelationsError(format!("{}: {problem}", path.display()));
        let size = std::fs::metadata(path).map_err(|e| about(e.to_string()))?;
        if size.is_dir() {
            return Err(about("it is a directory".into()));
        }
        if size.len() > LARGEST_FILE {
            return Err(about("a file of relations has at most 1 GiB".into()));
        }
        let bytes = std::fs::read(path).map_err(|e| about(e.to_string()))?;
        Self::from_json(&bytes).map_err(|error| about(error.0))
    }

    /// Reads the text of a file.
    pub fn from_json(text: &[u8]) -> Result<Self, RelationsError> {
        let head: Option<Head> = serde_json::from_slice(text).ok();
        let Some(head) = head.filter(|head| head.format == FORMAT) else {
            return wrong("these are no relations that `inspect --write-relations` wrote");
        };
        if head.version != VERSION {
            let version = head.version;
            return wrong(format!(
                "these relations have format version {version}, known is {VERSION}; write them \
                 again with `stubborn inspect --relations full --write-relations FILE`"
            ));
        }
        let file: File = serde_json::from_slice(text)
            .map_err(|error| RelationsError(format!("the relations are damaged: {error}")))?;
        let dependency = choice(&file.dependency)?;
        let precedence = choice(&file.precedence)?;
        if file.contexts.is_empty() {
            return wrong("the relations are damaged: there are none");
        }
        let rows = file.transitions.saturating_add(file.labels);
        let size = rows.checked_mul(file.contexts.len());
        if size.is_none_or(|size| size > LARGEST_CONTENT) {
            return wrong("the relations are damaged: they claim to be larger than any");
        }
        let contexts = file.contexts.into_iter();
        let contexts: Result<Vec<Context>, RelationsError> = contexts
            .map(|record| context(record, file.transitions, file.labels))
            .collect();
        let contexts = contexts?;
        let context_of = match file.state_contexts {
            None if contexts.len() > 1 => {
                return wrong("the relations are damaged: no state says which of them it has");
            }
            None => None,
            Some(states) => Some(states_of(states, contexts.len())?),
        };
        let saved = Self {
            model: file.model,
            language: file.language,
            fingerprint: file.fingerprint,
            checksum: file.checksum,
            transitions: file.transitions,
            labels: file.labels,
            relations: Arc::new(MeasuredRelations {
                dependency,
                precedence,
                states: file.states,
                contexts,
                context_of,
            }),
        };
        if saved.sum() != saved.checksum {
            return wrong(
                "the relations are damaged or were changed by hand: the checksum differs",
            );
        }
        Ok(saved)
    }

    /// A checksum of the relations.
    fn sum(&self) -> String {
        let mut hash = Hash::new();
        hash.text(self.relations.dependency.name());
        hash.text(self.relations.precedence.name());
        for context in &self.relations.contexts {
            let record = record(context);
            let nobody = Rows::new();
            let parts = [
                &record.do_not_accord,
                &record.do_not_left_accord,
                &record.may_enable,
                &record.may_disable,
                &record.never_together,
                record.enablers.as_ref().unwrap_or(&nobody),
            ];
            for rows in parts.into_iter().chain(&record.do_not_meet) {
                hash.number(rows.len() as u64);
                for row in rows {
                    hash.number(row.len() as u64);
                    row.iter().for_each(|n| hash.number(u64::from(*n)));
                }
            }
        }
        if let Some(map) = &self.relations.context_of {
            let mut states: Vec<_> = map.iter().collect();
            states.sort_unstable();
            for (state, context) in states {
                state.iter().for_each(|word| hash.number(u64::from(*word)));
                hash.number(u64::from(*context));
            }
        }
        hash.finish()
    }
}

/// A name of a dependency or a precedence.
fn choice<T: std::str::FromStr<Err = ConfigError>>(name: &str) -> Result<T, RelationsError> {
    name.parse()
        .map_err(|error: ConfigError| RelationsError(format!("the relations are damaged: {error}")))
}

fn rows<R: Index, C: Index>(matrix: &Matrix<R, C>) -> Rows {
    (0..matrix.rows())
        .map(|row| matrix.row_indices(R::from_index(row)).to_vec())
        .collect()
}

fn record(context: &Context) -> ContextRecord {
    let relations = &context.relations;
    ContextRecord {
        do_not_accord: rows(&relations.do_not_accord.0),
        do_not_meet: relations.do_not_meet.as_ref().map(|apart| rows(&apart.0)),
        do_not_left_accord: rows(&relations.do_not_left_accord.0),
        may_enable: rows(&relations.may_enable.0),
        may_disable: rows(&relations.may_disable.0),
        never_together: rows(&relations.never_together.0),
        enablers: context.enablers.as_ref().map(rows),
    }
}

fn matrix<R: Index, C: Index>(
    name: &str,
    rows: Rows,
    height: usize,
    width: usize,
) -> Result<Matrix<R, C>, RelationsError> {
    let too_large = rows.iter().flatten().any(|c| *c as usize >= width);
    if rows.len() != height || too_large {
        return wrong(format!(
            "the relations are damaged: `{name}` does not fit {height} rows and {width} columns"
        ));
    }
    Ok(Matrix::from_rows(width, rows))
}

fn context(record: ContextRecord, n: usize, k: usize) -> Result<Context, RelationsError> {
    Ok(Context {
        relations: Relations {
            may_enable: May(matrix("may_enable", record.may_enable, k, n)?),
            may_disable: May(matrix("may_disable", record.may_disable, k, n)?),
            never_together: Must(matrix("never_together", record.never_together, k, k)?),
            do_not_accord: May(matrix("do_not_accord", record.do_not_accord, n, n)?),
            do_not_meet: match record.do_not_meet {
                Some(rows) => Some(May(matrix("do_not_meet", rows, n, n)?)),
                None => None,
            },
            do_not_left_accord: May(matrix(
                "do_not_left_accord",
                record.do_not_left_accord,
                n,
                n,
            )?),
            must_disable: Must(Matrix::empty(n, n)),
            may_change_outcome: None,
        },
        enablers: match record.enablers {
            Some(rows) => Some(matrix("enablers", rows, n, n)?),
            None => None,
        },
    })
}

/// The words of a state in hexadecimal.
fn hex(state: &[u32]) -> String {
    state.iter().map(|word| format!("{word:08x}")).collect()
}

fn states_of(
    states: Vec<(String, u32)>,
    contexts: usize,
) -> Result<HashMap<Box<[u32]>, u32>, RelationsError> {
    let mut map = HashMap::with_capacity(states.len());
    for (text, context) in states {
        let words = text.as_bytes().chunks(8).map(|word| {
            let word = std::str::from_utf8(word).ok().filter(|w| w.len() == 8)?;
            u32::from_str_radix(word, 16).ok()
        });
        let words: Option<Box<[u32]>> = words.collect();
        let known = (context as usize) < contexts;
        let Some(words) = words.filter(|_| known) else {
            return wrong(format!(
                "the relations are damaged: `{text}` is no state of theirs"
            ));
        };
        if map.insert(words, context).is_some() {
            return wrong(format!(
                "the relations are damaged: state `{text}` comes twice"
            ));
        }
    }
    Ok(map)
}

/// A number that differs between models: from their text, and from what they were made into.
pub fn fingerprint(model: &LoadedModel) -> String {
    let mut hash = Hash::new();
    hash.text(model.language().name());
    match model.text() {
        ModelText::One(source) => hash.text(source.text()),
        ModelText::Several(sources) => {
            (0..sources.len()).for_each(|at| hash.text(sources.file(at).text()));
        }
    }
    let system = model.system();
    for field in system.layout().fields() {
        hash.text(&field.name);
        for number in [field.min, field.max] {
            hash.number(number as u64);
        }
        hash.number(u64::from(field.word));
        hash.number(u64::from(field.shift) << 8 | u64::from(field.bits));
    }
    let structure = system.structure();
    for label in &structure.labels {
        hash.text(&label.text);
    }
    for transition in &structure.transitions {
        hash.text(&transition.name);
        for guard in &transition.guards {
            hash.number(guard.index() as u64);
        }
    }
    for word in system.initial_states() {
        hash.number(u64::from(word));
    }
    hash.finish()
}

/// FNV-1a with 128 bits: the same on every machine.
struct Hash(u128);

impl Hash {
    fn new() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    fn byte(&mut self, byte: u8) {
        self.0 = (self.0 ^ u128::from(byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b);
    }

    fn number(&mut self, number: u64) {
        number.to_le_bytes().into_iter().for_each(|b| self.byte(b));
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        text.bytes().for_each(|b| self.byte(b));
    }

    fn finish(&self) -> String {
        format!("{:032x}", self.0)
    }
}
