//! From a file to something that can be explored.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::Path;
use std::sync::Arc;

use stubborn_diagnostics::{Diagnostic, SourceFile, Span, has_errors, in_order};
use stubborn_ir::Model;
use stubborn_ir::narrow::narrow;
use stubborn_system::budget::UNLIMITED;
use stubborn_system::{Budget, Outcome, Successors, System};

use crate::lower::{self, Lowered, Missing, Table};
use crate::preprocess::{self, Macros};
use crate::resolve::{self, Resolver, Standing};
use crate::source::{Loader, Sources};
use crate::{ast, flow, hir, parser, token};

/// How to read a model.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Macros defined from outside: name and text.
    pub definitions: Vec<(String, String)>,
    /// Starts of processes to provide for from the beginning, those of [`Loaded::starts`].
    pub starts: Vec<StartName>,
    /// How to lower it.
    pub lowering: lower::Options,
    /// What reading it, and everything that is done about it afterwards, may take.
    pub budget: Arc<Budget>,
}

/// A way to start a process, in words that outlive a program: names of fields and steps depend on
/// which processes can be where, so whoever keeps such names keeps these as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartName {
    /// The number that the process gets.
    pub number: usize,
    /// Its type.
    pub process: String,
    /// The number of the process that starts it.
    pub by: usize,
    /// Which `run` of the text does so, counted from 0.
    pub run: usize,
}

/// Where the `run`s of a model are, in the order of its text.
fn runs(program: &hir::Program) -> Vec<u32> {
    let flows = program.processes.iter().map(|p| &p.flow);
    let mut places: Vec<u32> = flows
        .flat_map(|flow| flow.states.iter().flat_map(|s| &s.transitions))
        .flat_map(|transition| lower::runs_of(&transition.action))
        .map(|run| run.span.start)
        .collect();
    places.sort_unstable();
    places.dedup();
    places
}

/// A model that was read and checked. Expressions about it are read [afterwards](Self::expression).
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The model as far as it was understood.
    pub model: ast::Model,
    /// Its files, and the expressions after them.
    pub sources: Sources,
    /// What is wrong with it.
    pub diagnostics: Vec<Diagnostic>,
    macros: Macros,
    names: parser::Names,
    resolver: Resolver,
}

/// An expression about a model that is no part of its text; of use to the model that read it.
#[derive(Clone, Debug)]
pub struct Expression {
    tree: ast::Expr,
    standing: Standing,
    /// The labels that it refers to.
    labels: Vec<(ast::Name, ast::Name)>,
}

/// Reads and checks a model. Never fails: what is wrong is in the diagnostics.
pub fn parse(
    path: &Path,
    text: &str,
    definitions: &[(String, String)],
    loader: &dyn Loader,
) -> Parsed {
    parse_within(path, text, definitions, loader, &UNLIMITED)
}

/// As [`parse`], within a budget: if it is spent, nothing follows from what was understood.
pub fn parse_within(
    path: &Path,
    text: &str,
    definitions: &[(String, String)],
    loader: &dyn Loader,
    budget: &Budget,
) -> Parsed {
    budget.begin("parsing the model");
    let mut sources = Sources::default();
    let mut diagnostics = Vec::new();
    sources.add(path, text.to_string());
    let limits = (&mut diagnostics, budget);
    let (tokens, macros) = preprocess::preprocess(&mut sources, definitions, loader, limits);
    let read = parser::parse(tokens, &sources, (&mut diagnostics, budget));
    let (model, names) = (read.model, read.names);
    sources.add_expansions(read.expansions);
    let mut unfounded = diagnostics.clone();
    let told = match read.is_whole {
        true => &mut diagnostics,
        // Half a model has mistakes that its author did not make.
        false => &mut unfounded,
    };
    let resolver = resolve::resolve(&model, told);
    in_order(&mut diagnostics);
    for diagnostic in &mut diagnostics {
        name_macro(diagnostic, &sources, &macros);
    }
    Parsed {
        model,
        sources,
        diagnostics,
        macros,
        names,
        resolver,
    }
}

/// What comes out of a macro is reported where the macro is used, arguments included. Says where the
/// macro is defined, too.
fn name_macro(diagnostic: &mut Diagnostic, sources: &Sources, macros: &Macros) {
    let used = sources.slice(diagnostic.span);
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let name = used.find(|c| !is_name(c)).map_or(used, |end| &used[..end]);
    let place = macros.place(name);
    if let Some(defined) = place.filter(|defined| *defined != diagnostic.span) {
        let related = (defined, "in the text of this macro".to_owned());
        diagnostic.related.push(related);
    }
}

impl Parsed {
    /// The model with every name resolved.
    pub fn program(&self) -> &hir::Program {
        &self.resolver.program
    }

