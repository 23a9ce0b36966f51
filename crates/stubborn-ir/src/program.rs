//! Programs: variables, channels, processes, labels and commands.

use rapidhash::RapidHashMap;

use stubborn_diagnostics::Span;
use stubborn_system::{ChannelId, FailureKind, FailureSite, LabelId, ProcessId, PropertyKind};

use crate::intervals::Known;
use crate::{ChannelRef, Expr, Site};

/// A variable of a [`Program`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct VarId(pub(crate) u32);

impl VarId {
    /// Position in [`Program::variables`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A temporary value inside the body of one command.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TempId(pub u8);

impl TempId {
    /// Position among the temporaries of the command.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What storing a value outside the range does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// The step fails.
    Fail,
    /// The value is taken modulo the size of the range, which must be a power of two.
    Wrap,
    /// It never happens; see [`narrow`](crate::narrow). In states that no run reaches, the
    /// nearest value of the range is stored.
    Fits,
}

/// A range of values with a policy for values outside it: the type of a variable or of a
/// message item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Smallest value.
    pub min: i32,
    /// Largest value.
    pub max: i32,
    /// What happens outside.
    pub overflow: Overflow,
    /// Names of the values from `min` on, for printing; empty for plain numbers.
    pub names: Vec<String>,
}

impl Item {
    /// Numbers in a range; storing others fails.
    pub fn range(min: i32, max: i32) -> Self {
        Self {
            min,
            max,
            overflow: Overflow::Fail,
            names: Vec::new(),
        }
    }

    /// Numbers in a range whose size is a power of two; others wrap.
    pub fn wrapping(min: i32, max: i32) -> Self {
        Self {
            overflow: Overflow::Wrap,
            ..Self::range(min, max)
        }
    }

    /// Whether a value can be stored as it is.
    #[inline]
    pub fn contains(&self, value: i32) -> bool {
        (self.min..=self.max).contains(&value)
    }

    /// The value that is really stored, or `None` if storing it fails.
    #[inline]
    pub fn store(&self, value: i32) -> Option<i32> {
        if self.contains(value) {
            return Some(value);
        }
        match self.overflow {
            Overflow::Fail => None,
            Overflow::Wrap => {
                let mask = self.max.wrapping_sub(self.min);
                Some((value.wrapping_sub(self.min) & mask).wrapping_add(self.min))
            }
            Overflow::Fits => Some(value.clamp(self.min, self.max)),
        }
    }
}

/// A variable or an array.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Unique and readable; locals of processes as `P.x`.
    pub name: String,
    /// Range of the value or of each element.
    pub item: Item,
    /// Number of elements, `None` for a scalar.
    pub len: Option<u32>,
    /// Initial values: one, or one an element.
    pub initial: Vec<i32>,
    /// The process it belongs to; its fields are placed together.
    pub owner: Option<ProcessId>,
}

impl Variable {
    /// A global number in `min..=max`.
    pub fn integer(name: impl Into<String>, min: i32, max: i32, initial: i32) -> Self {
        let item = Item::range(min, max);
        Self {
            name: name.into(),
            item,
            len: None,
            initial: vec![initial],
            owner: None,
        }
    }

    /// A global array; its length is that of `initial`.
    pub fn array(name: impl Into<String>, min: i32, max: i32, initial: Vec<i32>) -> Self {
        let (item, len) = (Item::range(min, max), Some(initial.len() as u32));
        Self {
            name: name.into(),
            item,
            len,
            initial,
            owner: None,
        }
    }

    /// The same, belonging to a process.
    #[must_use]
    pub fn owned_by(mut self, process: ProcessId) -> Self {
        self.owner = Some(process);
        self
    }
}

/// A FIFO buffer. (A rendez-vous is one command of two processes and stores nothing; its
/// channel has capacity 0 and exists only so that references can denote it.)
#[derive(Clone, Debug)]
pub struct Channel {
    /// Unique and readable.
    pub name: String,
    /// Most messages it can hold.
    pub capacity: u32,
    /// The parts of a message.
    pub items: Vec<Item>,
}

