//! Every option of the command line, in one place. Help texts, completions and the manual
//! page are made from these definitions.

mod belief;
mod bench;
mod checkpoint;
mod cluster;
mod hunt;
mod inspect;
#[cfg(feature = "lab")]
pub(crate) mod lab;
mod nets;
mod promela;
#[cfg(feature = "protocols")]
pub(crate) mod protocol;
mod reduction;
mod relations;
mod search;
#[cfg(feature = "serve")]
mod serve;
pub(crate) mod spin;
mod suite;
mod temporal;
mod trace_check;

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use stubborn::{Engine, Language};

pub(crate) use belief::BeliefArgs;
pub(crate) use bench::BenchArgs;
pub(crate) use checkpoint::{CheckpointArgs, ResumeArgs};
pub(crate) use cluster::ClusterArgs;
pub(crate) use hunt::HuntArgs;
pub(crate) use inspect::{InspectArgs, InspectFormat};
pub(crate) use nets::NetArgs;
pub(crate) use promela::{DrawingArgs, PromelaArgs, SpinArgs, trail_file};
pub(crate) use reduction::ReductionArgs;
pub(crate) use relations::{MeasuringArgs, RelationsChoice};
pub(crate) use search::{MemoryLimit, OrderName, SearchArgs, StoreName, seconds};
#[cfg(feature = "serve")]
pub(crate) use serve::ServeArgs;
pub(crate) use suite::SuiteArgs;
pub(crate) use temporal::{ComparisonArgs, FormulaArgs, FormulaSyntax, ProvisoList, TemporalArgs};
pub(crate) use trace_check::TraceCheckArgs;

const AFTER_HELP: &str = "\
Exit status:
  0   everything that was asked holds
  1   something is violated
  2   the command or the model is wrong; the message says where
  3   no answer: a limit was reached, or a lossy store found nothing
  70  a bug in stubborn itself

Try it:
  stubborn check examples/philosophers.dve
  stubborn check examples/alternating_bit_broken.dve --trace bug.json
  stubborn simulate examples/alternating_bit_broken.dve --replay bug.json";

/// A model checker: finds deadlocks, failing assertions, broken invariants and runs that violate
/// LTL formulas, in concurrent systems written in DVE, Promela or as Petri nets, with
/// counterexamples that people can read
#[derive(Debug, Parser)]
#[command(name = "stubborn", version, after_help = AFTER_HELP)]
#[command(
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Check(Box<CheckArgs>),
    Hunt(HuntArgs),
    Explore(Box<ExploreArgs>),
    Resume(ResumeArgs),
    TraceCheck(TraceCheckArgs),
    #[cfg(feature = "serve")]
    Serve(Box<ServeArgs>),
    Simulate(SimulateArgs),
    Inspect(InspectArgs),
    Validate(ValidateArgs),
    Ltl(LtlArgs),
    Bench(BenchArgs),
    #[cfg(feature = "lsp")]
    Lsp(LspArgs),
    #[cfg(feature = "contest")]
    Mcc(MccArgs),
    #[cfg(feature = "lab")]
    Lab(lab::LabArgs),
    #[cfg(feature = "protocols")]
    Protocol(protocol::ProtocolArgs),
    Reproduce(ReproduceArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
    Schema(SchemaArgs),
}

impl Command {
    /// Its name, if it prints for scripts.
    pub(crate) fn json(&self) -> Option<&'static str> {
        match self {
            Self::Check(args) => args.output.json.then_some("check"),
            Self::Hunt(args) => args.output.json.then_some("hunt"),
            Self::TraceCheck(args) => args.output.json.then_some("trace-check"),
            Self::Explore(args) => args.output.json.then_some("explore"),
            Self::Inspect(args) => (args.format == InspectFormat::Json).then_some("inspect"),
            #[cfg(feature = "protocols")]
            Self::Protocol(args) => args.json.then_some("protocol"),
            #[cfg(feature = "serve")]
            Self::Serve(_) => None,
            Self::Resume(_)
            | Self::Simulate(_)
            | Self::Validate(_)
            | Self::Ltl(_)
            | Self::Bench(_)
            | Self::Reproduce(_)
            | Self::Completions(_)
            | Self::Man(_)
            | Self::Schema(_) => None,
            #[cfg(feature = "contest")]
            Self::Mcc(_) => None,
            #[cfg(feature = "lab")]
            Self::Lab(_) => None,
            #[cfg(feature = "lsp")]
            Self::Lsp(_) => None,
        }
    }
}

