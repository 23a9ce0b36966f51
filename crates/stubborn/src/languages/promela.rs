//! Promela: guarded commands that may turn out to be too few.
//!
//! Which process types are started in which slots is found while exploring. A start that the
//! program does not provide for is a failing step; [`Growth`] watches for those, and
//! afterwards builds a larger program with which everything is done again.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use stubborn_diagnostics::{Diagnostic, SourceFile, Span, has_errors};
use stubborn_emptiness::{Claim, ClaimEdge, Property};
use stubborn_ir::interpreter::Interpreter;
use stubborn_ir::program::ProgramProperty;
use stubborn_ir::{Model, Program, Site, simplify};
use stubborn_ltl::parser::Syntax;
use stubborn_promela::source::FileLoader;
use stubborn_promela::{Expression, Loaded, Options, Parsed, Standing, lower, parse_within};
use stubborn_system::{
    Budget, Executor, FieldId, LabelId, Layout, Outcome, PropertyKind, RelationLevel, Relations,
    Spent, Structure, Successors, System, TransitionId,
};

use crate::load::{BuildError, Engine, LoadOptions, Parts, TRANSLATING};
use crate::temporal::evaluation::{Evaluations, Partial};
use crate::temporal::read::{Draft, drafts, first_error, within};
use crate::temporal::{Obstacle, Origin, Temporal};
use crate::text::ModelText;

/// The code of a message about a proposition that the model's front-end does not know.
const UNKNOWN_PROPOSITION: &str = "PML901";
/// The code of a warning about a model that counts processes while a claim is followed.
const COUNTS_CLAIMS: &str = "PML902";

/// How to read a Promela model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromelaOptions {
    /// Macros: name and text.
    pub definitions: Vec<(String, String)>,
    /// Sending to a full channel loses the message instead of waiting.
    pub message_loss: bool,
    /// Most processes at a time, 255 at most.
    pub max_processes: usize,
    /// Statements that nobody else notices run in one step with those before them.
    pub merge: bool,
    /// Locals that nobody will read are zero.
    pub dead_variables: bool,
    /// Processes are never where they do nothing but leave.
    pub dead_locations: bool,
    /// Atomic sequences are walked statement by statement; the states stay the same.
    pub single_statements: bool,
    /// Note which statements searches reach; see [`unreached`](crate::spin::unreached).
    pub coverage: bool,
    /// Add a temporal property: no run comes to `accept` labels of processes again and again, or
    /// ends at one.
    pub acceptance: bool,
}

impl Default for PromelaOptions {
    fn default() -> Self {
        Self {
            definitions: Vec::new(),
            message_loss: false,
            max_processes: 255,
            merge: false,
            dead_variables: false,
            dead_locations: false,
            single_statements: false,
            coverage: false,
            acceptance: false,
        }
    }
}