/// A process: a program counter with named locations.
#[derive(Clone, Debug)]
pub struct ProgramProcess {
    /// Unique and readable.
    pub name: String,
    /// The variable that holds its location, an index into `locations`.
    pub counter: VarId,
    /// Names of the locations.
    pub locations: Vec<String>,
}

/// Something that can be assigned.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// A scalar variable.
    Var(VarId),
    /// An array element; an index outside the array fails.
    Element(VarId, Expr, Site),
}

impl Place {
    /// The variable or array.
    pub fn variable(&self) -> VarId {
        match self {
            Place::Var(variable) | Place::Element(variable, ..) => *variable,
        }
    }
}

/// Where a sent message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SendOrder {
    /// Behind all others.
    Fifo,
    /// Before the first message that is larger, items compared from left to right as numbers:
    /// those in the channel with the values that are sent, before these are cut to what an item
    /// can hold.
    Sorted,
}

/// One step of a command's body. Later ones see what earlier ones did.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Statement {
    /// Evaluates the value, then the index of the place, then stores.
    Assign {
        /// Where to.
        target: Place,
        /// What.
        value: Expr,
        /// Failure if the value does not fit.
        site: Site,
    },
    /// Keeps a value for later statements of the same command.
    Let(TempId, Expr),
    /// Puts a message into a channel; fails if it is full.
    Send {
        /// Which channel.
        channel: ChannelRef,
        /// One value an item, evaluated from left to right.
        values: Vec<Expr>,
        /// Where in the channel.
        order: SendOrder,
        /// Failure if the channel is full or a value does not fit.
        site: Site,
    },
    /// Takes (or copies) a message out of a channel; fails if there is none.
    Receive {
        /// Which channel.
        channel: ChannelRef,
        /// Which message, 0 the oldest; `None` is the oldest too.
        position: Option<Expr>,
        /// Where the items go, `None` to throw one away; assigned from left to right, after
        /// the message was removed.
        targets: Vec<Option<Place>>,
        /// False to leave the message in the channel.
        remove: bool,
        /// Failure if there is no such message or an item does not fit its target.
        site: Site,
    },
    /// A choice.
    If {
        /// Non-zero for `then`.
        condition: Expr,
        /// Runs if so.
        then: Vec<Statement>,
        /// Runs if not.
        otherwise: Vec<Statement>,
    },
    /// Repeats the body while the condition is non-zero; fails if that never ends.
    While {
        /// Evaluated before each round.
        condition: Expr,
        /// The round.
        body: Vec<Statement>,
        /// Failure if it is endless.
        site: Site,
    },
    /// Reports a violation if the condition is zero; execution goes on.
    Assert {
        /// What should hold.
        condition: Expr,
        /// The violation.
        site: Site,
    },
    /// Ends the step in failure.
    Fail(Site),
    /// Shows text in simulations; does nothing to the state. Holes in the text stand for the
    /// arguments, see [`output`](crate::output).
    Print {
        /// The text.
        text: String,
        /// Values for the holes.
        arguments: Vec<Expr>,
    },
}

impl Statement {
    /// Whether there is an assertion in it.
    pub fn asserts(&self) -> bool {
        match self {
            Statement::Assert { .. } => true,
            Statement::If {
                then, otherwise, ..
            } => then.iter().chain(otherwise).any(Self::asserts),
            Statement::While { body, .. } => body.iter().any(Self::asserts),
            _ => false,
        }
    }

    /// Whether it may be a failure at one of these sites that nothing but itself decides.
    pub(crate) fn fails_at(&self, is_one: &dyn Fn(Site) -> bool) -> bool {
        match self {
            Statement::Fail(site) => is_one(*site),
            Statement::If {
                then, otherwise, ..
            } => then.iter().chain(otherwise).any(|s| s.fails_at(is_one)),
            Statement::While { body, .. } => body.iter().any(|s| s.fails_at(is_one)),
            _ => false,
        }
    }

    /// Assigns to a scalar variable.
    pub fn assign(variable: VarId, value: Expr, site: Site) -> Self {
        Statement::Assign {
            target: Place::Var(variable),
            value,
            site,
        }
    }
}