    /// Reads one expression over the names and macros of the model, which must be all of `text`.
    ///
    /// # Errors
    /// What is wrong, with places in `text`.
    pub fn expression(
        &mut self,
        text: &SourceFile,
        standing: Standing,
    ) -> Result<Expression, Vec<Diagnostic>> {
        let mut problems = Vec::new();
        let index = (self.sources).add(Path::new(text.name()), text.text().to_owned());
        let tokens = match standing {
            Standing::InModel => token::in_lines(text.text(), self.sources.base(index)),
            _ => preprocess::expand(&mut self.sources, index, &mut self.macros, &mut problems),
        };
        let end = self.sources.base(index) + text.text().len() as u32;
        let (tree, labels) = parser::parse_expression(tokens, &self.names, end, &mut problems);
        if !has_errors(&problems) {
            let resolver = &mut self.resolver;
            // Whether `_last` and priorities occur is a matter of the expressions that are used.
            let before = (resolver.program.uses_last, resolver.program.uses_priority);
            resolver.alone(&tree, standing);
            (resolver.program.uses_last, resolver.program.uses_priority) = before;
            problems.append(&mut resolver.diagnostics);
        }
        if !has_errors(&problems) {
            return Ok(Expression {
                tree,
                standing,
                labels,
            });
        }
        in_order(&mut problems);
        let shown = |mut problem: Diagnostic| {
            name_macro(&mut problem, &self.sources, &self.macros);
            let (file, problem) = self.sources.about_file(&problem)?;
            debug_assert_eq!(file, index, "{problem:?}");
            Some(problem)
        };
        Err(problems.into_iter().filter_map(shown).collect())
    }

    /// Makes these expressions the propositions of the model.
    fn propose(&mut self, expressions: &[Expression]) {
        let labels = expressions.iter().flat_map(|e| &e.labels);
        let before = self.model.remote_labels.len();
        self.model.remote_labels.extend(labels.cloned());
        if self.model.remote_labels.len() > before {
            // Which labels are looked at decides which states a process has.
            self.resolver = resolve::resolve(&self.model, &mut Vec::new());
        }
        let resolver = &mut self.resolver;
        for expression in expressions {
            let meaning = resolver.alone(&expression.tree, expression.standing);
            resolver.program.propositions.push(meaning);
        }
        flow::merge(&mut resolver.program, &self.model.remote_labels);
    }

    /// Makes guarded commands of the model, and labels of expressions about it, see
    /// [`Lowered::propositions`]. The definitions in `options` were for reading it.
    ///
    /// # Errors
    /// As [`load`].
    pub fn load(
        mut self,
        options: &Options,
        expressions: &[Expression],
    ) -> Result<Loaded, (Sources, Vec<Diagnostic>)> {
        if has_errors(&self.diagnostics) || options.budget.poll().is_some() {
            return Err((self.sources, self.diagnostics));
        }
        self.propose(expressions);
        let program = self.resolver.program;
        let name = self.sources.path(0).file_stem();
        let name = name.map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        let most = options.lowering.max_processes;
        let mut exist = 0;
        for process in &program.processes {
            exist += process.active as usize;
            if exist > most {
                let message = format!("more than {most} processes exist at the start");
                let error = Diagnostic::error("PML102", message, process.span)
                    .help("SPIN has at most 255; --max-processes may set a lower limit");
                self.diagnostics.push(error);
                return Err((self.sources, self.diagnostics));
            }
        }
        let mut table = Table::initial(&program);
        let runs = runs(&program);
        for start in &options.starts {
            let process = program
                .processes
                .iter()
                .position(|p| *p.name == *start.process);
            let fits = start.number <= table.len() && start.number < options.lowering.max_processes;
            // A start that this model does not have is met by nobody.
            if let (Some(process), Some(run), true) = (process, runs.get(start.run), fits) {
                table.add(Missing {
                    slot: start.number,
                    start: lower::Start {
                        process: hir::ProcId(process),
                        by: Some((start.by, *run)),
                    },
                });
            }
        }
        let budget = Arc::clone(&options.budget);
        let settings = (options.lowering, budget);
        let (sources, diagnostics) = (self.sources, self.diagnostics);
        build(program, sources, diagnostics, name, table, settings)
    }
}

/// A model ready to be explored.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The guarded commands, packed.
    pub model: Model,
    /// What the commands are in the model's terms; [`Lowered::steps`] follows the commands of
    /// `model`.
    pub lowered: Lowered,
    /// The checked model.
    pub program: hir::Program,
    /// Its files.
    pub sources: Sources,
    /// Warnings.
    pub diagnostics: Vec<Diagnostic>,
    table: Table,
    /// What the table lacks and may be asked for; `None` if anything.
    lacks: Option<HashSet<Missing>>,
    name: String,
    options: lower::Options,
}

/// States that are explored to find out which processes are started where.
const SAMPLE: usize = 1_000;

/// Reads a model for exploration, or says what is wrong with it.
///
/// # Errors
/// The files and everything that is wrong, if something is. Where the budget is spent there may
/// be an error without anything wrong.
pub fn load(
    path: &Path,
    text: &str,
    options: &Options,
    loader: &dyn Loader,
) -> Result<Loaded, (Sources, Vec<Diagnostic>)> {
    let budget = &options.budget;
    parse_within(path, text, &options.definitions, loader, budget).load(options, &[])
}