pub(crate) fn build(source: &SourceFile, options: &LoadOptions) -> Result<Parts, BuildError> {
    let path = Path::new(source.name());
    let promela = &options.promela;
    let (definitions, budget) = (&promela.definitions, &options.budget);
    let mut parsed = parse_within(path, source.text(), definitions, &FileLoader, budget);
    if has_errors(&parsed.diagnostics) {
        return Err(BuildError::Files(
            Box::new(parsed.sources),
            parsed.diagnostics,
        ));
    }
    let mut broken = Vec::new();
    let mut drafts = Vec::new();
    if !options.ignore_temporal {
        for ltl in &parsed.program().formulas {
            match Draft::stated(&ltl.name, source.name(), &ltl.text, ltl.span) {
                Ok(draft) => drafts.push(draft),
                Err(BuildError::Expression(about, problems)) => {
                    broken.push(Draft::broken(&ltl.name, ltl.span, &about, &problems));
                }
                Err(error) => return Err(error),
            }
        }
        drafts.extend(self::drafts(&options.temporal)?);
    }
    let mut asked = Asked {
        parsed: &mut parsed,
        all: Vec::new(),
    };
    let invariants = asked.of_flag("--invariant", &options.invariants)?;
    let reachable = asked.of_flag("--reach", &options.reachable)?;
    let mut formulas = Vec::new();
    for draft in drafts {
        match asked.of_draft(&draft) {
            Ok(propositions) => formulas.push((draft, propositions)),
            // A formula of the model that nobody may ask for does no harm.
            Err(problem) if draft.is_stated() => broken.push(draft.with_problem(problem)),
            Err(problem) => {
                let about = Box::new(draft.source().clone());
                return Err(BuildError::Expression(about, vec![problem]));
            }
        }
    }
    asked.of_flag("expression", &options.expressions)?;
    let (expressions, texts): (Vec<Expression>, Vec<String>) = (asked.all.into_iter())
        .map(|(text, _, expression)| (expression, text))
        .unzip();
    let wanted = Wanted {
        engine: options.engine,
        coverage: promela.coverage,
        invariants,
        reachable,
        formulas,
        broken,
        claims: !options.ignore_temporal,
        acceptance: promela.acceptance,
        expressions: texts,
        budget: Arc::clone(&options.budget),
        leaves_out_steps: match (promela.merge, promela.dead_locations) {
            (true, _) => Some("--merge"),
            (_, true) => Some("--dead-locations"),
            _ => None,
        },
    };
    let settings = Options {
        definitions: Vec::new(),
        starts: options.starts.clone(),
        lowering: lower::Options {
            lossy: promela.message_loss,
            max_processes: promela.max_processes,
            fuse: !promela.single_statements,
            merge: promela.merge,
            dead_variables: promela.dead_variables,
            dead_locations: promela.dead_locations,
        },
        budget: Arc::clone(&options.budget),
    };
    match parsed.load(&settings, &expressions) {
        Ok(loaded) => parts(loaded, Arc::new(wanted)),
        Err((sources, problems)) => Err(BuildError::Files(Box::new(sources), problems)),
    }
}

/// A Promela model in its own terms.
pub struct PromelaModel {
    loaded: Loaded,
    /// By command: whether a search has reached it. Empty if nobody wants to know.
    reached: Vec<AtomicBool>,
    wanted: Arc<Wanted>,
}

impl PromelaModel {
    /// The checked model, its statements and control states.
    pub fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    /// Whether some search has reached a command; `None` if that was not noted.
    pub fn is_reached(&self, command: usize) -> Option<bool> {
        let noted = self.reached.get(command)?;
        Some(noted.load(Ordering::Relaxed))
    }

    /// The same model, prepared for what a step was missing.
    pub(crate) fn grown(&self, outcomes: &[Outcome]) -> Option<Result<Parts, BuildError>> {
        Some(match self.loaded.grown_for(outcomes)? {
            Ok(loaded) => parts(loaded, Arc::clone(&self.wanted)),
            Err((sources, problems)) => Err(BuildError::Files(Box::new(sources), problems)),
        })
    }
}

/// What is added to a model. Expressions are numbers of its propositions.
struct Wanted {
    engine: Engine,
    /// Note what is reached.
    coverage: bool,
    invariants: Vec<(String, usize)>,
    reachable: Vec<(String, usize)>,
    /// Formulas with their propositions.
    formulas: Vec<(Draft, Vec<(String, usize)>)>,
    /// Formulas of the model that are wrong.
    broken: Vec<Temporal>,
    /// The model's never claims.
    claims: bool,
    /// The search for acceptance cycles.
    acceptance: bool,
    /// The texts of all expressions.
    expressions: Vec<String>,
    /// For everything that is done about the model.
    budget: Arc<Budget>,
    /// The option that leaves out steps, if there is one.
    leaves_out_steps: Option<&'static str>,
}

/// The expressions that are asked about, each once.
struct Asked<'p> {
    parsed: &'p mut Parsed,
    all: Vec<(String, Standing, Expression)>,
}