/// A guarded command: one structural transition.
#[derive(Clone, Debug, Default)]
pub struct Command {
    /// Readable: `P_0: wait -> CS`.
    pub name: String,
    /// Whose step it is; a rendez-vous has two, sender first.
    pub processes: Vec<ProcessId>,
    /// For each process, the location that it must be at. The guard that tests it is added by
    /// [`Program::command`].
    pub sources: Vec<Option<u32>>,
    /// All must hold. A guard that fails counts as true, and the step ends in that failure.
    pub guards: Vec<LabelId>,
    /// What happens.
    pub body: Vec<Statement>,
    /// 0 for ordinary commands; see [`stubborn_system::Transition::priority`].
    pub priority: u8,
    /// The process that goes on at once: the state after this command is not a state of the
    /// system, commands of that process (of priority 0, with it as their first process) run on
    /// until one of them continues with nobody, or none is enabled. See [`crate::chain`].
    pub continues: Option<ProcessId>,
    /// Failure of a chain that starts with this command and never ends; see
    /// [`Program::command`].
    pub endless: Option<Site>,
    /// It was found never to fail, although its expressions could by the ranges of their
    /// variables.
    pub never_fails: bool,
    /// Where it stands in the source.
    pub span: Option<Span>,
}

/// A safety property of the program.
#[derive(Clone, Debug)]
pub struct ProgramProperty {
    /// Shown to people.
    pub name: String,
    /// Where it comes from.
    pub kind: PropertyKind,
    /// Must hold in no reachable state.
    pub violated_by: LabelId,
    /// Where it stands in the source.
    pub span: Option<Span>,
}

/// A label: a guard of commands, or a proposition.
#[derive(Clone, Debug)]
pub struct ProgramLabel {
    /// Holds where this is non-zero, or fails to evaluate.
    pub expr: Expr,
    /// What people see instead of the printed expression, if it was written differently.
    pub text: Option<String>,
}

/// A whole model as guarded commands.
///
/// Build it with the methods; [`Model::new`](crate::Model::new) checks and packs it.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Shown to people.
    pub name: String,
    /// All variables, program counters included.
    pub variables: Vec<Variable>,
    /// All channels.
    pub channels: Vec<Channel>,
    /// All processes.
    pub processes: Vec<ProgramProcess>,
    /// All guards and propositions, without repetition.
    pub labels: Vec<ProgramLabel>,
    /// All commands.
    pub commands: Vec<Command>,
    /// Safety properties.
    pub properties: Vec<ProgramProperty>,
    /// Places where something can fail.
    pub failures: Vec<FailureSite>,
    /// Holds in states where stopping is fine; see [`stubborn_system::Structure::valid_end`].
    pub valid_end: Option<LabelId>,
    /// See [`stubborn_system::Structure::passive_partners`].
    pub passive_partners: bool,
    label_index: RapidHashMap<Expr, LabelId>,
}

impl Program {
    /// An empty program.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }

    /// Adds a variable.
    pub fn variable(&mut self, variable: Variable) -> VarId {
        self.variables.push(variable);
        VarId(self.variables.len() as u32 - 1)
    }

    /// Adds a channel.
    pub fn channel(&mut self, channel: Channel) -> ChannelId {
        self.channels.push(channel);
        ChannelId::new(self.channels.len() - 1)
    }

    /// Adds a process with its program counter, which starts at location `initial`.
    pub fn process(
        &mut self,
        name: impl Into<String>,
        locations: Vec<String>,
        initial: u32,
    ) -> ProcessId {
        let (name, id) = (name.into(), ProcessId::new(self.processes.len()));
        let last = locations.len().saturating_sub(1) as i32;
        let counter = self.variable(Variable {
            item: Item {
                names: locations.clone(),
                ..Item::range(0, last)
            },
            ..Variable::integer(name.clone(), 0, last, initial as i32).owned_by(id)
        });
        self.processes.push(ProgramProcess {
            name,
            counter,
            locations,
        });
        id
    }

