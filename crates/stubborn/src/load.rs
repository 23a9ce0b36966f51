//! From a file to a model that is ready to run.
//!
//! [`load_file`] and [`load_text`] find the language, call its front-end, add the user's
//! properties to the model while names are still known, and set up its execution. Whatever
//! is wrong comes back as a [`LoadError`] that shows the place in the source.

use std::fmt;
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use stubborn_diagnostics::{Diagnostic, SourceFile, has_errors};
use stubborn_ir::interpreter::Interpreter;
use stubborn_ir::{Model, Program};
#[cfg(feature = "jit")]
use stubborn_jit::CompiledModel;
use stubborn_net::NetSystem;
use stubborn_promela::StartName;
use stubborn_promela::source::Sources;
use stubborn_system::{
    Budget, FailureSite, LabelId, Outcome, Property, RelationLevel, Relations, System,
};

use crate::languages;
use crate::languages::module::Problem;
use crate::languages::promela::{Growth, PromelaModel, PromelaOptions};
use crate::temporal::{Temporal, TemporalText};
use crate::text::ModelText;

/// A modelling language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    /// DVE, the language of the DiVinE model checker and of the BEEM benchmark.
    Dve,
    /// Promela, the language of SPIN.
    Promela,
    /// Petri nets in PNML, place/transition nets and symmetric (coloured) nets.
    Pnml,
    /// A language module of LTSmin: a shared library that was compiled from a model. Loading it runs its code.
    Module,
}

