//! SPIN's trails: which process took which step, line by line.
//!
//! A line is `depth:process:step`, the step being the number of the statement over the whole
//! model. A rendez-vous is two lines, an atomic sequence one line a statement. The numbers are
//! those of `spin -a -o3` (no merging of statements); `spin -t` replays them as they are.
//!
//! Where a never claim follows the run, it is named first. It is process 0 then, all others have
//! numbers one higher, and it moves before each step, and for ever where the run has ended.

mod claim;

use std::fmt::Write;

use stubborn_ir::interpreter::Interpreter;
use stubborn_system::{Outcome, Successors, System, TransitionId};

pub use self::claim::ClaimRun;
use crate::Loaded;
use crate::hir::ProcId;

/// One transition of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The transition; inside a trail that was read, a single command of a chain.
    pub transition: TransitionId,
    /// What is wrong with it, if something is.
    pub outcome: Outcome,
    /// The state it leads to.
    pub state: Vec<u32>,
}

/// Why a trail cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrailError {
    /// It is no trail, or not of this model.
    Wrong {
        /// Line of the trail, counted from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// The model was not prepared for a process that is started: go on with
    /// [`Loaded::grown`].
    Outgrown(Outcome),
}

impl std::fmt::Display for TrailError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Wrong { line, message } => write!(f, "line {line} of the trail: {message}"),
            Self::Outgrown(_) => f.write_str("the trail starts a process that was not foreseen"),
        }
    }
}

impl std::error::Error for TrailError {}

/// The line before the part of a trail that repeats.
const CYCLE: &str = "-1:-1:-1\n";

/// A statement of a command: process, its type, number of the step within the type.
type Part = (usize, ProcId, usize);

impl Loaded {
    /// Number of the first step of each process type, over the whole model.
    fn first_numbers(&self) -> Vec<usize> {
        let sizes = self.program.processes.iter().map(|p| p.flow.size);
        sizes
            .scan(0, |sum, size| {
                *sum += size;
                Some(*sum - size)
            })
            .collect()
    }

    /// The lines of a command: process and number of the step.
    fn lines(&self, first: &[usize], command: TransitionId) -> Vec<(usize, usize)> {
        let parts = &self.lowered.steps[command.index()].parts;
        parts
            .iter()
            .map(|(pid, kind, number)| (*pid, first[kind.0] + number))
            .collect()
    }

    /// A run from the initial state as a trail; `cycle` is the number of steps before the part
    /// that repeats, if the run is endless. With `claim`, which follows that run, its moves are in it.
    pub fn write_trail(
        &self,
        run: &[Step],
        cycle: Option<usize>,
        claim: Option<&ClaimRun>,
    ) -> String {
        let mut writer = Writer {
            loaded: self,
            run,
            first: self.first_numbers(),
            initial: self.model.initial_states(),
            interpreter: Interpreter::new(&self.model),
            text: String::new(),
            depth: 0,
        };
        let Some(claim) = claim else {
            for at in 0..run.len() {
                if cycle == Some(at) {
                    writer.text += CYCLE;
                }
                writer.step(at, 0);
            }
            return writer.text;
        };
        let process = claim.process.0;
        let _ = writeln!(writer.text, "-2:{process}:-2");
        for (at, (statements, step)) in claim.moves.iter().enumerate() {
            if claim.cycle == Some(at) {
                writer.text += CYCLE;
            }
            for statement in statements {
                writer.line(0, writer.first[process] + statement);
            }
            if let Some(step) = step {
                writer.step(*step, 1);
            }
        }
        writer.text
    }

    /// Follows a trail from the initial state, command by command; with the number of steps before the part
    /// that repeats, where the trail has SPIN's mark of a cycle.
    ///
    /// Trails of SPIN's default, which leave merged statements out, and trails with moves of a
    /// claim, which are not followed, are understood too.
    ///
    /// # Errors
    /// If a line is no step of this model, or not possible where it stands.
    pub fn read_trail(&self, text: &str) -> Result<(Vec<Step>, Option<usize>), TrailError> {
        let trail = Lines::read(text)?;
        let mut follower = Follower {
            first: self.first_numbers(),
            interpreter: Interpreter::new(&self.model),
            state: self.model.initial_states(),
            found: Successors::new(self.model.initial_states().len()),
            loaded: self,
            trail: &trail,
        };
        let mut run = Vec::new();
        let mut at = 0;
        // The process that goes on without a line of its own.
        let mut goes_on = None;
        let mut cycle = None;
        while at < trail.steps.len() || goes_on.is_some() {
            if cycle.is_none() && trail.cycle.is_some_and(|mark| at >= mark) {
                cycle = Some(run.len());
            }
            let Some((transition, taken, next)) = follower.next(at, goes_on) else {
                let last = trail.steps.len().saturating_sub(1);
                let (line, (pid, number)) = trail.steps[at.min(last)];
                let message = format!("process {pid} cannot take step {number} here");
                return Err(TrailError::Wrong { line, message });
            };
            let outcome = follower.found.outcome(0);
            if self.lowered.missing(outcome).is_some() {
                return Err(TrailError::Outgrown(outcome));
            }
            follower.state = follower.found.state(0).to_vec();
            run.push(Step {
                transition,
                outcome,
                state: follower.state.clone(),
            });
            at += taken;
            goes_on = next;
        }
        Ok((run, cycle))
    }

