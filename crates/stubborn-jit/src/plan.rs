//! How the code of a model is cut into functions of bounded size.
//!
//! Compilers are slower than linear on huge functions, so commands are packed into chunks
//! up to a size. Chunks run one after the other, in the order of commands; of a process that fills
//! several, [only those](crate::calls) with commands of its location.

use stubborn_ir::{ChannelRef, Expr, Model, Place, Statement, chain};
use stubborn_system::{FieldId, ProcessId};

/// Largest size of a chunk, in nodes of expressions and statements. (One command may be
/// larger and then is a chunk of its own.)
const CHUNK_SIZE: usize = 3000;
/// Largest size of one command.
const LARGEST_COMMAND: usize = 40_000;
/// Most commands that are worth compiling.
const MOST_COMMANDS: usize = 20_000;
/// Largest size of all commands and labels together.
const LARGEST_MODEL: usize = 4_000_000;
/// Deepest nesting of expressions and statements that is compiled.
const DEEPEST: usize = 1500;
/// Most bytes that a buffer with room for all successors of one state may take.
const LARGEST_BUFFER: usize = 1 << 27;

/// Commands looked at for one location, or always.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The program counter to branch on; `None` for commands that are always looked at.
    pub(crate) counter: Option<FieldId>,
    /// For each location, its commands. A single one without `counter`.
    pub(crate) cases: Vec<Case>,
}

/// The commands of one location.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Case {
    /// Raw value of the program counter.
    pub(crate) location: u32,
    /// Indices of commands, in order.
    pub(crate) commands: Vec<u32>,
}

/// What one successor function does.
pub(crate) type Chunk = Vec<Piece>;

/// How a model is cut into functions.
#[derive(Debug)]
pub(crate) struct Plan {
    /// For each priority that commands have, smallest first: it, and its functions.
    pub(crate) successors: Vec<(u8, Vec<Chunk>)>,
    /// For each process that goes on after some command: the functions for its steps in the
    /// middle of [chains](stubborn_ir::chain).
    pub(crate) chains: Vec<(ProcessId, Vec<Chunk>)>,
    /// Ranges of labels that share one function: the end of each.
    pub(crate) labels: Vec<u32>,
    /// Most successors that a state can have.
    pub(crate) most_successors: usize,
}

impl Plan {
    /// Cuts a model into functions; `None` if it is too large to be worth it.
    pub(crate) fn new(model: &Model) -> Option<Self> {
        use stubborn_system::System;
        let program = model.program();
        if program.commands.len() > MOST_COMMANDS {
            return None;
        }
        let labels: Vec<usize> = program
            .labels
            .iter()
            .map(|label| expr_size(&label.expr, DEEPEST))
            .collect::<Option<_>>()?;
        let commands: Vec<usize> = program
            .commands
            .iter()
            .map(|command| {
                let guards: usize = command.guards.iter().map(|g| labels[g.index()]).sum();
                Some(8 + guards + body_size(&command.body, DEEPEST)?)
            })
            .collect::<Option<_>>()?;
        let total = labels
            .iter()
            .chain(&commands)
            .fold(0_usize, |sum, size| sum.saturating_add(*size));
        let most_successors = model.free_commands().len()
            + model
                .commands_by_location()
                .iter()
                .map(|(_, locations)| locations.iter().map(|r| r.len()).max().unwrap_or(0))
                .sum::<usize>();
        let words = model.layout().words();
        let too_large = total > LARGEST_MODEL
            || commands.iter().any(|size| *size > LARGEST_COMMAND)
            || most_successors.saturating_mul(4 * words + 16) > LARGEST_BUFFER;
        if too_large {
            return None;
        }
        let mut priorities: Vec<u8> = program.commands.iter().map(|c| c.priority).collect();
        priorities.sort_unstable();
        priorities.dedup();
        let successors = priorities
            .into_iter()
            .map(|priority| (priority, chunks(model, priority, &commands)))
            .collect();
        let chains = chain::continuations(program)
            .into_iter()
            .map(|(process, locations)| {
                let counter = program.processes[process.index()].counter;
                let counter = model.encoding().first_field(counter);
                let inside = |location: u32| match &locations {
                    Some(locations) => locations.contains(&location),
                    None => true,
                };
                (process, chain_chunks(model, counter, inside, &commands))
            })
            .collect();
        Some(Self {
            successors,
            chains,
            labels: cut(&labels),
            most_successors,
        })
    }
}

/// Ends of consecutive ranges of about [`CHUNK_SIZE`] each.
fn cut(sizes: &[usize]) -> Vec<u32> {
    let mut ends = Vec::new();
    let mut size = 0;
    for (nr, more) in sizes.iter().enumerate() {
        if size > 0 && size + more > CHUNK_SIZE {
            ends.push(nr as u32);
            size = 0;
        }
        size += more;
    }
    if !sizes.is_empty() {
        ends.push(sizes.len() as u32);
    }
    ends
}

fn chunks(model: &Model, priority: u8, sizes: &[usize]) -> Vec<Chunk> {
    let mut packer = Packer::default();
    let chosen = |range: std::ops::Range<u32>| {
        range.filter(|at| model.program().commands[*at as usize].priority == priority)
    };
    for at in chosen(model.free_commands()) {
        packer.add(None, 0, at, sizes[at as usize]);
    }
    for (counter, locations) in model.commands_by_location() {
        for (location, range) in locations.iter().enumerate() {
            for at in chosen(range.clone()) {
                packer.add(Some(*counter), location as u32, at, sizes[at as usize]);
            }
        }
    }
    packer.finish()
}