impl Language {
    /// All of them.
    pub const ALL: &'static [Language] = &[
        Language::Dve,
        Language::Promela,
        Language::Pnml,
        Language::Module,
    ];

    /// The name on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dve => "dve",
            Self::Promela => "promela",
            Self::Pnml => "pnml",
            Self::Module => "module",
        }
    }

    /// Endings of file names, without the dot.
    pub fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Dve => &["dve"],
            Self::Promela => &["pml", "prm", "promela", "spin", "pr"],
            Self::Pnml => &["pnml"],
            Self::Module => &["so", "spins", "dve2c", "dylib"],
        }
    }

    /// The language that a file name ends in.
    pub fn of_path(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        Self::ALL
            .iter()
            .copied()
            .find(|language| language.extensions().contains(&extension.as_str()))
    }

    /// Longest text that its front-end accepts.
    fn largest_text(self) -> usize {
        match self {
            Self::Dve => stubborn_dve::MAX_INPUT_BYTES,
            Self::Promela => 64 << 20,
            // Unfolded nets are written into files of this size.
            Self::Pnml | Self::Module => 1 << 30,
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How successors are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Engine {
    /// By code made for the model while it loads; interpreted until it is ready.
    #[default]
    Compiled,
    /// By the reference interpreter.
    Interpreted,
}

/// What to add to a model, and how to run it.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// How successors are computed.
    pub engine: Engine,
    /// Expressions in the model's own syntax that should hold in every state.
    pub invariants: Vec<String>,
    /// Expressions in the model's own syntax that should hold in some state.
    pub reachable: Vec<String>,
    /// What is only about Promela.
    pub promela: PromelaOptions,
    /// Temporal properties to add to those that the model states.
    pub temporal: Vec<TemporalText>,
    /// Take neither these nor those of the model: nobody will ask for them.
    pub ignore_temporal: bool,
    /// Expressions that a trace of this model was about. Where a language lets expressions
    /// look at things that are no part of a state otherwise, they become part of it.
    pub expressions: Vec<String>,
    /// Starts of processes that a trace of this Promela model knew of.
    pub starts: Vec<StartName>,
    /// Shuffles the places and transitions of a Petri net.
    pub shuffle: Option<u64>,
    /// What loading the model, and everything that is done about it afterwards, may take.
    pub budget: Arc<Budget>,
}

/// A model that is ready to run.
pub struct LoadedModel {
    language: Language,
    text: ModelText,
    warnings: Vec<Diagnostic>,
    system: Arc<dyn System>,
    reference: Arc<dyn System>,
    program: Option<Arc<Model>>,
    promela: Option<Arc<PromelaModel>>,
    temporal: Vec<Temporal>,
    expressions: Vec<String>,
    growth: Option<Growth>,
    stop_compiling: Option<StopCompiling>,
    net: Option<Arc<NetSystem>>,
    /// Of the level that was first asked for.
    relations: (OnceLock<RelationLevel>, OnceLock<Relations>),
}

impl LoadedModel {
    /// The language it was written in.
    pub fn language(&self) -> Language {
        self.language
    }

    /// Its text, under the name the user gave it.
    pub fn text(&self) -> &ModelText {
        &self.text
    }

    /// The name the user gave it.
    pub fn name(&self) -> &str {
        self.text.name()
    }

    /// What its author should look at.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// What searches run.
    pub fn system(&self) -> &dyn System {
        &*self.system
    }

    /// The same model in its reference execution: traces are replayed on it before anybody
    /// sees them.
    pub fn reference(&self) -> &dyn System {
        &*self.reference
    }

    /// Why a label cannot be evaluated in a state; `None` if it can.
    pub fn why_label_fails(&self, label: LabelId, state: &[u32]) -> Option<&FailureSite> {
        let model = self.program.as_ref()?;
        let expr = &model.program().labels[label.index()].expr;
        let site = Interpreter::new(model).evaluate(state, expr).err()?;
        model.program().failures.get(site.index())
    }

    /// Where everybody who needs the relations of this level finds them; `None` if others were asked
    /// for before.
    pub(crate) fn relations(&self, level: RelationLevel) -> Option<&OnceLock<Relations>> {
        let (known, relations) = &self.relations;
        (*known.get_or_init(|| level) == level).then_some(relations)
    }

    /// The guarded commands, if the model is made of them.
    pub fn commands(&self) -> Option<&Arc<Model>> {
        self.program.as_ref()
    }

    /// The net, if the model is one.
    pub fn net(&self) -> Option<&Arc<NetSystem>> {
        self.net.as_ref()
    }

    /// The safety properties of the model and of the user, in this order.
    pub fn properties(&self) -> &[Property] {
        &self.system.structure().properties
    }

    /// The temporal properties of the model and of the user, in this order.
    pub fn temporal(&self) -> &[Temporal] {
        &self.temporal
    }

    /// Expressions besides the model's own text that states depend on, see
    /// [`LoadOptions::expressions`].
    pub fn expressions(&self) -> &[String] {
        &self.expressions
    }

    /// A Promela model in its own terms: statements, control states, trails.
    pub fn promela(&self) -> Option<&PromelaModel> {
        self.promela.as_deref()
    }

    /// Whether a search may find that the model is too small.
    pub(crate) fn may_outgrow(&self) -> bool {
        self.growth.is_some()
    }

    /// Prepares the model for what a search was missing that ended as
    /// [outgrown](stubborn_search::Limit::Outgrown). Labels and transitions may have other numbers
    /// afterwards: ask for [`questions`](crate::questions) again.
    pub fn grow(&mut self) -> Result<(), LoadError> {
        // The search ended the budget by saying so, and building the larger model polls it.
        self.system.budget().has_grown();
        self.make_way();
        match self.growth.as_ref().and_then(Growth::grown) {
            None => Ok(()),
            Some(grown) => self.replace(grown),
        }
    }

    /// What a search was missing that ended as outgrown, for [`grow_for`](Self::grow_for).
    pub fn missing(&self) -> Vec<Outcome> {
        self.growth
            .as_ref()
            .map(Growth::missing)
            .unwrap_or_default()
    }

    /// Prepares the model for what steps with these outcomes were missing; false if nothing was.
    pub fn grow_for(&mut self, outcomes: &[Outcome]) -> Result<bool, LoadError> {
        self.system.budget().has_grown();
        self.make_way();
        match self.promela.as_ref().and_then(|p| p.grown(outcomes)) {
            None => Ok(false),
            Some(grown) => self.replace(grown).map(|()| true),
        }
    }

    /// Nobody needs code for what is too small.
    fn make_way(&self) {
        if let Some(stop) = &self.stop_compiling {
            stop();
        }
    }

    fn replace(&mut self, by: Result<Parts, BuildError>) -> Result<(), LoadError> {
        if let Some(gave_up) = LoadError::gave_up(self.system.budget()) {
            return Err(gave_up);
        }
        match by {
            Ok(parts) => {
                *self = Self::new(self.language, self.text.main().clone(), parts);
                Ok(())
            }
            Err(error) => Err(error.about(self.text.main().clone())),
        }
    }

    pub(crate) fn new(language: Language, source: SourceFile, parts: Parts) -> Self {
        Self {
            language,
            text: parts.text.unwrap_or(ModelText::One(source)),
            warnings: parts.warnings,
            system: parts.system,
            reference: parts.reference,
            program: parts.program,
            promela: parts.promela,
            temporal: parts.temporal,
            expressions: parts.expressions,
            growth: parts.growth,
            stop_compiling: parts.stop_compiling,
            net: parts.net,
            relations: Default::default(),
        }
    }
}

impl fmt::Debug for LoadedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadedModel")
            .field("language", &self.language)
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}

/// Why a model cannot be loaded.
#[derive(Debug)]
pub enum LoadError {
    /// The file cannot be read.
    Unreadable {
        /// As the user gave it.
        path: String,
        /// Why, in words.
        reason: String,
    },
    /// Nothing says in which language the model is written.
    UnknownLanguage {
        /// As the user gave it.
        path: String,
    },
    /// The model, or an expression about it, is wrong: where and why.
    Wrong {
        /// The text that the messages are about.
        text: Box<ModelText>,
        /// The messages, at least one of them an error.
        diagnostics: Vec<Diagnostic>,
    },
    /// The model is correct, but too large to run.
    TooLarge(String),
    /// The budget was spent before the model was loaded; what was reached, and while what was
    /// done.
    GaveUp(String),
}