impl Asked<'_> {
    /// The number of an expression.
    fn of(&mut self, name: &str, text: &str, standing: Standing) -> Result<usize, Vec<Diagnostic>> {
        let is_same = |(other, at, _): &(String, Standing, _)| other == text && *at == standing;
        if let Some(known) = self.all.iter().position(is_same) {
            return Ok(known);
        }
        let source = SourceFile::new(name, text);
        let expression = self.parsed.expression(&source, standing)?;
        self.all.push((text.to_owned(), standing, expression));
        Ok(self.all.len() - 1)
    }

    /// The texts given by a flag with their numbers.
    fn of_flag(
        &mut self,
        flag: &str,
        texts: &[String],
    ) -> Result<Vec<(String, usize)>, BuildError> {
        let number = |text: &String| match self.of(flag, text, Standing::Alone) {
            Ok(number) => Ok((text.clone(), number)),
            Err(problems) => {
                let source = SourceFile::new(flag, text.as_str());
                Err(BuildError::Expression(Box::new(source), problems))
            }
        };
        texts.iter().map(number).collect()
    }

    /// The propositions of a draft with their numbers.
    fn of_draft(&mut self, draft: &Draft) -> Result<Vec<(String, usize)>, Diagnostic> {
        let standing = match (draft.is_branching(), draft.is_stated()) {
            (true, _) => Standing::Alone,
            (_, true) => Standing::InModel,
            _ => Standing::InFormula,
        };
        let source = draft.source();
        let number = |(text, span): &(String, Span)| {
            let number = self.of(source.name(), text, standing);
            let number = number.map_err(|problems| {
                let problem = first_error(problems, Span::new(0, text.len()));
                within(problem, source.text(), *span)
            });
            Ok((text.clone(), number?))
        };
        draft.propositions().iter().map(number).collect()
    }
}