/// Record a command with its files and its result, or run a recorded one again and compare
///
/// A bundle is one file with the command, the models and other files that it names, what they
/// include, the version of the program, and the object that came out. Times and memory are not
/// compared. Exit status 0 if everything is the same, 1 if not.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  stubborn reproduce bug.json -- check examples/philosophers.dve --por beam --seed 3
  stubborn reproduce bug.json")]
pub(crate) struct ReproduceArgs {
    /// The file of the bundle
    #[arg(value_name = "BUNDLE")]
    pub(crate) bundle: PathBuf,

    /// The command to record: `check`, `explore` or another one that knows --json
    #[arg(value_name = "COMMAND", last = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<String>,
}

/// Print the JSON Schema of what --json prints
#[derive(Args, Debug)]
pub(crate) struct SchemaArgs {}

/// Which model, and how it is run.
#[derive(Args, Debug)]
pub(crate) struct ModelArgs {
    /// The model's file; `-` reads standard input
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,

    #[command(flatten)]
    pub(crate) load: LoadArgs,
}

impl std::ops::Deref for ModelArgs {
    type Target = LoadArgs;

    fn deref(&self) -> &LoadArgs {
        &self.load
    }
}

/// How a model is read and run.
#[derive(Args, Clone, Debug)]
pub(crate) struct LoadArgs {
    /// The model's language, instead of going by the ending of its name
    #[arg(long, value_name = "LANGUAGE", value_enum)]
    pub(crate) language: Option<LanguageName>,

    /// How successors are computed, or where everything is
    #[arg(long, value_name = "ENGINE", value_enum, default_value_t)]
    pub(crate) engine: EngineName,

    /// Shuffle the places and transitions of a Petri net: strategies that take the first one
    /// depend on their order
    #[arg(long, value_name = "SEED", help_heading = "Petri nets")]
    pub(crate) shuffle: Option<u64>,

    #[command(flatten)]
    pub(crate) promela: PromelaArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum LanguageName {
    /// DVE, the language of DiVinE and BEEM (.dve)
    Dve,
    /// Promela, the language of SPIN (.pml, .prm, .promela)
    Promela,
    /// Petri nets in PNML (.pnml)
    Pnml,
    /// Language modules of LTSmin (.so, .spins, .dve2C): shared libraries, whose code is run
    Module,
}

impl From<LanguageName> for Language {
    fn from(name: LanguageName) -> Self {
        match name {
            LanguageName::Dve => Language::Dve,
            LanguageName::Promela => Language::Promela,
            LanguageName::Pnml => Language::Pnml,
            LanguageName::Module => Language::Module,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineName {
    /// By machine code made for the model when it is loaded
    #[default]
    Compiled,
    /// By the interpreter, the reference
    Interpreted,
    /// The whole search on a graphics card, through OpenCL: for `check` and `explore`, without
    /// reduction unless that is asked for
    Gpu,
    /// By machine code, and by a graphics card, too, if it takes longer than a moment and there is one:
    /// for `check` and `explore`
    Auto,
}

impl From<EngineName> for Engine {
    fn from(name: EngineName) -> Self {
        match name {
            EngineName::Compiled | EngineName::Auto => Engine::Compiled,
            // The host looks at a few states only.
            EngineName::Interpreted | EngineName::Gpu => Engine::Interpreted,
        }
    }
}

fn names<T: Copy>(all: &'static [T], name: fn(T) -> &'static str) -> PossibleValuesParser {
    PossibleValuesParser::new(all.iter().map(|item| PossibleValue::new(name(*item))))
}

/// How results are shown.
#[derive(Args, Debug)]
pub(crate) struct OutputArgs {
    /// Print one JSON object, for scripts
    ///
    /// `stubborn schema` says what is in it. A wrong command or model is an object, too.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,

    /// Print less: no statistics, no warnings, no progress
    #[arg(long, short, help_heading = "Output")]
    pub(crate) quiet: bool,
}

/// Which properties are asked about.
#[derive(Args, Debug)]
pub(crate) struct PropertyArgs {
    /// Check that every state has a step, also where the model allows to end
    #[arg(long, help_heading = "Properties")]
    pub(crate) deadlock: bool,

    /// Check that this expression holds in every state; may be repeated
    ///
    /// The expression is written in the model's own syntax. Process locations are written as
    /// in the model, `P.critical`, local variables as `P.x`.
    #[arg(
        long,
        value_name = "EXPR",
        help_heading = "Properties",
        allow_hyphen_values = true
    )]
    pub(crate) invariant: Vec<String>,

    /// Check only the property of this name, as shown in results; may be repeated
    #[arg(long, value_name = "NAME", help_heading = "Properties")]
    pub(crate) property: Vec<String>,

    /// Check only what other options of this group say
    #[arg(long, help_heading = "Properties")]
    pub(crate) only: bool,
}

/// Verify a model: deadlock freedom, assertions, temporal properties, and what you add
///
/// Without --property and --only, everything that the model states is checked: that it has no
/// deadlock, that no step fails (an index, a range, a division), that its assertions hold, and
/// its temporal properties (`ltl` formulas and never claims, property processes), each for
/// itself. --deadlock, --invariant, --ltl, --hoa and --properties add to that. Each violated
/// property is shown with the run that leads to it, a shortest one when searching
/// breadth-first; for a temporal property that is a run into a cycle.
///
/// Several models, or patterns such as 'models/**/*.pml', are checked side by side, each by a
/// process of its own. Without a model, the file stubborn.toml of the folder says what is checked
/// and what is expected (see docs/suites.md). Either way there is a summary and one exit status: 2
/// if a command or a model is wrong, else 1 if something is violated (or not as expected), else 3
/// if something has no answer.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  stubborn check examples/philosophers.dve
  stubborn check examples/peterson.dve --invariant 'inside <= 1'
  stubborn check examples/leader_ring.dve --only --invariant 'leaders < 2'
  stubborn check examples/peterson.dve --ltl '[] (P_0.wait -> <> P_0.critical)'
  stubborn check examples/peterson.dve --only --ltl 'GF\"P_0.critical\"' --syntax spot --fairness
  stubborn check examples/alternating_bit_broken.dve --trace bug.json
  stubborn check 'examples/*.dve' --report results.xml --report results.sarif")]
pub(crate) struct CheckArgs {
    /// Files of models, or patterns of such; `-` reads standard input
    ///
    /// A folder stands for its stubborn.toml, and so does nothing for that of the working folder.
    #[arg(value_name = "MODEL")]
    pub(crate) models: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) load: LoadArgs,