/// What a process can do at some locations, by commands of priority 0.
fn chain_chunks(
    model: &Model,
    counter: FieldId,
    inside: impl Fn(u32) -> bool,
    sizes: &[usize],
) -> Vec<Chunk> {
    let mut packer = Packer::default();
    let by_location = model.commands_by_location().iter();
    for (_, locations) in by_location.filter(|(field, _)| *field == counter) {
        for (location, range) in locations.iter().enumerate() {
            let location = location as u32;
            for at in range.clone().filter(|_| inside(location)) {
                if model.program().commands[at as usize].priority == 0 {
                    packer.add(Some(counter), location, at, sizes[at as usize]);
                }
            }
        }
    }
    packer.finish()
}

/// Appends commands to the open chunk and starts a new one when it is full.
#[derive(Default)]
struct Packer {
    done: Vec<Chunk>,
    open: Chunk,
    size: usize,
}

impl Packer {
    fn add(&mut self, counter: Option<FieldId>, location: u32, command: u32, size: usize) {
        let is_full = self.size > 0 && self.size + size > CHUNK_SIZE;
        if is_full || self.is_rest_of_another(counter) {
            self.done.push(std::mem::take(&mut self.open));
            self.size = 0;
        }
        self.size += size;
        let same_piece = self.open.last().is_some_and(|p| p.counter == counter);
        if !same_piece {
            let cases = Vec::new();
            self.open.push(Piece { counter, cases });
        }
        if let Some(piece) = self.open.last_mut() {
            match piece.cases.last_mut() {
                Some(case) if case.location == location => case.commands.push(command),
                _ => piece.cases.push(Case {
                    location,
                    commands: vec![command],
                }),
            }
        }
    }

    /// The open chunk is the end of a process that fills several, and no place for others.
    fn is_rest_of_another(&self, counter: Option<FieldId>) -> bool {
        let of = |piece: Option<&Piece>| piece.and_then(|piece| piece.counter);
        let rest = of(self.open.first())
            .filter(|c| of(self.done.last().and_then(|d| d.last())) == Some(*c));
        rest.is_some() && rest != counter
    }

    fn finish(mut self) -> Vec<Chunk> {
        if !self.open.is_empty() {
            self.done.push(self.open);
        }
        self.done
    }
}

/// Number of nodes, `None` if nested too deeply.
pub(crate) fn expr_size(expr: &Expr, depth: usize) -> Option<usize> {
    let depth = depth.checked_sub(1)?;
    let size = |e: &Expr| expr_size(e, depth);
    Some(match expr {
        Expr::Const(_) | Expr::Var(_) | Expr::Temp(_) => 1,
        Expr::Element(_, index, _) => 3 + size(index)?,
        Expr::Unary(_, operand) => 1 + size(operand)?,
        Expr::Binary(_, left, right) | Expr::And(left, right) | Expr::Or(left, right) => {
            1 + size(left)? + size(right)?
        }
        Expr::Divide(_, left, right, _) => 4 + size(left)? + size(right)?,
        Expr::If(condition, then, otherwise) => {
            2 + size(condition)? + size(then)? + size(otherwise)?
        }
        Expr::Length(channel) => reference_size(channel, 1, depth)?,
        Expr::Peek {
            channel, position, ..
        } => reference_size(channel, 5 + size(position)?, depth)?,
    })
}

/// Size of code that is repeated for each target of a reference.
fn reference_size(channel: &ChannelRef, each: usize, depth: usize) -> Option<usize> {
    Some(match channel {
        ChannelRef::Fixed(_) => each,
        ChannelRef::Denoted { value, targets, .. } => {
            expr_size(value, depth)? + (each + 3).saturating_mul(targets.len())
        }
    })
}

fn body_size(body: &[Statement], depth: usize) -> Option<usize> {
    let depth = depth.checked_sub(1)?;
    let mut total = 0_usize;
    for statement in body {
        total = total.saturating_add(statement_size(statement, depth)?);
    }
    Some(total)
}

fn place_size(place: &Place, depth: usize) -> Option<usize> {
    Some(match place {
        Place::Var(_) => 2,
        Place::Element(_, index, _) => 6 + expr_size(index, depth)?,
    })
}

fn statement_size(statement: &Statement, depth: usize) -> Option<usize> {
    let size = |e: &Expr| expr_size(e, depth);
    Some(match statement {
        Statement::Assign { target, value, .. } => place_size(target, depth)? + size(value)?,
        Statement::Let(_, value) => size(value)?,
        Statement::Send {
            channel, values, ..
        } => {
            let mut each = 6;
            for value in values {
                each += 6 + size(value)?;
            }
            reference_size(channel, each, depth)?
        }
        Statement::Receive {
            channel,
            position,
            targets,
            ..
        } => {
            let mut each = 6 + position.as_ref().map_or(Some(0), size)?;
            for target in targets {
                each += 8 + target.as_ref().map_or(Some(0), |t| place_size(t, depth))?;
            }
            reference_size(channel, each, depth)?
        }
        Statement::If {
            condition,
            then,
            otherwise,
        } => 2 + size(condition)? + body_size(then, depth)? + body_size(otherwise, depth)?,
        Statement::While {
            condition, body, ..
        } => 4 + size(condition)? + body_size(body, depth)?,
        Statement::Assert { condition, .. } => 3 + size(condition)?,
        Statement::Fail(_) | Statement::Print { .. } => 1,
    })
}
