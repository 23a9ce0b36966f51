//! From guarded commands to OpenCL C.
//!
//! The generated part has one function, `fire`, that runs a *round* on a state: at most one
//! command, chosen by the program counters. All commands that a process can start at one
//! location are in different rounds, except those that need a second process at different
//! places: at most one of these is enabled. So a round gives at most one successor, all
//! work-items of a group run the same round at the same time, and there is one place in the
//! kernel where successors are stored. `chain_fire` is the same for what a process does within
//! [chains](stubborn_ir::chain). Short texts spell these choices out; for long ones,
//! there are [tables](shapes).
//!
//! What fails sets a flag, and the code runs on to its end with whatever values it has: they
//! are thrown away. Which of several failures came first is not known on the card. Nobody needs
//! it there: the host asks the reference execution about steps that went wrong.

mod expressions;
mod sets;
mod shapes;
mod statements;

use std::fmt::Write;

use stubborn_ir::{BinaryOp, Expr, Model, Program, VariablePlace};
use stubborn_search::Target;
use stubborn_system::{FailureKind, LabelId};

use crate::packing::Packing;
use crate::watch::Watch;
use crate::{Asked, Refusal};
use expressions::Source;

/// Most words of a state.
const MOST_WORDS: usize = 64;
/// Most commands; compilers of cards are slow.
const MOST_COMMANDS: usize = 4_000;
/// From so many bytes of commands on, compiling takes longer than most searches.
const LONG_TEXT: usize = 76 << 10;
/// Longest text.
const LONGEST_TEXT: usize = 4 << 20;
/// Most targets: their numbers are bits of a word.
const MOST_TARGETS: usize = 32;
/// Most locations or processes that the code distinguishes.
const MOST_PROCESSES: usize = 250;

/// Commands of which at most one is enabled, by where the processes are.
#[derive(Clone, Debug)]
enum Slot {
    One(u32),
    /// By the location of a second process.
    ByPartner(usize, Vec<(u32, u32)>),
}

/// A round.
#[derive(Clone, Debug)]
enum Round {
    /// A command that is bound to no location.
    Free(u32),
    /// A process, and what it may do by its location.
    Process(usize, Vec<(u32, Slot)>),
}

impl Round {
    /// Whether some command of it does not end its transition.
    fn continues(&self, program: &Program) -> bool {
        let continues = |at: &u32| program.commands[*at as usize].continues.is_some();
        match self {
            Round::Free(at) => continues(at),
            Round::Process(_, locations) => locations.iter().any(|(_, slot)| match slot {
                Slot::One(at) => continues(at),
                Slot::ByPartner(_, by) => by.iter().any(|(_, at)| continues(at)),
            }),
        }
    }
}

/// How commands are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// By choices in the code, which has each command where it is needed: fastest on the card.
    Out,
    /// By tables: compiled much sooner where there are many commands.
    Tables,
}

impl Spelling {
    /// What pays for a text of so many bytes.
    fn of(length: usize) -> Self {
        match length < LONG_TEXT {
            true => Self::Out,
            false => Self::Tables,
        }
    }
}

/// The text of a program, and what a kernel must know of it.
#[derive(Clone, Debug)]
pub(crate) struct Translation {
    pub(crate) packing: Packing,
    /// Definitions for the kernels, and functions.
    pub(crate) text: String,
    pub(crate) targets: Vec<Target>,
    /// How many rounds a state takes.
    pub(crate) rounds: usize,
}

