//! A run as a message sequence chart: processes side by side, time downwards.
//!
//! A message is drawn where it is delivered. What was sent and never delivered stands at the end.

use std::fmt;

use stubborn_search::Trace;
use stubborn_system::{Outcome, System};

use crate::model::{Core, Inner, Model, Role};
use crate::moves::Move;
use crate::value::{Pid, Value, with_names};

/// What happens in one step.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    process: Pid,
    /// Handler, or what else happens.
    what: String,
    /// Delivered messages: from whom, and what.
    delivered: Vec<(Pid, String)>,
    /// The message is lost instead.
    lost: bool,
    /// The local state afterwards, if it is another one.
    state: Option<String>,
}

/// What was sent, received and done along a run, in the order of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chart {
    processes: Vec<String>,
    rows: Vec<Row>,
    /// Messages on their way at the end: sender, receiver, text.
    pending: Vec<(Pid, Pid, String)>,
    /// The row from which the run repeats for ever.
    cycle: Option<usize>,
    /// Operations of the record, in the order in which they began.
    operations: Vec<Operation>,
}

/// An operation of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Operation {
    client: Pid,
    text: String,
    /// Steps after which it had begun, and was over.
    begun: usize,
    over: Option<usize>,
}

/// The operations in the record along a run. The same operation has the same number among those of
/// its client all the time.
fn operations(inner: &Inner, trace: &Trace) -> Vec<Operation> {
    let Some(draw) = inner
        .protocol
        .history
        .as_ref()
        .and_then(|h| h.draw.as_ref())
    else {
        return Vec::new();
    };
    let mut found: Vec<(usize, Operation)> = Vec::new();
    for number in 0..=trace.len() {
        let Some(record) = inner.record(trace.state(number)) else {
            continue;
        };
        let mut counts = vec![0; inner.protocol.processes.len()];
        for drawn in with_names(&inner.names, || draw((*record.0).as_any())) {
            let at = counts[drawn.client.index()];
            counts[drawn.client.index()] += 1;
            let is_it = |(n, o): &&mut (usize, Operation)| *n == at && o.client == drawn.client;
            let known = found.iter_mut().find(is_it).map(|(_, operation)| operation);
            let operation = match known {
                Some(operation) => operation,
                None => {
                    found.push((
                        at,
                        Operation {
                            client: drawn.client,
                            text: drawn.operation,
                            begun: number,
                            over: None,
                        },
                    ));
                    &mut found.last_mut().expect("just added").1
                }
            };
            if let (None, Some(answer)) = (operation.over, &drawn.answer) {
                operation.over = Some(number);
                operation.text.push_str(&format!(" gives {answer}"));
            }
        }
    }
    found.into_iter().map(|(_, operation)| operation).collect()
}

impl Chart {
    /// The chart of a run of a model.
    pub fn new<M: Value>(model: &Model<M>, trace: &Trace) -> Self {
        Self::of(&model.core, trace)
    }

    pub(crate) fn of(model: &Core, trace: &Trace) -> Self {
        let inner = &model.inner;
        let text = |message: u32| inner.message_text(message);
        let mut rows = Vec::new();
        for step in trace.steps() {
            let number = step.transition.index();
            let action = &inner.actions[number];
            let p = action.process;
            let at = 2 * p.index();
            let moves = inner.moves(p, step.before[at], step.before[at + 1]);
            let is_it = |m: &&Move| {
                m.action as usize == number
                    && m.local == step.after[at]
                    && leads_to(model, m, step.before, step.after)
            };
            let own = || moves.iter().filter(|m| m.action as usize == number);
            let taken = moves.iter().find(is_it).or_else(|| own().next());
            let delivered = taken.iter().flat_map(|m| &m.consumed);
            let changed = step.before[at] != step.after[at] && step.outcome == Outcome::FINE;
            rows.push(Row {
                process: p,
                what: match &action.role {
                    Role::Handler { handler, .. } => inner.protocol.handlers[*handler].name.clone(),
                    Role::Lose => "lost".into(),
                    Role::Crash => "crashes".into(),
                    Role::Recover => "comes back".into(),
                },
                delivered: delivered.map(|d| (d.from, text(d.message))).collect(),
                lost: action.role == Role::Lose,
                state: changed.then(|| inner.local_text(p, step.after[at])),
            });
        }
        let last = trace.last_state();
        let is_error = model.structure().error_state.as_deref() == Some(last);
        let mut pending = Vec::new();
        for p in (0..inner.protocol.processes.len()).filter(|_| !is_error) {
            for parcel in inner.inboxes.get(last[2 * p + 1]) {
                pending.push((parcel.from, Pid(p as u16), text(parcel.message)));
            }
        }
        pending.sort();
        Self {
            processes: inner
                .protocol
                .processes
                .iter()
                .map(|p| p.name.clone())
                .collect(),
            rows,
            pending,
            cycle: trace.cycle_start(),
            operations: operations(inner, trace),
        }
    }