impl LoadError {
    fn gave_up(budget: &Budget) -> Option<Self> {
        budget.poll()?;
        budget.reason().map(Self::GaveUp)
    }

    /// The message for people, with terminal colours if wanted.
    pub fn text(&self, colour: bool) -> String {
        match self {
            Self::Unreadable { path, reason } => format!("error: cannot read {path}: {reason}\n"),
            Self::UnknownLanguage { path } => {
                let mut text = format!("error: cannot tell the language of {path}\n");
                for language in Language::ALL {
                    let endings: Vec<_> = language
                        .extensions()
                        .iter()
                        .map(|e| format!(".{e}"))
                        .collect();
                    text += &format!("  {}: {language}\n", endings.join(", "));
                }
                text + "help: say it with --language\n"
            }
            Self::Wrong { text, diagnostics } => text.render(diagnostics, colour),
            Self::TooLarge(reason) => format!("error: the model is too large: {reason}\n"),
            Self::GaveUp(reason) => format!("no answer: {reason}\n"),
        }
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text(false).trim_end())
    }
}

impl std::error::Error for LoadError {}

/// Loads the model in a file; `-` is standard input. Without a language, the ending of the
/// file name decides.
pub fn load_file(
    path: &Path,
    language: Option<Language>,
    options: &LoadOptions,
) -> Result<LoadedModel, LoadError> {
    options.budget.begin("reading the model");
    let shown = path.display().to_string();
    let unreadable = |reason: String| LoadError::Unreadable {
        path: shown.clone(),
        reason,
    };
    let from_stdin = shown == "-";
    if !from_stdin {
        let metadata = std::fs::metadata(path).map_err(|e| unreadable(reason(&e)))?;
        if metadata.is_dir() {
            return Err(unreadable("it is a directory".into()));
        }
        if let Some(language) = language.or_else(|| Language::of_path(path))
            && metadata.len() > language.largest_text() as u64
        {
            let (size, most) = (metadata.len() >> 20, language.largest_text() >> 20);
            let text = format!("it has {size} MiB, and models of at most {most} MiB are accepted");
            return Err(unreadable(text));
        }
    }
    let Some(language) = language.or_else(|| Language::of_path(path)) else {
        return Err(LoadError::UnknownLanguage { path: shown });
    };
    if language == Language::Module {
        return load_module(path, shown, options);
    }
    // One byte more than is accepted, so that the front-end sees that it is too much.
    let most = language.largest_text() as u64 + 1;
    let mut bytes = Vec::new();
    let read = if from_stdin {
        std::io::stdin().lock().take(most).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes))
    };
    read.map_err(|e| unreadable(reason(&e)))?;
    if bytes.contains(&0) {
        return Err(unreadable("it is a binary file, not a model".into()));
    }
    let text = match language {
        Language::Pnml => stubborn_pnml::decode(bytes).map_err(|problem| {
            let place = ModelText::One(SourceFile::new(shown.as_str(), ""));
            LoadError::Wrong {
                text: Box::new(place),
                diagnostics: vec![problem],
            }
        })?,
        // Comments of old models are in all kinds of encodings; what matters is ASCII.
        Language::Dve | Language::Promela | Language::Module => String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
    };
    let name = if from_stdin {
        "standard input".into()
    } else {
        shown
    };
    load_text(&name, text, language, options)
}

/// Loads a language module.
fn load_module(
    path: &Path,
    shown: String,
    options: &LoadOptions,
) -> Result<LoadedModel, LoadError> {
    let parts = languages::module::build(path, options);
    if let Some(gave_up) = LoadError::gave_up(&options.budget) {
        return Err(gave_up);
    }
    let source = SourceFile::new(shown.as_str(), "");
    match parts {
        Ok(parts) => Ok(LoadedModel::new(Language::Module, source, parts)),
        Err(Problem::Build(error)) => Err(error.about(source)),
        Err(Problem::Module(error)) => Err(LoadError::Unreadable {
            path: shown,
            reason: error.to_string(),
        }),
    }
}