    #[command(flatten)]
    pub(crate) properties: PropertyArgs,

    #[command(flatten)]
    pub(crate) temporal: TemporalArgs,

    #[command(flatten)]
    pub(crate) search: SearchArgs,

    #[command(flatten)]
    pub(crate) reduction: ReductionArgs,

    #[command(flatten)]
    pub(crate) net: NetArgs,

    #[command(flatten)]
    pub(crate) checkpoint: CheckpointArgs,

    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,

    /// Save the first counterexample, to be replayed by `simulate --replay`
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) trace: Option<PathBuf>,

    /// Show all steps of long counterexamples
    #[arg(long, help_heading = "Output")]
    pub(crate) full_trace: bool,

    #[command(flatten)]
    pub(crate) spin: SpinArgs,

    #[command(flatten)]
    pub(crate) suite: SuiteArgs,

    #[command(flatten)]
    pub(crate) belief: BeliefArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Build the whole state space and print its size
///
/// With --por, the state space that is left when a reduction keeps all deadlocks; with --proviso
/// as well, the one that is left when it keeps infinite runs: every cycle has a state with all its
/// steps (searched depth-first on one thread; --seed takes transitions in another order; `none`
/// and `full` expand nothing and everything).
///
/// With --json, one object on standard output: schema_version, command, model, language, por,
/// order, threads, store, states, transitions, deadlocks, invalid_ends (null in languages without
/// end states), depth, complete, load_seconds, explore_seconds, peak_memory_bytes, bytes_per_state;
/// where steps fail, failing_steps (what went wrong: runs end there); where something stopped it,
/// reason and limit.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  stubborn explore examples/cache_coherence.dve
  stubborn explore examples/cache_coherence.dve --threads 2 --json
  stubborn explore examples/cache_coherence.dve --por beam --proviso source --seed 1
  stubborn explore examples/cache_coherence.dve --por beam --compare source,stab --orders 5
  stubborn explore examples/peterson.dve --levels")]
pub(crate) struct ExploreArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,

    #[command(flatten)]
    pub(crate) search: SearchArgs,