    /// Whether SPIN, merging statements, leaves the statement after this one out of its trails.
    fn merges(&self, (_, kind, number): Part) -> bool {
        let states = &self.program.processes[kind.0].flow.states;
        let own = states.get(number + 1).map(|s| s.transitions.as_slice());
        own.is_some_and(|steps| steps.iter().any(|t| t.number == number && t.merges))
    }
}

/// A trail that grows.
struct Writer<'a> {
    loaded: &'a Loaded,
    run: &'a [Step],
    first: Vec<usize>,
    initial: Vec<u32>,
    interpreter: Interpreter<'a>,
    text: String,
    depth: usize,
}

impl Writer<'_> {
    fn line(&mut self, pid: usize, number: usize) {
        self.depth += 1;
        let _ = writeln!(self.text, "{}:{pid}:{number}", self.depth);
    }

    /// The lines of a step of the run, whose processes have numbers so much higher.
    fn step(&mut self, at: usize, higher: usize) {
        let run = self.run;
        let before = at.checked_sub(1).map_or(&self.initial, |at| &run[at].state);
        let after = (run[at].state.as_slice(), run[at].outcome);
        for command in self.interpreter.explain(before, run[at].transition, after) {
            for (pid, number) in self.loaded.lines(&self.first, command) {
                self.line(pid + higher, number);
            }
        }
    }
}

/// A walk along a trail.
struct Follower<'a> {
    loaded: &'a Loaded,
    trail: &'a Lines,
    first: Vec<usize>,
    interpreter: Interpreter<'a>,
    state: Vec<u32>,
    found: Successors,
}

impl Follower<'_> {
    /// The enabled command that the trail goes on with from line `at`, how many lines it takes,
    /// and who has to go on after it.
    fn next(
        &mut self,
        at: usize,
        goes_on: Option<usize>,
    ) -> Option<(TransitionId, usize, Option<usize>)> {
        let loaded = self.loaded;
        for range in loaded.model.candidates(&self.state) {
            for command in range {
                let transition = TransitionId::new(command as usize);
                let parts = &loaded.lowered.steps[transition.index()].parts;
                let Some((taken, next)) = self.fits(parts, at, goes_on) else {
                    continue;
                };
                self.found.clear();
                self.interpreter
                    .fire_once(&self.state, transition, &mut self.found);
                if !self.found.is_empty() {
                    return Some((transition, taken, next));
                }
            }
        }
        None
    }

    /// Whether the statements of a command are those of the trail; see [`Self::next`].
    fn fits(
        &self,
        parts: &[Part],
        at: usize,
        mut goes_on: Option<usize>,
    ) -> Option<(usize, Option<usize>)> {
        let mut taken = 0;
        for part in parts {
            match goes_on.take() {
                Some(pid) if pid != part.0 => return None,
                Some(_) => {}
                None => {
                    // A trail may end within the statements of the last command.
                    if let Some((_, line)) = self.trail.steps.get(at + taken) {
                        if *line != (part.0, self.first[part.1.0] + part.2) {
                            return None;
                        }
                        taken += 1;
                    }
                }
            }
            if self.trail.merged && self.loaded.merges(*part) {
                goes_on = Some(part.0);
            }
        }
        (!parts.is_empty()).then_some((taken, goes_on))
    }
}

/// A trail as it was written.
struct Lines {
    /// Line, and process and number of the step.
    steps: Vec<(usize, (usize, usize))>,
    /// Merged statements are left out.
    merged: bool,
    /// How many steps there are before the cycle, if one is marked.
    cycle: Option<usize>,
}

impl Lines {
    fn read(text: &str) -> Result<Self, TrailError> {
        let mut lines = Self {
            steps: Vec::new(),
            merged: false,
            cycle: None,
        };
        let mut claim = false;
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            claim |= line.starts_with("-2:");
            lines.merged |= line.starts_with("-4:");
            if line.starts_with("-1:") {
                lines.cycle = Some(lines.steps.len());
            }
            if line.is_empty() || line.starts_with('-') {
                continue;
            }
            let mut numbers = line.split(':').map(|n| n.trim().parse::<usize>());
            let (Some(Ok(_)), Some(Ok(pid)), Some(Ok(number)), None) = (
                numbers.next(),
                numbers.next(),
                numbers.next(),
                numbers.next(),
            ) else {
                let message = format!("`{line}` is not of the form depth:process:step");
                let line = at + 1;
                return Err(TrailError::Wrong { line, message });
            };
            // A claim is process 0, and all others have numbers one higher.
            match (claim, pid) {
                (true, 0) => {}
                (true, pid) => lines.steps.push((at + 1, (pid - 1, number))),
                (false, pid) => lines.steps.push((at + 1, (pid, number))),
            }
        }
        Ok(lines)
    }
}