/// Translates a model for a search for `targets`, or says why that cannot be done.
pub(crate) fn translate(
    model: &Model,
    packing: Packing,
    asked: &Asked,
) -> Result<Translation, Refusal> {
    let (program, targets) = (model.program(), &asked.targets[..]);
    if packing.words > MOST_WORDS {
        let bits = packing.bits;
        return Err(Refusal::new(format!(
            "a state has {bits} bits, too many for a work-group's memory"
        )));
    }
    if program.commands.len() > MOST_COMMANDS {
        return Err(Refusal::new(format!(
            "the model has {} commands, too many to compile for a card",
            program.commands.len()
        )));
    }
    if targets.len() > MOST_TARGETS {
        return Err(Refusal::new(format!(
            "there are {} questions, too many at once",
            targets.len()
        )));
    }
    if program.processes.len() > MOST_PROCESSES {
        return Err(Refusal::new(format!(
            "the model has {} processes, too many for a card",
            program.processes.len()
        )));
    }
    let rounds = rounds(model);
    let mut out = Source::new(model, &packing);
    let has_chains = program
        .commands
        .iter()
        .any(|command| command.continues.is_some());
    let chains = match has_chains {
        true => chains(model),
        false => Vec::new(),
    };
    let all: Vec<&Round> = rounds.iter().flat_map(|(_, rounds)| rounds).collect();
    for round in all.iter().copied().chain(chains.iter().flatten()) {
        commands(&mut out, round)?;
    }
    // How often the code of a command is there if it is spelled out.
    let copies = 1 + 2 * usize::from(has_chains) + usize::from(asked.sets.is_some());
    let length = out.commands.values().map(String::len).sum::<usize>() * copies;
    let by_tables = match asked.spelling.unwrap_or_else(|| Spelling::of(length)) {
        Spelling::Out => None,
        Spelling::Tables => shapes::by_tables(&out, &all, &chains),
    };
    let is_by_tables = by_tables.is_some();
    let body = by_tables.unwrap_or_else(|| spelled_out(&out, &all, &chains));
    let mut labels = label_functions(&mut out, model, targets)?;
    if let Some(sets) = &asked.sets {
        labels += &sets::functions(&mut out, model, sets)?;
    }
    let watch = asked.watch.as_ref();
    if let Some(watch) = watch {
        labels += &watch_functions(&mut out, model, watch)?;
    }
    let mut text = String::new();
    let define = |text: &mut String, name: &str, value: usize| {
        let _ = writeln!(text, "#define {name} {value}");
    };
    define(&mut text, "W", packing.words);
    define(
        &mut text,
        "ROUNDS",
        rounds.iter().map(|(_, class)| class.len()).sum(),
    );
    define(&mut text, "TARGETS", targets.len());
    if has_chains {
        define(&mut text, "CHAINS", 1);
        let all = rounds.iter().flat_map(|(_, rounds)| rounds);
        let starts: Vec<&str> = all
            .map(|round| if round.continues(program) { "1" } else { "0" })
            .collect();
        let _ = writeln!(
            text,
            "__constant uchar chain_round[] = {{ {}, 0 }};",
            starts.join(", ")
        );
    }
    if let [earlier @ .., _] = &rounds[..]
        && !earlier.is_empty()
    {
        // The rounds at which a new class of priorities begins.
        let mut first = 0;
        let starts = earlier.iter().map(|(_, class)| {
            first += class.len();
            format!("(r)=={first}")
        });
        let starts: Vec<String> = starts.collect();
        let _ = writeln!(text, "#define NEW_CLASS(r) ({})", starts.join("||"));
    }
    text += "typedef struct { ulong w[W]; } State;\n\
             static bool same(const State* a, const State* b) { ulong d = 0; \
             for (uint k = 0; k < W; k++) d |= a->w[k] ^ b->w[k]; return d == 0; }\n";
    let called = match is_by_tables {
        true => "static __attribute__((noinline))",
        false => "static",
    };
    let _ = writeln!(text, "#define CALLED {called}");
    if has_chains {
        let counts: Vec<String> = chains
            .iter()
            .map(|rounds| rounds.len().to_string())
            .collect();
        let _ = writeln!(
            text,
            "__constant uint chain_rounds[] = {{ {} }};",
            counts.join(", ")
        );
    }
    text += &out.finish();
    text += &body;
    text += &labels;
    if text.len() > LONGEST_TEXT {
        return Err(Refusal::new(format!(
            "its code has {} MiB, too much to compile for a card",
            text.len() >> 20
        )));
    }
    let rounds: usize = rounds.iter().map(|(_, class)| class.len()).sum();
    let rounds = watch.map_or(rounds, |watch| (rounds + 1) * watch.most_moves());
    Ok(Translation {
        packing,
        text,
        targets: targets.to_vec(),
        rounds,
    })
}