fn build(
    program: hir::Program,
    sources: Sources,
    mut diagnostics: Vec<Diagnostic>,
    name: String,
    mut table: Table,
    (options, budget): (lower::Options, Arc<Budget>),
) -> Result<Loaded, (Sources, Vec<Diagnostic>)> {
    loop {
        budget.begin("lowering the model");
        let mut lowered = lower::lower(
            &program,
            &sources,
            &name,
            &table,
            (options, &budget),
            &mut diagnostics,
        );
        if has_errors(&diagnostics) || budget.poll().is_some() {
            return Err((sources, diagnostics));
        }
        let places: HashMap<String, usize> = lowered
            .program
            .commands
            .iter()
            .enumerate()
            .map(|(at, command)| (command.name.clone(), at))
            .collect();
        let packed = |program: &stubborn_ir::Program, diagnostics: &mut Vec<Diagnostic>| {
            Model::within(program.clone(), Arc::clone(&budget)).map_err(|error| {
                let span = Span::new(0, 1);
                diagnostics.push(Diagnostic::error("PML096", error.to_string(), span));
            })
        };
        let Ok(model) = packed(&lowered.program, &mut diagnostics) else {
            return Err((sources, diagnostics));
        };
        let sorted = model.program().commands.iter();
        let steps = sorted
            .map(|c| lowered.steps[places[&c.name]].clone())
            .collect();
        lowered.steps = steps;
        budget.begin("finding out which processes are started");
        let missing = sample(&model, &lowered);
        if budget.poll().is_some() {
            return Err((sources, diagnostics));
        }
        if missing.is_empty() {
            narrow(&mut lowered.program, &budget);
            let Ok(model) = packed(&lowered.program, &mut diagnostics) else {
                return Err((sources, diagnostics));
            };
            let lacks = lower::starts::possible(&program, &table, &budget);
            return Ok(Loaded {
                model,
                lowered,
                program,
                sources,
                diagnostics,
                table,
                lacks,
                name,
                options,
            });
        }
        for one in missing {
            table.grow(one, options.max_processes);
        }
    }
}

/// Explores a few states and collects the starts that were not provided for.
pub(crate) fn sample(model: &Model, lowered: &Lowered) -> Vec<Missing> {
    let mut found = Vec::new();
    let words = model.layout().words();
    let mut executor = model.executor();
    let mut successors = Successors::new(words);
    let initial = model.initial_states();
    let mut seen: HashSet<Vec<u32>> = HashSet::from([initial.clone()]);
    let mut todo = VecDeque::from([initial]);
    while let Some(state) = todo.pop_front() {
        successors.clear();
        executor.successors(&state, &mut successors);
        if model.budget().poll().is_some() {
            break;
        }
        for next in successors.iter() {
            if let Some(missing) = lowered.missing(next.outcome) {
                if !found.contains(&missing) {
                    found.push(missing);
                }
            } else if seen.len() < SAMPLE && seen.insert(next.state.to_vec()) {
                todo.push_back(next.state.to_vec());
            }
        }
    }
    found
}

impl Loaded {
    /// The starts that the program provides for, besides the processes that exist at the start.
    pub fn starts(&self) -> Vec<StartName> {
        let runs = runs(&self.program);
        let starts = self.table.starts().filter_map(|(number, start)| {
            let (by, place) = start.by?;
            Some(StartName {
                number,
                process: self.program.processes[start.process.0].name.to_string(),
                by,
                run: runs.binary_search(&place).ok()?,
            })
        });
        starts.collect()
    }

    /// Whether a step that fails in this way starts a process that the program does not provide
    /// for, and may come about; a program has many more such steps, because it does not look at
    /// which processes can be there.
    pub fn may_lack(&self, outcome: Outcome) -> bool {
        let missing = self.lowered.missing(outcome);
        missing.is_some_and(|missing| self.lacks.as_ref().is_none_or(|all| all.contains(&missing)))
    }

    /// How many starts may come about that the program does not provide for; `None` if that is not
    /// known.
    pub fn lacks(&self) -> Option<usize> {
        self.lacks.as_ref().map(HashSet::len)
    }

    /// The same model with room for what a step was missing, or `None` if the step failed for
    /// another reason.
    ///
    /// # Errors
    /// As [`load`].
    #[allow(clippy::type_complexity)]
    pub fn grown(&self, outcome: Outcome) -> Option<Result<Loaded, (Sources, Vec<Diagnostic>)>> {
        self.grown_for(&[outcome])
    }

    /// The same for what several steps were missing.
    ///
    /// # Errors
    /// As [`load`].
    #[allow(clippy::type_complexity)]
    pub fn grown_for(
        &self,
        outcomes: &[Outcome],
    ) -> Option<Result<Loaded, (Sources, Vec<Diagnostic>)>> {
        let mut table = self.table.clone();
        for outcome in outcomes {
            table.grow(self.lowered.missing(*outcome)?, self.options.max_processes);
        }
        (table != self.table).then(|| {
            build(
                self.program.clone(),
                self.sources.clone(),
                self.diagnostics.clone(),
                self.name.clone(),
                table,
                (self.options, Arc::clone(self.model.shared_budget())),
            )
        })
    }
}