fn parts(mut loaded: Loaded, wanted: Arc<Wanted>) -> Result<Parts, BuildError> {
    let labels = loaded.lowered.propositions.clone();
    let mut temporal = Vec::new();
    let claims = &loaded.lowered.claims;
    let adds_claims = wanted.claims && !claims.is_empty();
    let mut formulas = Vec::new();
    wanted.budget.begin(TRANSLATING);
    for (draft, propositions) in &wanted.formulas {
        let resolve = |text: &str| {
            let known = propositions.iter().find(|(known, _)| known == text);
            known.map(|(_, number)| labels[*number]).ok_or_else(|| {
                let span = Span::new(0, text.len());
                Diagnostic::error(UNKNOWN_PROPOSITION, "this is no expression", span)
            })
        };
        formulas.push(draft.finish(resolve)?);
    }
    let partial = formulas
        .iter()
        .map(|property| Partial::all(property, &loaded.lowered.program, &wanted.budget));
    let partial: Vec<Vec<Partial>> = partial.collect();
    let adds_labels = partial.iter().any(|partial| !partial.is_empty());
    let adds_questions = !wanted.invariants.is_empty() || !wanted.reachable.is_empty();
    let adds_properties = adds_questions || adds_claims || wanted.acceptance;
    let model = if !adds_properties && !adds_labels {
        loaded.model.clone()
    } else {
        let mut program = loaded.lowered.program.clone();
        for (property, partial) in formulas.iter_mut().zip(partial) {
            Evaluations::watch(property, partial, &mut program);
        }
        let invariants = wanted.invariants.iter();
        let invariants = invariants.map(|asked| (asked, PropertyKind::Invariant));
        let reachable = wanted.reachable.iter();
        let reachable = reachable.map(|asked| (asked, PropertyKind::Reachable));
        for ((text, number), kind) in invariants.chain(reachable) {
            let holds = labels[*number];
            let violated_by = match kind {
                PropertyKind::Reachable => holds,
                _ => {
                    let holds = program.labels[holds.index()].expr.clone();
                    program.label(simplify::not(holds))
                }
            };
            program.properties.push(ProgramProperty {
                name: text.clone(),
                kind,
                violated_by,
                span: None,
            });
        }
        if wanted.claims {
            temporal.extend(
                claims
                    .iter()
                    .map(|claim| never_claim(&mut program, claim, &wanted.budget)),
            );
        }
        if wanted.acceptance {
            let accepting = loaded.lowered.accepting.clone();
            temporal.push(no_acceptance(program.label(accepting)));
        }
        let packed = Model::within(program, Arc::clone(&wanted.budget));
        packed.map_err(|error| BuildError::TooLarge(error.to_string()))?
    };
    let is_of_runs = |temporal: &Temporal| temporal.property.is_ok();
    let adds_processes = adds_claims || formulas.iter().any(is_of_runs);
    temporal.extend(formulas);
    temporal.extend(wanted.broken.iter().cloned());
    if let Some(option) = wanted.leaves_out_steps {
        for temporal in &mut temporal {
            needs_all_steps(temporal, option);
        }
    }
    let mut warnings = loaded.diagnostics.clone();
    if let (Some(place), true) = (loaded.program.counts_processes, adds_processes) {
        let message = "`_nr_pr` does not count a claim here; in SPIN it does while one is followed";
        let warning = Diagnostic::warning(COUNTS_CLAIMS, message, place);
        warnings.push(warning.help("formulas and never claims count it, as in SPIN"));
    }
    let text = ModelText::Several(loaded.sources.clone());
    // What was added to the program changes no command.
    loaded.model = model.clone();
    let sites = model.structure().failures.len();
    let mut parts = Parts::of_model(model, warnings, wanted.engine);
    parts.temporal = temporal;
    parts.expressions = wanted.expressions.clone();
    parts.text = Some(text);
    let is_missing: Vec<bool> = (0..sites)
        .map(|site| loaded.lowered.missing(Outcome::failure(site)).is_some())
        .collect();
    let commands = match wanted.coverage {
        true => loaded.model.program().commands.len(),
        false => 0,
    };
    let promela = Arc::new(PromelaModel {
        loaded,
        reached: (0..commands).map(|_| AtomicBool::new(false)).collect(),
        wanted,
    });
    if is_missing.contains(&true) || commands > 0 {
        let seen = Arc::new(Seen {
            sites: is_missing.iter().map(|_| AtomicBool::new(false)).collect(),
            late: AtomicU32::new(0),
        });
        let starts_missing = |site: Site| {
            let lacks = |site| promela.loaded.may_lack(Outcome::failure(site));
            is_missing[site.index()] && lacks(site.index())
        };
        parts.system = Arc::new(Watched {
            inner: parts.system,
            missing_starts: promela.loaded.model.transitions_failing_at(&starts_missing),
            promela: Arc::clone(&promela),
            is_missing,
            seen: Arc::clone(&seen),
        });
        parts.growth = Some(Growth {
            promela: Arc::clone(&promela),
            seen,
        });
    }
    parts.promela = Some(promela);
    Ok(parts)
}

/// Leaving out steps that nobody sees is fine only for those who do not count steps.
fn needs_all_steps(temporal: &mut Temporal, option: &str) {
    // Branching time may see them even where no formula counts them.
    let sees = match &temporal.property {
        Ok(property) => property.is_stutter_invariant() != Some(true),
        Err(obstacle) => matches!(obstacle, Obstacle::Branching(_)),
    };
    if sees {
        let why = format!(
            "not checked: {option} leaves out steps, and this property may depend on their number"
        );
        temporal.property = Err(Obstacle::CountsSteps(why));
    }
}

/// A never claim as a property: no run is accepted by it or reaches its end.
fn never_claim(program: &mut Program, claim: &lower::Claim, budget: &Budget) -> Temporal {
    let mut edges = Vec::new();
    for (source, state) in claim.states.iter().enumerate() {
        edges.extend(state.edges.iter().map(|edge| ClaimEdge {
            source,
            target: edge.target,
            guard: Some(edge.guard),
        }));
        if state.end {
            edges.push(ClaimEdge {
                source,
                target: source,
                guard: None,
            });
        }
    }
    let states = claim.states.iter();
    let automaton = Claim {
        initial: claim.start,
        accepting: states.map(|state| state.accepting || state.end).collect(),
        edges,
    };
    let (evaluations, property) = Evaluations::of_claim(automaton, program, budget);
    // SPIN's own name for a claim without one cannot be typed easily.
    let name = claim.name.trim_matches(':');
    Temporal {
        name: name.into(),
        title: match name {
            "never" => "no run of the never claim".into(),
            name => format!("no run of the never claim {name}"),
        },
        span: None,
        origin: Origin::Model,
        remarks: String::new(),
        evaluations,
        property: Ok(property),
    }
}