/// The rounds of each priority, smallest number first.
fn rounds(model: &Model) -> Vec<(u8, Vec<Round>)> {
    let program = model.program();
    let mut priorities: Vec<u8> = program.commands.iter().map(|c| c.priority).collect();
    priorities.sort_unstable();
    priorities.dedup();
    let of = |priority: u8| {
        let chosen = |at: &u32| program.commands[*at as usize].priority == priority;
        let mut rounds: Vec<Round> = model
            .free_commands()
            .filter(chosen)
            .map(Round::Free)
            .collect();
        for (process, locations) in starts(model) {
            let slots = locations
                .into_iter()
                .map(|(location, range)| (location, slots(program, range.filter(chosen))));
            rounds.extend(by_slot(process, slots.collect()));
        }
        (priority, rounds)
    };
    priorities.into_iter().map(of).collect()
}

type Starts = Vec<(usize, Vec<(u32, std::ops::Range<u32>)>)>;

/// For each process that starts commands: which ones, by location.
fn starts(model: &Model) -> Starts {
    let counters = model.commands_by_location().iter();
    let starts = counters.filter_map(|(field, locations)| {
        let own = |process: &stubborn_ir::ProgramProcess| {
            model.encoding().first_field(process.counter) == *field
        };
        let process = model.program().processes.iter().position(own)?;
        let locations = (0..).zip(locations.iter().cloned());
        Some((
            process,
            locations.filter(|(_, range)| !range.is_empty()).collect(),
        ))
    });
    starts.collect()
}

/// Puts commands of one location into as few slots as where others are allows.
fn slots(program: &Program, commands: impl Iterator<Item = u32>) -> Vec<Slot> {
    let mut slots: Vec<Slot> = Vec::new();
    for at in commands {
        let command = &program.commands[at as usize];
        let (Some(partner), Some(Some(location))) =
            (command.processes.get(1), command.sources.get(1))
        else {
            slots.push(Slot::One(at));
            continue;
        };
        let partner = partner.index();
        let fits = slots.iter_mut().find_map(|slot| match slot {
            Slot::ByPartner(other, by)
                if *other == partner && by.iter().all(|(l, _)| l != location) =>
            {
                Some(by)
            }
            _ => None,
        });
        match fits {
            Some(by) => by.push((*location, at)),
            None => slots.push(Slot::ByPartner(partner, vec![(*location, at)])),
        }
    }
    slots
}

/// The rounds of a process: the first slot of every location, then the second, and so on.
fn by_slot(process: usize, mut locations: Vec<(u32, Vec<Slot>)>) -> Vec<Round> {
    let most = locations
        .iter()
        .map(|(_, slots)| slots.len())
        .max()
        .unwrap_or(0);
    locations.iter_mut().for_each(|(_, slots)| slots.reverse());
    let round = |_| {
        let next = locations
            .iter_mut()
            .filter_map(|(location, slots)| Some((*location, slots.pop()?)));
        Round::Process(process, next.collect())
    };
    (0..most).map(round).collect()
}

/// Writes the code of all commands of a round.
fn commands(out: &mut Source<'_>, round: &Round) -> Result<(), Refusal> {
    match round {
        Round::Free(at) => out.command(*at, &[]),
        Round::Process(process, locations) => {
            let mut each = locations.iter();
            each.try_for_each(|(location, slot)| match slot {
                Slot::One(at) => out.command(*at, &[(*process, *location)]),
                Slot::ByPartner(partner, by) => by.iter().try_for_each(|(there, at)| {
                    out.command(*at, &[(*process, *location), (*partner, *there)])
                }),
            })
        }
    }
}