/// Loads a model from its text; `name` is what messages call it.
pub fn load_text(
    name: &str,
    text: impl Into<String>,
    language: Language,
    options: &LoadOptions,
) -> Result<LoadedModel, LoadError> {
    let source = SourceFile::new(name, text);
    let parts = match language {
        Language::Dve => languages::dve::build(&source, options),
        Language::Promela => languages::promela::build(&source, options),
        Language::Pnml => languages::pnml::build(&source, options),
        Language::Module => {
            return Err(LoadError::Unreadable {
                path: name.into(),
                reason: "a module is no text, and is loaded from its file".into(),
            });
        }
    };
    // Whoever gives up may deliver anything.
    if let Some(gave_up) = LoadError::gave_up(&options.budget) {
        return Err(gave_up);
    }
    match parts {
        Ok(parts) => Ok(LoadedModel::new(language, source, parts)),
        Err(error) => Err(error.about(source)),
    }
}

fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is no such file".into(),
        ErrorKind::PermissionDenied => "it may not be read (permissions)".into(),
        _ => error.to_string(),
    }
}

/// What takes the time where formulas are large, for messages.
pub(crate) const TRANSLATING: &str = "translating temporal properties";

/// Ends compiling in the background.
pub(crate) type StopCompiling = Box<dyn Fn() + Send + Sync>;

/// What a front-end delivers.
pub(crate) struct Parts {
    pub(crate) warnings: Vec<Diagnostic>,
    pub(crate) system: Arc<dyn System>,
    pub(crate) reference: Arc<dyn System>,
    /// The same as guarded commands, where it is a program of them.
    pub(crate) program: Option<Arc<Model>>,
    pub(crate) temporal: Vec<Temporal>,
    pub(crate) expressions: Vec<String>,
    /// Where the model is more than the file it was loaded from.
    pub(crate) text: Option<ModelText>,
    pub(crate) promela: Option<Arc<PromelaModel>>,
    pub(crate) growth: Option<Growth>,
    pub(crate) stop_compiling: Option<StopCompiling>,
    /// Where the model is a Petri net.
    pub(crate) net: Option<Arc<NetSystem>>,
}

impl Parts {
    /// A program of guarded commands, compiled or not.
    pub(crate) fn of_program(
        program: Program,
        warnings: Vec<Diagnostic>,
        options: &LoadOptions,
    ) -> Result<Self, BuildError> {
        let model = Model::within(program, Arc::clone(&options.budget));
        let model = model.map_err(|e| BuildError::TooLarge(e.to_string()))?;
        Ok(Self::of_model(model, warnings, options.engine))
    }

    /// A packed program, compiled or not.
    pub(crate) fn of_model(model: Model, warnings: Vec<Diagnostic>, engine: Engine) -> Self {
        let reference = Arc::new(model);
        let (system, stop_compiling): (Arc<dyn System>, Option<StopCompiling>) = match engine {
            #[cfg(feature = "jit")]
            Engine::Compiled => {
                let compiled = CompiledModel::new(Arc::clone(&reference));
                let stop = Box::new(compiled.stopper());
                (Arc::new(compiled), Some(stop))
            }
            // Without the feature everything is.
            _ => (Arc::clone(&reference) as Arc<dyn System>, None),
        };
        Self {
            warnings,
            system,
            program: Some(Arc::clone(&reference)),
            reference,
            temporal: Vec::new(),
            expressions: Vec::new(),
            text: None,
            promela: None,
            growth: None,
            stop_compiling,
            net: None,
        }
    }
}

/// Why a front-end delivers nothing.
pub(crate) enum BuildError {
    /// The model itself is wrong.
    Model(Vec<Diagnostic>),
    /// The same, with the files that it includes.
    Files(Box<Sources>, Vec<Diagnostic>),
    /// An expression of the user is wrong.
    Expression(Box<SourceFile>, Vec<Diagnostic>),
    TooLarge(String),
}

impl BuildError {
    fn about(self, model: SourceFile) -> LoadError {
        let (text, diagnostics) = match self {
            Self::Model(diagnostics) => (ModelText::One(model), diagnostics),
            Self::Files(sources, diagnostics) => (ModelText::Several(*sources), diagnostics),
            Self::Expression(source, diagnostics) => (ModelText::One(*source), diagnostics),
            Self::TooLarge(reason) => return LoadError::TooLarge(reason),
        };
        debug_assert!(has_errors(&diagnostics));
        LoadError::Wrong {
            text: Box::new(text),
            diagnostics,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_decide_whatever_their_case() {
        assert_eq!(Language::of_path(Path::new("a/b.DVE")), Some(Language::Dve));
        assert_eq!(Language::of_path(Path::new("b.dve.txt")), None);
        assert_eq!(Language::of_path(Path::new("dve")), None);
    }

    #[test]
    fn wrong_invariants_are_shown_as_the_user_wrote_them() {
        let text = "byte x; process P { state a; init a; } system async;";
        let options = LoadOptions {
            invariants: vec!["x < y".into()],
            ..LoadOptions::default()
        };
        let error = load_text("m.dve", text, Language::Dve, &options).unwrap_err();
        let shown = error.to_string();
        assert!(
            shown.contains("--invariant") && shown.contains("x < y"),
            "{shown}"
        );
    }
}