/// That no run comes to accepting states again and again: what SPIN's `-a` looks for where there
/// is no claim. A run that ends in such a state stays there (SPIN: "accept stutter").
fn no_acceptance(accepting: LabelId) -> Temporal {
    let (property, _) = Property::parse(
        "<> [] !accepting",
        Syntax::Spot,
        &mut |_, _| Ok(accepting),
        &Default::default(),
    );
    Temporal {
        name: "accept".into(),
        title: "no run comes to accept labels again and again".into(),
        span: None,
        origin: Origin::User,
        remarks: String::new(),
        evaluations: Evaluations::default(),
        property: property.ok_or_else(|| Obstacle::Wrong(String::new())),
    }
}

/// How to get a larger program when this one turns out to be too small.
pub(crate) struct Growth {
    promela: Arc<PromelaModel>,
    seen: Arc<Seen>,
}

/// What was missing.
struct Seen {
    /// By site: whether a step failed there.
    sites: Vec<AtomicBool>,
    /// States that were expanded after the first such step.
    late: AtomicU32,
}

/// After so many more states, a search that will be done again has learnt enough.
const ENOUGH: u32 = 5_000;

impl Growth {
    /// The larger program.
    pub(crate) fn grown(&self) -> Option<Result<Parts, BuildError>> {
        self.promela.grown(&self.missing())
    }

    /// What was seen to be missing.
    pub(crate) fn missing(&self) -> Vec<Outcome> {
        let sites = self.seen.sites.iter().enumerate();
        let sites = sites.filter(|(_, seen)| seen.load(Ordering::Relaxed));
        sites.map(|(at, _)| Outcome::failure(at)).collect()
    }
}

/// A system that notes when something is missing, and what is reached.
struct Watched {
    inner: Arc<dyn System>,
    promela: Arc<PromelaModel>,
    /// By site.
    is_missing: Vec<bool>,
    /// Steps that start what is missing.
    missing_starts: Vec<TransitionId>,
    seen: Arc<Seen>,
}

impl System for Watched {
    fn layout(&self) -> &Layout {
        self.inner.layout()
    }

    fn structure(&self) -> &Structure {
        self.inner.structure()
    }

    fn initial_states(&self) -> Vec<u32> {
        self.inner.initial_states()
    }

    fn executor(&self) -> Box<dyn Executor + '_> {
        let covers = !self.promela.reached.is_empty();
        Box::new(Watcher {
            inner: self.inner.executor(),
            system: self,
            interpreter: covers.then(|| Interpreter::new(&self.promela.loaded.model)),
        })
    }

    fn relations(&self, level: RelationLevel) -> Relations {
        // What a process does that is not there yet, nobody knows.
        self.inner
            .relations(level)
            .with_unknown_effects(&self.missing_starts)
    }

    fn relations_of_strong_sets(&self, level: RelationLevel) -> Relations {
        self.inner
            .relations_of_strong_sets(level)
            .with_unknown_effects(&self.missing_starts)
    }

    fn truth_table(&self, label: LabelId) -> Option<[u64; 4]> {
        self.inner.truth_table(label)
    }

    fn budget(&self) -> &Budget {
        self.inner.budget()
    }

    fn learns(&self) -> bool {
        self.is_missing.contains(&true)
    }

    fn value_text(&self, field: FieldId, value: i64) -> String {
        self.inner.value_text(field, value)
    }
}

struct Watcher<'s> {
    inner: Box<dyn Executor + 's>,
    system: &'s Watched,
    /// If it is to be noted what is reached.
    interpreter: Option<Interpreter<'s>>,
}