    /// For each step of the run the messages that it delivers: from whom, to whom, what.
    pub fn deliveries(&self) -> impl Iterator<Item = Vec<(Pid, Pid, &str)>> + '_ {
        self.rows.iter().map(|row| {
            let delivered = row.delivered.iter();
            let delivered = delivered.map(|(from, text)| (*from, row.process, text.as_str()));
            delivered.collect()
        })
    }

    /// As a picture.
    pub fn svg(&self) -> String {
        crate::svg::draw(self)
    }

    pub(crate) fn processes(&self) -> &[String] {
        &self.processes
    }

    /// For each row: process, note, and delivered messages.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (Pid, String, &[(Pid, String)])> + '_ {
        self.rows.iter().enumerate().map(|(number, row)| {
            let mut note = format!(
                "{}. {}: {}",
                number + 1,
                self.processes[row.process.index()],
                row.what
            );
            if let Some(state) = &row.state {
                note.push_str(&format!(", now {state}"));
            }
            if self.cycle == Some(number) {
                note.push_str("   <- from here for ever");
            }
            (row.process, note, row.delivered.as_slice())
        })
    }
}

/// Whether a move changes the words of processes in this way.
fn leads_to(model: &Core, step: &Move, before: &[u32], after: &[u32]) -> bool {
    let mut expected = before.to_vec();
    model.inner.apply(step, &mut expected);
    let words = 2 * model.inner.protocol.processes.len();
    expected[..words] == after[..words]
}

impl fmt::Display for Chart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.processes.iter().map(|p| p.chars().count()).max();
        let width = width.unwrap_or(0).max(10) + 4;
        let column = |p: Pid| p.index() * width + width / 2;
        let total = self.processes.len() * width;
        for name in &self.processes {
            write!(f, "{name:^width$}")?;
        }
        writeln!(f)?;
        let lifelines = || -> Vec<char> {
            let mut line = vec![' '; total];
            for p in 0..self.processes.len() {
                line[column(Pid(p as u16))] = '|';
            }
            line
        };
        let write = |f: &mut fmt::Formatter<'_>, line: Vec<char>, note: &str| {
            let text: String = line.into_iter().collect();
            writeln!(f, "{}", format!("{text}  {note}").trim_end())
        };
        write(f, lifelines(), "")?;
        for ((process, note, delivered), row) in self.lines().zip(&self.rows) {
            for (from, message) in delivered {
                let mut line = lifelines();
                let (a, b) = (column(*from), column(process));
                let (low, high) = (a.min(b), a.max(b));
                for cell in &mut line[low + 1..high.max(low + 1)] {
                    *cell = if row.lost { '.' } else { '-' };
                }
                let head = if row.lost {
                    'x'
                } else if a < b {
                    '>'
                } else {
                    '<'
                };
                if a < b {
                    line[b - 1] = head;
                } else if b < a {
                    line[b + 1] = head;
                }
                // The text goes onto the arrow where it fits, else to the side.
                let room = high.saturating_sub(low + 4);
                let length = message.chars().count();
                if length <= room {
                    let start = low + 2 + (room - length) / 2;
                    for (cell, c) in line[start..].iter_mut().zip(message.chars()) {
                        *cell = c;
                    }
                    write(f, line, "")?;
                } else {
                    write(f, line, message)?;
                }
            }
            let mut line = lifelines();
            line[column(process)] = '*';
            write(f, line, &note)?;
        }
        if !self.pending.is_empty() {
            writeln!(f, "not delivered:")?;
            for (from, to, message) in &self.pending {
                let (from, to) = (&self.processes[from.index()], &self.processes[to.index()]);
                writeln!(f, "  {from} -> {to}: {message}")?;
            }
        }
        self.write_history(f)
    }
}

impl Chart {
    /// A line for each operation, a column for each step.
    fn write_history(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.operations.is_empty() {
            return Ok(());
        }
        writeln!(f, "history:")?;
        let width = self.processes.iter().map(|p| p.chars().count()).max();
        let width = width.unwrap_or(0);
        for operation in &self.operations {
            let mut line = vec!['.'; self.rows.len() + 1];
            let end = operation.over.unwrap_or(self.rows.len());
            line[operation.begun..=end].fill('=');
            line[operation.begun] = '[';
            line[end] = if operation.over.is_some() { ']' } else { '>' };
            let line: String = line.into_iter().collect();
            let client = &self.processes[operation.client.index()];
            writeln!(f, "  {client:width$}  {line}  {}", operation.text)?;
        }
        Ok(())
    }
}