/// `fire` and `chain_fire`, with the code of each command where it is needed.
fn spelled_out(out: &Source<'_>, rounds: &[&Round], chains: &[Vec<Round>]) -> String {
    let mut text = String::from(
        "static uint fire(const uint r, const State* s, State* x, uint* c) {\n  switch (r) {\n",
    );
    for (nr, round) in rounds.iter().enumerate() {
        spell_round(out, nr, round, &mut text);
    }
    text += "  }\n  return 0;\n}\n";
    if chains.is_empty() {
        return text;
    }
    text += "static uint chain_fire(const uint p, const uint r, const State* s, State* x, uint* c) {\n  switch (p) {\n";
    for (process, rounds) in chains.iter().enumerate().filter(|(_, r)| !r.is_empty()) {
        let _ = writeln!(text, "  case {process}: switch (r) {{");
        for (nr, round) in rounds.iter().enumerate() {
            spell_round(out, nr, round, &mut text);
        }
        text += "  } break;\n";
    }
    text += "  }\n  return 0;\n}\n";
    text
}

/// A round as a case: a choice by the location of a process.
fn spell_round(out: &Source<'_>, nr: usize, round: &Round, text: &mut String) {
    let command = |at: &u32| format!("  *c = {at}u;\n{}", out.commands[at]);
    let _ = writeln!(text, "  case {nr}: {{");
    match round {
        Round::Free(at) => *text += &command(at),
        Round::Process(process, locations) => {
            let _ = writeln!(text, "  switch ({}) {{", out.location(*process, "s"));
            for (location, slot) in locations {
                let _ = writeln!(text, "  case {location}: {{");
                match slot {
                    Slot::One(at) => *text += &command(at),
                    Slot::ByPartner(partner, by) => {
                        let _ = writeln!(text, "  switch ({}) {{", out.location(*partner, "s"));
                        for (there, at) in by {
                            let _ =
                                write!(text, "  case {there}: {{\n{}  }} break;\n", command(at));
                        }
                        *text += "  }\n";
                    }
                }
                *text += "  } break;\n";
            }
            *text += "  }\n";
        }
    }
    *text += "  } break;\n";
}

/// What each process can do where chains may get to.
fn chains(model: &Model) -> Vec<Vec<Round>> {
    let program = model.program();
    let inside = stubborn_ir::chain::continuations(program);
    let mut chains = vec![Vec::new(); program.processes.len()];
    for (process, locations) in starts(model) {
        let Some(reached) = inside.get(&stubborn_system::ProcessId::new(process)) else {
            continue;
        };
        let reached = |location: &u32| reached.as_ref().is_none_or(|r| r.contains(location));
        let here = locations
            .into_iter()
            .filter(|(location, _)| reached(location));
        let own = here.map(|(location, range)| {
            let first = range.filter(|at| program.commands[*at as usize].priority == 0);
            (location, slots(program, first))
        });
        chains[process] = by_slot(process, own.collect());
    }
    chains
}

/// Functions for what is looked for in states.
fn label_functions(
    out: &mut Source<'_>,
    model: &Model,
    targets: &[Target],
) -> Result<String, Refusal> {
    let program = model.program();
    let mut text = String::new();
    let holds = |label, out: &mut Source<'_>| label_body(out, program, label);
    text += "static int valid_end(const State* s) ";
    text += &match program.valid_end {
        Some(label) => holds(label, out)?,
        None => "{ return 0; }\n".into(),
    };
    let mut bits = String::new();
    let (mut ends, mut invalid, mut errors, mut assertions) = (0_u32, 0_u32, 0_u32, 0_u32);
    for (nr, target) in targets.iter().enumerate() {
        let bit = 1_u32 << nr;
        match target {
            Target::Deadlock => ends |= bit,
            Target::InvalidEnd => invalid |= bit,
            Target::Errors => errors |= bit,
            Target::Assertions => assertions |= bit,
            Target::Label(label) => {
                let _ = write!(text, "static int label{nr}(const State* s) ");
                text += &holds(*label, out)?;
                let _ = write!(bits, " if (label{nr}(s)) hit |= {bit}u;");
            }
        }
    }
    let _ = writeln!(
        text,
        "static uint labels_hit(const State* s) {{ uint hit = 0;{bits} return hit; }}"
    );
    for (name, mask) in [
        ("DEADLOCK", ends),
        ("INVALID_END", invalid),
        ("ERRORS", errors),
        ("ASSERTIONS", assertions),
    ] {
        let _ = writeln!(text, "#define TARGET_{name} {mask}u");
    }
    Ok(text)
}