impl Watcher<'_> {
    fn look(&mut self, state: &[u32], out: &Successors, from: usize) {
        for at in from..out.len() {
            if let Some(site) = out.outcome(at).failed()
                && self.system.is_missing.get(site) == Some(&true)
            {
                self.system.seen.sites[site].store(true, Ordering::Relaxed);
                self.system.budget().outgrow();
            }
        }
        let Some(interpreter) = &mut self.interpreter else {
            return;
        };
        let reached = &self.system.promela.reached;
        let mut last = None;
        for at in from..out.len() {
            let transition = out.get(at).transition;
            // The ways through a chain stand one after the other.
            if last.replace(transition) != Some(transition) {
                interpreter.visit_chain(state, transition, &mut |command| {
                    reached[command.index()].store(true, Ordering::Relaxed);
                });
            }
        }
    }
}

impl Executor for Watcher<'_> {
    fn successors(&mut self, state: &[u32], out: &mut Successors) {
        let from = out.len();
        self.inner.successors(state, out);
        self.look(state, out, from);
        let budget = self.system.budget();
        if budget.is_outgrown() && self.system.seen.late.fetch_add(1, Ordering::Relaxed) >= ENOUGH {
            budget.end(Spent::Outgrown);
        }
    }

    fn fire(&mut self, state: &[u32], transition: TransitionId, out: &mut Successors) {
        let from = out.len();
        self.inner.fire(state, transition, out);
        self.look(state, out, from);
    }

    fn label(&mut self, state: &[u32], label: LabelId) -> bool {
        self.inner.label(state, label)
    }

    fn labels(&mut self, state: &[u32], out: &mut stubborn_system::BitSet) {
        self.inner.labels(state, out);
    }
}

#[cfg(test)]
mod tests {
    use stubborn_reduce::{Algorithm, Config};

    use crate::{
        CheckError, CheckOptions, Language, LoadOptions, LoadedModel, Por, PromelaOptions,
        QuestionKind, ReductionOptions, Verdict, questions,
    };

    /// The assertion looks at what another process writes, and leaves no trace in the state:
    /// a reduction that judged by states alone would check it only once.
    #[test]
    fn reduced_searches_find_violated_assertions() {
        let texts = [
            "byte x; active proctype A() { x = 1; x = 2 } active proctype B() { assert(x != 1) }",
            "byte x; active proctype A() { x = 1 } active proctype B() { assert(x == 0) }",
            "byte x, y; active proctype A() { y = 1; x = 1; y = 0 }
             active proctype B() { atomic { skip; assert(x + y != 2) } }",
        ];
        for text in texts {
            let model = crate::load_text("m.pml", text, Language::Promela, &LoadOptions::default())
                .unwrap_or_else(|error| panic!("{error}"));
            let mut lengths = Vec::new();
            for por in [Por::None, Por::Chosen(Config::new(Algorithm::Goal))] {
                let reduction = ReductionOptions {
                    por,
                    ..ReductionOptions::default()
                };
                let options = CheckOptions {
                    reduction,
                    ..CheckOptions::default()
                };
                let mut questions = questions(&model);
                questions.retain(|question| question.kind == QuestionKind::Assertion);
                let report = crate::check(&model, &questions, &options).expect("it runs");
                assert_eq!(report.verdict(), Verdict::Violated, "{text}");
                let violations = report.answers.iter().filter_map(|a| a.violation.as_ref());
                lengths.push(violations.map(|v| v.length).collect::<Vec<_>>());
            }
            assert_eq!(lengths[0], lengths[1], "{text}");
        }
    }

    /// Asks, and asks again with a larger model.
    fn growing<T>(text: &str, ask: impl Fn(&LoadedModel) -> Result<T, CheckError>) -> T {
        let options = LoadOptions {
            promela: PromelaOptions {
                acceptance: true,
                ..PromelaOptions::default()
            },
            ..LoadOptions::default()
        };
        let mut model = crate::load_text("m.pml", text, Language::Promela, &options)
            .unwrap_or_else(|error| panic!("{error}"));
        loop {
            match ask(&model) {
                Err(CheckError::Outgrown) => {
                    model.system().budget().has_grown();
                    model.grow().unwrap_or_else(|error| panic!("{error}"));
                }
                answer => return answer.unwrap_or_else(|error| panic!("{error}")),
            }
        }
    }