    /// The label for an expression; equal expressions share one.
    pub fn label(&mut self, expr: Expr) -> LabelId {
        let next = LabelId::new(self.labels.len());
        let id = *self.label_index.entry(expr.clone()).or_insert(next);
        if id == next {
            self.labels.push(ProgramLabel { expr, text: None });
        }
        id
    }

    /// The same, shown to people as `text`.
    pub fn named_label(&mut self, expr: Expr, text: impl Into<String>) -> LabelId {
        let id = self.label(expr);
        self.labels[id.index()].text.get_or_insert(text.into());
        id
    }

    /// Labels for the conjuncts of a condition, to be used as guards.
    ///
    /// `a and b` is cut into `a` and `b` as long as `a` cannot fail: a failing guard counts
    /// as true, so after the cut a failure of `a` would be hidden by `b` being false.
    /// (A failure of `b` where `a` is false stays hidden either way.)
    pub fn conjuncts(&mut self, condition: Expr) -> Vec<LabelId> {
        let mut out = Vec::new();
        let mut rest = condition;
        let mut known = Known::default();
        loop {
            // Rotate left-nested conjunctions so that the first conjunct is at the top.
            while let Expr::And(left, right) = rest {
                match *left {
                    Expr::And(first, second) => {
                        rest = Expr::And(first, Box::new(Expr::And(second, right)));
                    }
                    left => {
                        rest = Expr::And(Box::new(left), right);
                        break;
                    }
                }
            }
            match rest {
                Expr::And(first, second) if !self.may_fail_given(&first, &known) => {
                    known = known.and(&first, true);
                    self.push_conjunct(*first, &mut out);
                    rest = *second;
                }
                last => {
                    self.push_conjunct(last, &mut out);
                    return out;
                }
            }
        }
    }

    fn push_conjunct(&mut self, condition: Expr, out: &mut Vec<LabelId>) {
        if !matches!(condition, Expr::Const(value) if value != 0) {
            let label = self.label(condition);
            if !out.contains(&label) {
                out.push(label);
            }
        }
    }

    /// Adds a command; guards for its source locations are put in front of the others, and a
    /// command that starts chains gets a place for the failure of endless ones.
    pub fn command(&mut self, mut command: Command) {
        let mut guards = Vec::new();
        for (process, source) in command.processes.iter().zip(&command.sources) {
            if let Some(location) = source {
                guards.push(self.label(Expr::at(self, *process, *location)));
            }
        }
        for guard in &command.guards {
            if !guards.contains(guard) {
                guards.push(*guard);
            }
        }
        command.guards = guards;
        if command.continues.is_some() {
            let message = "an uninterrupted sequence of steps never ends";
            command.endless = Some(self.site(FailureKind::EndlessLoop, message, command.span));
        }
        self.commands.push(command);
    }

    /// A new place of failure.
    pub fn site(
        &mut self,
        kind: FailureKind,
        message: impl Into<String>,
        span: Option<Span>,
    ) -> Site {
        self.failures.push(FailureSite {
            kind,
            message: message.into(),
            span,
        });
        Site(self.failures.len() as u32 - 1)
    }

    /// A place where a value may not fit into a variable.
    pub fn out_of_range_site(&mut self, variable: &str, span: Option<Span>) -> Site {
        self.site(
            FailureKind::OutOfRange,
            format!("the value does not fit into {variable}"),
            span,
        )
    }

    /// How many temporaries bodies use: one more than the largest that a `Let` names.
    /// (A temporary that was not set is 0.)
    pub(crate) fn temporaries(&self) -> usize {
        fn most(body: &[Statement]) -> usize {
            let of = |statement: &Statement| match statement {
                Statement::Let(temp, _) => temp.index() + 1,
                Statement::If {
                    then, otherwise, ..
                } => most(then).max(most(otherwise)),
                Statement::While { body, .. } => most(body),
                _ => 0,
            };
            body.iter().map(of).max().unwrap_or(0)
        }
        self.commands
            .iter()
            .map(|c| most(&c.body))
            .max()
            .unwrap_or(0)
    }
}