    #[command(flatten)]
    pub(crate) reduction: ReductionArgs,

    #[command(flatten)]
    pub(crate) net: NetArgs,

    #[command(flatten)]
    pub(crate) checkpoint: CheckpointArgs,

    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,

    #[command(flatten)]
    pub(crate) comparison: ComparisonArgs,

    /// Print the number of states on every breadth-first level
    #[arg(long, help_heading = "Output")]
    pub(crate) levels: bool,

    /// Print how many states have how many steps
    ///
    /// With a reduction, of the steps that it keeps and of all. Such a graph is built in memory, as for --aut.
    #[arg(long, help_heading = "Output",
          conflicts_with_all = ["compare", "structural", "proviso"])]
    pub(crate) branching: bool,

    /// Write the state space to a file, in the Aldebaran format of CADP and mCRL2
    #[arg(long, value_name = "FILE", help_heading = "Output",
          conflicts_with_all = ["compare", "structural", "proviso"])]
    pub(crate) aut: Option<PathBuf>,

    /// Draw the state space for Graphviz, with what a reduction leaves out in grey
    #[arg(long, value_name = "FILE", help_heading = "Output",
          conflicts_with_all = ["compare", "structural", "proviso"])]
    pub(crate) dot: Option<PathBuf>,

    /// Name the transitions that were never taken
    #[arg(long, help_heading = "Output", conflicts_with = "structural")]
    pub(crate) unused: bool,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Walk through a model: at random, by hand, or along a saved trace
///
/// By hand (--interactive), every step is chosen from a numbered list; `?` shows what else
/// can be typed. Numbers may also come from a pipe.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  stubborn simulate examples/peterson.dve --steps 10 --seed 7
  stubborn simulate examples/philosophers.dve --runs 1000 --steps 100
  stubborn simulate examples/philosophers.dve --interactive
  stubborn simulate examples/alternating_bit_broken.dve --replay bug.json")]
pub(crate) struct SimulateArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,

    /// Number of random steps; a run ends earlier where something is violated
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) steps: usize,

    /// For random choices; the same number gives the same run
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Walk so often, with this seed and those that follow, and show what came out and the shortest
    /// run that violates something
    #[arg(long, value_name = "N", conflicts_with_all = ["interactive", "replay"])]
    pub(crate) runs: Option<u64>,

    /// Choose every step yourself; with --replay or --trail, from where that run ends
    #[arg(long, short, conflicts_with = "steps")]
    pub(crate) interactive: bool,

    /// Follow a trace that `check --trace` or `simulate --save` wrote
    #[arg(long, value_name = "FILE", conflicts_with = "steps")]
    pub(crate) replay: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) drawing: DrawingArgs,

    /// Show the whole state after every step
    #[arg(long)]
    pub(crate) states: bool,

    /// Save the run, to be replayed by --replay
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
}

/// Check that a reduction keeps what it must, on this very model
///
/// The defining conditions of stubborn sets are tested at states of the model with its own
/// code, the relations between transitions are refuted where they can be, and what the
/// reduced search finds is compared with the full one. Small models are checked everywhere,
/// of larger ones a sample. Exit status 1 means that something is wrong with the reduction.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  stubborn validate examples/peterson.dve
  stubborn validate examples/philosophers.dve --por deletion --relations exact")]
pub(crate) struct ValidateArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,

    /// Also validate for this invariant; may be repeated
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    pub(crate) invariant: Vec<String>,

    /// Models with at most so many states are checked everywhere
    #[arg(long, value_name = "N", default_value_t = 3_000)]
    pub(crate) max_states: usize,

    /// Of a larger model, check so many states
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    pub(crate) samples: usize,

    /// Try relations in so many random states as well (not with --relations reach or FILE)
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    pub(crate) random_states: usize,

    /// For everything random
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,

    #[command(flatten)]
    pub(crate) reduction: ReductionArgs,
}

/// Print the automaton of an LTL formula
///
/// A transition-based generalised Büchi automaton, in the Hanoi Omega-Automata format or for
/// Graphviz. Its size, and whether the formula is stutter-invariant, come first as a comment.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  stubborn ltl 'G(request -> F grant)'
  stubborn ltl 'p U q' --negate --format dot | dot -Tsvg > automaton.svg")]
pub(crate) struct LtlArgs {
    /// The formula
    #[arg(value_name = "FORMULA", allow_hyphen_values = true)]
    pub(crate) formula: String,