    /// What a process does that is not known yet may be in anybody's way. A reduction need not come
    /// to where it starts, but it must know of it.
    #[test]
    fn nobody_relies_on_processes_that_are_not_known_yet() {
        let counts = "do :: n < 200 -> n++ :: n >= 200 -> break od";
        let with = |process: &str| {
            format!(
                "byte x, n; active proctype A() {{ do :: x == 0 -> skip od }}
                 active proctype B() {{ {counts}; run C(1) }}
                 active proctype D() {{ {counts} }}
                 proctype C(byte p) {{ {process} }}"
            )
        };
        let (stuck, accepting) = (with("x = 1"), with("accept: do :: p = 1 od"));
        let claimed = with("here: x = 1") + "never { do :: C@here -> break :: else od }";
        for algorithm in Algorithm::ALL {
            let options = CheckOptions {
                reduction: ReductionOptions {
                    por: Por::Chosen(Config::new(*algorithm)),
                    ..ReductionOptions::default()
                },
                ..CheckOptions::default()
            };
            if *algorithm != Algorithm::Goal {
                let verdict = growing(&stuck, |model| {
                    let mut questions = questions(model);
                    questions.retain(|question| question.kind == QuestionKind::Deadlock);
                    Ok(crate::check(model, &questions, &options)?.verdict())
                });
                assert_eq!(verdict, Verdict::Violated, "{algorithm}");
            }
            let verdict = growing(&accepting, |model| {
                let properties: Vec<_> = model.temporal().iter().collect();
                Ok(crate::check_temporal(model, &properties, &options)?[0].verdict)
            });
            assert_eq!(verdict, Verdict::Violated, "accepted, {algorithm}");
            let verdict = growing(&claimed, |model| {
                let mut properties: Vec<_> = model.temporal().iter().collect();
                properties.retain(|property| property.name == "never");
                Ok(crate::check_temporal(model, &properties, &options)?[0].verdict)
            });
            assert_eq!(verdict, Verdict::Violated, "claimed, {algorithm}");
        }
    }

    /// Claims as SPIN reads them: the end of a claim, a failing assertion in it and an
    /// accepting cycle are violations, being stuck is not; what is atomic is judged at once.
    #[test]
    fn never_claims_mean_what_they_mean_to_spin() {
        let model = "byte x; active proctype A() { do :: x = (x + 1) % 4 od }";
        let cases = [
            ("do :: x < 3 od", Verdict::Holds),
            ("x == 0; x == 1; x == 2", Verdict::Violated),
            ("x == 0; x == 1; x == 1", Verdict::Holds),
            ("do :: assert(x < 4) od", Verdict::Holds),
            ("do :: assert(x < 3) od", Verdict::Violated),
            (
                "do :: atomic { x == 2 -> assert(x != 2) } :: else od",
                Verdict::Violated,
            ),
            // Without `atomic` the assertion is judged one step later.
            ("do :: x == 2 -> assert(x != 2) :: else od", Verdict::Holds),
            ("accept: do :: x <= 3 od", Verdict::Violated),
            (
                "do :: true :: x == 3 -> break od; accept: do :: x > 0 od",
                Verdict::Holds,
            ),
        ];
        for (claim, expected) in cases {
            let text = format!("{model} never {{ {claim} }}");
            let model = crate::load_text("m.pml", text, Language::Promela, &LoadOptions::default())
                .unwrap_or_else(|error| panic!("{error}"));
            let properties: Vec<_> = model.temporal().iter().collect();
            let answers = crate::check_temporal(&model, &properties, &CheckOptions::default())
                .expect("it runs");
            assert_eq!(answers.len(), 1);
            assert_eq!(answers[0].verdict, expected, "{claim}");
        }
    }
}
