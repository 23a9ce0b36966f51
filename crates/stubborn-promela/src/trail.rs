//! SPIN's trails: which process took which step, line by line.
//!
//! A line is `depth:process:step`, the step being the number of the statement over the whole
//! model. A rendez-vous is two lines, an atomic sequence one line a statement. The numbers are
//! those of `spin -a -o3` (no merging of statements); `spin -t` replays them as they are.

use std::fmt::Write;

use stubborn_ir::interpreter::Interpreter;
use stubborn_system::{Successors, System, TransitionId};

use crate::Loaded;

/// One transition of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The transition; inside a trail that was read, a single command of a chain.
    pub transition: TransitionId,
    /// The state it leads to.
    pub state: Vec<u32>,
}

/// Why a trail cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrailError {
    /// Line of the trail, counted from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

impl std::fmt::Display for TrailError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {} of the trail: {}", self.line, self.message)
    }
}

impl std::error::Error for TrailError {}

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
    /// that repeats, if the run is endless.
    pub fn write_trail(&self, run: &[Step], cycle: Option<usize>) -> String {
        let first = self.first_numbers();
        let mut interpreter = Interpreter::new(&self.model);
        let mut text = String::new();
        let mut depth = 0;
        let mut state = self.model.initial_states();
        for (at, step) in run.iter().enumerate() {
            if cycle == Some(at) {
                text.push_str("-1:-1:-1\n");
            }
            for command in interpreter.explain(&state, step.transition, &step.state) {
                for (pid, number) in self.lines(&first, command) {
                    depth += 1;
                    let _ = writeln!(text, "{depth}:{pid}:{number}");
                }
            }
            state.clone_from(&step.state);
        }
        text
    }

    /// Follows a trail from the initial state, command by command.
    ///
    /// # Errors
    /// If a line is no step of this model, or not possible where it stands.
    pub fn read_trail(&self, text: &str) -> Result<Vec<Step>, TrailError> {
        let first = self.first_numbers();
        let mut interpreter = Interpreter::new(&self.model);
        let mut state = self.model.initial_states();
        let mut found = Successors::new(state.len());
        let mut run = Vec::new();
        let lines = numbered_lines(text)?;
        let mut at = 0;
        while at < lines.len() {
            let mut next = None;
            'commands: for range in self.model.candidates(&state) {
                for command in range {
                    let transition = TransitionId::new(command as usize);
                    let own = self.lines(&first, transition);
                    // A trail may end within the statements of the last command.
                    let matches = own
                        .iter()
                        .zip(&lines[at..])
                        .all(|(part, (_, line))| line == part);
                    if !matches || own.is_empty() {
                        continue;
                    }
                    found.clear();
                    interpreter.fire_once(&state, transition, &mut found);
                    if !found.is_empty() {
                        next = Some((transition, own.len()));
                        break 'commands;
                    }
                }
            }
            let (line, (pid, number)) = lines[at];
            let Some((transition, taken)) = next else {
                let message = format!("process {pid} cannot take step {number} here");
                return Err(TrailError { line, message });
            };
            state = found.state(0).to_vec();
            run.push(Step {
                transition,
                state: state.clone(),
            });
            at += taken;
        }
        Ok(run)
    }
}

/// The steps of a trail, each with its line. Marks such as `-4:-4:-4` are left out.
#[allow(clippy::type_complexity)]
fn numbered_lines(text: &str) -> Result<Vec<(usize, (usize, usize))>, TrailError> {
    let mut lines = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
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
            return Err(TrailError {
                line: at + 1,
                message,
            });
        };
        lines.push((at + 1, (pid, number)));
    }
    Ok(lines)
}