/// The body of a function that says whether a label holds.
fn label_body(out: &mut Source<'_>, program: &Program, label: LabelId) -> Result<String, Refusal> {
    let value = out.expression(&program.labels[label.index()].expr, "s")?;
    Ok(format!(
        "{{ uint bad = 0; int v = {value}; return v != 0 || bad != 0; }}\n"
    ))
}

/// Functions for the automaton of a product: its state, and where it can go from there.
fn watch_functions(out: &mut Source<'_>, model: &Model, watch: &Watch) -> Result<String, Refusal> {
    let program = model.program();
    let mut text = format!(
        "#define PRODUCT\n#define MOVES {}u\n#define STUTTERS {}\n#define ACCEPTING {:#x}ul\n",
        watch.most_moves(),
        u32::from(watch.stutters()),
        watch.accepting(),
    );
    let Some(VariablePlace::Scalar(field)) = model.encoding().variables.last().copied() else {
        return Err(Refusal::new("the automaton has no place in a state"));
    };
    let spot = out.packing.spot(field);
    let _ = writeln!(
        text,
        "static uint watcher(const State* s) {{ return {}; }}",
        out.raw(field, "s")
    );
    let (word, mask, shift) = (spot.word, spot.mask() << spot.shift, spot.shift);
    let _ = writeln!(
        text,
        "static void set_watcher(State* x, const uint q) {{ \
         x->w[{word}] = x->w[{word}] & ~{mask:#x}ul | ((ulong)q << {shift} & {mask:#x}ul); }}",
    );
    for (at, label) in watch.labels().iter().enumerate() {
        let _ = write!(text, "static int proposition{at}(const State* s) ");
        text += &label_body(out, program, *label)?;
    }
    text += "static ulong moves(const State* s) { ulong to = 0; switch (watcher(s)) {\n";
    for (from, edges) in watch.edges()?.iter().enumerate() {
        let _ = write!(text, "  case {from}: {{");
        let mut used: Vec<u32> = edges
            .iter()
            .flat_map(|(cubes, _)| cubes.iter().flatten().map(|(p, _)| *p))
            .collect();
        used.sort_unstable();
        used.dedup();
        for p in used {
            let _ = write!(text, " const bool p{p} = proposition{p}(s) != 0;");
        }
        for (cubes, target) in edges {
            let cube = |cube: &stubborn_ltl::guard::Cube| {
                let literal = |(p, value): &(u32, bool)| match value {
                    true => format!("p{p}"),
                    false => format!("!p{p}"),
                };
                let literals: Vec<String> = cube.iter().map(literal).collect();
                match literals.is_empty() {
                    true => "true".into(),
                    false => format!("({})", literals.join("&&")),
                }
            };
            let any: Vec<String> = cubes.iter().map(cube).collect();
            let _ = write!(
                text,
                " if ({}) to |= {:#x}ul;",
                any.join("||"),
                1_u64 << target
            );
        }
        text += " } break;\n";
    }
    text += "  }\n  return to;\n}\n";
    Ok(text)
}

/// How a place of failure is told on the card: 1 for assertions, 2 for everything else.
fn kind(program: &Program, site: stubborn_ir::Site) -> u32 {
    match program.failures[site.index()].kind {
        FailureKind::Assertion => 1,
        _ => 2,
    }
}

/// Whether a guard says only that a process is where it is known to be.
fn is_known(program: &Program, guard: &Expr, known: &[(usize, u32)]) -> bool {
    let Expr::Binary(BinaryOp::Equal, left, right) = guard else {
        return false;
    };
    let (Expr::Var(variable), Expr::Const(value)) = (&**left, &**right) else {
        return false;
    };
    let says = |(process, location): &(usize, u32)| {
        program.processes[*process].counter == *variable
            && i64::from(*location) == i64::from(*value)
    };
    known.iter().any(says)
}