    /// Take the negation, as a check does
    #[arg(long)]
    pub(crate) negate: bool,

    /// How the formula is written, as for `check --ltl`
    #[arg(long, value_name = "SYNTAX", value_enum, default_value_t)]
    pub(crate) syntax: FormulaSyntax,

    /// How the automaton is written
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) format: AutomatonFormat,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum AutomatonFormat {
    /// Hanoi Omega-Automata
    #[default]
    Hoa,
    /// Graphviz
    Dot,
}

#[cfg(feature = "contest")]
/// Answer an examination of the Model Checking Contest about a Petri net
///
/// Follows the contest's calling convention: the working folder holds `model.pnml` and, where the
/// examination has formulas, `EXAMINATION.xml`; the environment says what is asked
/// (BK_EXAMINATION) and how long it may take (BK_TIME_CONFINEMENT, in seconds). Answers are
/// lines that begin with FORMULA or STATE_SPACE, each printed as soon as it is known.
#[derive(Args, Debug)]
#[command(after_help = "\
Examinations:
  StateSpace, ReachabilityDeadlock, ReachabilityCardinality, ReachabilityFireability, UpperBounds,
  OneSafe, QuasiLiveness, Liveness, StableMarking, LTLCardinality, LTLFireability, CTLCardinality,
  CTLFireability

Examples:
  BK_EXAMINATION=ReachabilityDeadlock BK_TIME_CONFINEMENT=60 stubborn mcc
  stubborn mcc --folder Philosophers-PT-000010 --examination UpperBounds --time 60")]
pub(crate) struct MccArgs {
    /// The folder of the instance, instead of the working folder
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    pub(crate) folder: PathBuf,

    /// What is asked, instead of BK_EXAMINATION
    #[arg(long, value_name = "NAME")]
    pub(crate) examination: Option<String>,

    /// Seconds for all answers, instead of BK_TIME_CONFINEMENT; an hour if neither is given
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) time: Option<Duration>,

    /// Most memory for states, instead of what BK_MEMORY_CONFINEMENT allows
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory_limit: Option<MemoryLimit>,

    /// Do without stubborn sets
    #[arg(long, help_heading = "Techniques")]
    pub(crate) no_por: bool,

    /// Do without structural reductions
    #[arg(long, help_heading = "Techniques")]
    pub(crate) no_structural: bool,

    /// Do without the state equation
    #[arg(long, help_heading = "Techniques")]
    pub(crate) no_equation: bool,

    /// Do without siphons and traps
    #[arg(long, help_heading = "Techniques")]
    pub(crate) no_traps: bool,

    /// Do without random walks
    #[arg(long, help_heading = "Techniques")]
    pub(crate) no_walks: bool,
}

/// Serve an editor: messages while you type, hovers, navigation, rename, completion
///
/// Speaks the Language Server Protocol on standard input and output, for models in Promela and DVE.
/// docs/editor.md says how to set up VS Code, Neovim, Helix and Emacs.
#[cfg(feature = "lsp")]
#[derive(Args, Debug)]
pub(crate) struct LspArgs {
    /// What editors say anyway
    #[arg(long, hide = true)]
    pub(crate) stdio: bool,
}

/// Print a completion script for a shell
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  stubborn completions bash > ~/.local/share/bash-completion/completions/stubborn
  stubborn completions fish > ~/.config/fish/completions/stubborn.fish")]
pub(crate) struct CompletionsArgs {
    /// Which shell
    pub(crate) shell: clap_complete::Shell,
}

/// Print the manual page, or write the pages of all commands to a folder
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  stubborn man | man -l -
  stubborn man --folder ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Write one page a command into this folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) folder: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in [
            ("1024", 1 << 10),
            ("3k", 3 << 10),
            ("500M", 500 << 20),
            ("2GiB", 2 << 30),
        ] {
            assert_eq!(text.parse(), Ok(MemoryLimit::Bytes(bytes)), "{text}");
        }
        assert_eq!("none".parse(), Ok(MemoryLimit::Unlimited));
        for text in ["", "G", "1.5G", "-3", "3X", "99999999999T"] {
            assert!(text.parse::<MemoryLimit>().is_err(), "{text}");
        }
    }

    #[test]
    fn seconds_are_finite_and_positive() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        for text in ["-1", "nan", "inf", "soon"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
