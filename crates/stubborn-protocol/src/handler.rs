//! Handlers: what a process does when it can, and what it declares about it.

use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use crate::value::{AnyValue, Boxed, Envelope, Local, Pid, Value};

/// How many messages a handler consumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    /// None: the process acts on its own.
    Nothing,
    /// None, but the timer with this bit has run out.
    Timer(u8),
    /// One.
    One,
    /// So many at once, each from another sender.
    Quorum(u16),
}

/// Something that a handler may send: a kind (`None` for any) to some processes (`None` for all).
#[derive(Clone, Debug)]
pub(crate) struct MaySend {
    pub(crate) kind: Option<String>,
    pub(crate) to: Option<Vec<Pid>>,
}

pub(crate) type LocalGuard = Box<dyn Fn(&dyn Any) -> bool + Send + Sync>;
/// About a local state and a [`Vec<Envelope<M>>`](Envelope).
pub(crate) type Guard = Box<dyn Fn(&dyn Any, &dyn Any) -> bool + Send + Sync>;
/// What is done to a local state with a [`Vec<Envelope<M>>`](Envelope), by a [`Step<M>`](Step).
pub(crate) type Effect = Box<dyn Fn(&mut dyn Any, &dyn Any, &mut dyn Any) + Send + Sync>;

/// What the type of messages is needed for where handlers run: made by those who know it, so that
/// all the rest is compiled once, and not for each type again.
#[derive(Clone, Copy)]
pub(crate) struct Edge {
    /// A [`Vec<Envelope<M>>`](Envelope).
    envelopes: fn(&[Envelope<&Boxed>]) -> Box<dyn Any>,
    /// A [`Step<M>`](Step).
    step: fn(RawStep) -> Box<dyn AnyStep>,
}

impl Edge {
    pub(crate) fn new<M: Value>() -> Self {
        Self {
            envelopes: |all| {
                Box::new(
                    all.iter()
                        .map(Envelope::typed)
                        .collect::<Vec<Envelope<M>>>(),
                )
            },
            step: |raw| {
                Box::new(Step::<M> {
                    raw,
                    messages: PhantomData,
                })
            },
        }
    }
}

/// A handler of one process.
pub(crate) struct Handler {
    pub(crate) name: String,
    pub(crate) process: Pid,
    pub(crate) takes: Takes,
    /// Kinds of messages; `None` for any.
    pub(crate) kinds: Option<Vec<String>>,
    /// Possible senders; `None` for any.
    pub(crate) senders: Option<Vec<Pid>>,
    /// What may be sent; `None` if nothing is declared.
    pub(crate) sends: Option<Vec<MaySend>>,
    /// Never changes the local state.
    pub(crate) only_reads: bool,
    pub(crate) local_guard: Option<LocalGuard>,
    pub(crate) guard: Option<Guard>,
    pub(crate) effect: Effect,
}

impl fmt::Debug for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}.{}", self.process, self.name)
    }
}

/// What a handler can do besides changing its process's state.
pub struct Step<M> {
    raw: RawStep,
    messages: PhantomData<fn(M)>,
}

/// The same for any type of messages.
pub(crate) struct RawStep {
    me: Pid,
    sends: Vec<(Pid, Boxed)>,
    timers: u32,
    timer_names: Vec<String>,
    /// Choices made so far in this run of the handler: which, of how many.
    choices: Vec<(usize, usize)>,
    /// How many of them this run has asked for.
    asked: usize,
    ignored: bool,
    misuse: Option<String>,
}

/// A step for some type of messages.
pub(crate) trait AnyStep {
    fn raw(&mut self) -> &mut RawStep;
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

impl<M: Value> AnyStep for Step<M> {
    fn raw(&mut self) -> &mut RawStep {
        &mut self.raw
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

impl<M> fmt::Debug for Step<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Step")
            .field("me", &self.raw.me)
            .field("choices", &self.raw.choices)
            .finish_non_exhaustive()
    }
}

impl<M: Value> Step<M> {
    /// The process that acts.
    pub fn me(&self) -> Pid {
        self.raw.me
    }

    /// Sends a message.
    pub fn send(&mut self, to: impl Into<Pid>, message: M) {
        self.raw.sends.push((to.into(), Boxed::new(message)));
    }

    /// Sends a message to several processes.
    pub fn broadcast<P: Into<Pid> + Copy>(&mut self, to: &[P], message: M) {
        for process in to {
            self.send(*process, message.clone());
        }
    }

    /// A number below `alternatives`: the checker tries all of them. With no alternatives, the
    /// step does not happen.
    pub fn choose(&mut self, alternatives: usize) -> usize {
        self.raw.choose(alternatives)
    }

    /// One of some values: the checker tries all of them. Without any, the step does not happen,
    /// and the default value is only a stand-in.
    pub fn pick<T: Clone + Default>(&mut self, from: &[T]) -> T {
        let at = self.choose(from.len());
        from.get(at).cloned().unwrap_or_default()
    }

    /// Lets the step not happen: no state is changed, no message consumed.
    pub fn ignore(&mut self) {
        self.raw.ignored = true;
    }

    /// Sets a timer that some handler waits for.
    pub fn set_timer(&mut self, name: &str) {
        if let Some(bit) = self.raw.timer(name) {
            self.raw.timers |= 1 << bit;
        }
    }

    /// Stops a timer.
    pub fn cancel_timer(&mut self, name: &str) {
        if let Some(bit) = self.raw.timer(name) {
            self.raw.timers &= !(1 << bit);
        }
    }
}

impl RawStep {
    fn new(me: Pid, timers: u32, timer_names: &[String], choices: Vec<(usize, usize)>) -> Self {
        Self {
            me,
            sends: Vec::new(),
            timers,
            timer_names: timer_names.to_vec(),
            choices,
            asked: 0,
            ignored: false,
            misuse: None,
        }
    }

    fn choose(&mut self, alternatives: usize) -> usize {
        if alternatives == 0 {
            self.ignored = true;
            return 0;
        }
        if self.asked == self.choices.len() {
            self.choices.push((0, alternatives));
        }
        self.asked += 1;
        self.choices[self.asked - 1].0
    }

    fn timer(&mut self, name: &str) -> Option<usize> {
        let at = self.timer_names.iter().position(|n| n == name);
        if at.is_none() {
            self.misuse = Some(format!(
                "uses the timer `{name}`, which no handler waits for"
            ));
        }
        at
    }

    /// The next combination of choices; `None` after the last.
    fn next_choices(&mut self) -> Option<Vec<(usize, usize)>> {
        let mut choices = std::mem::take(&mut self.choices);
        choices.truncate(self.asked);
        while let Some((chosen, of)) = choices.pop() {
            if chosen + 1 < of {
                choices.push((chosen + 1, of));
                return Some(choices);
            }
        }
        None
    }
}

/// One possible result of a handler.
#[derive(Clone, Debug)]
pub(crate) struct Result {
    pub(crate) state: Boxed,
    pub(crate) timers: u32,
    pub(crate) sends: Vec<(Pid, Boxed)>,
    pub(crate) misuse: Option<String>,
}

thread_local! {
    /// Whether a panic of this thread is caught, and told by name later.
    static CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Runs what a user wrote; the text of its panic, if it panics, without the usual noise: handlers
/// are run on many combinations, and the report names the one that went wrong.
pub(crate) fn calmly<T>(run: impl FnOnce() -> T) -> std::result::Result<T, String> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !CAUGHT.get() {
                usual(info);
            }
        }));
    });
    let before = CAUGHT.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(run));
    CAUGHT.set(before);
    result.map_err(|payload| {
        let text = payload.downcast_ref::<&str>().map(|t| (*t).to_owned());
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
        text.unwrap_or_else(|| "(no text)".into())
    })
}

/// More results of one step than this are taken for a mistake.
const MOST_RESULTS: usize = 1 << 16;

impl Handler {
    /// Whether the local state alone allows it. A guard that panics is open, so that it is run, and
    /// named.
    pub(crate) fn is_open(&self, local: &Local) -> bool {
        if local.crashed {
            return false;
        }
        if let Takes::Timer(bit) = self.takes
            && local.timers >> bit & 1 == 0
        {
            return false;
        }
        let state = (*local.state.0).as_any();
        let guard = self.local_guard.as_ref();
        guard.is_none_or(|guard| calmly(|| guard(state)).unwrap_or(true))
    }

    /// Everything that can happen with these messages; nothing if a guard refuses.
    pub(crate) fn results(
        &self,
        local: &Local,
        messages: &[Envelope<&Boxed>],
        edge: Edge,
        timer_names: &[String],
    ) -> Vec<Result> {
        let state = (*local.state.0).as_any();
        if !self.is_open(local) {
            return Vec::new();
        }
        let messages = &*(edge.envelopes)(messages);
        let allows = || {
            self.local_guard.as_ref().is_none_or(|g| g(state))
                && self.guard.as_ref().is_none_or(|g| g(state, messages))
        };
        let panics = |what: String| Result {
            state: local.state.clone(),
            timers: local.timers,
            sends: Vec::new(),
            misuse: Some(what),
        };
        match calmly(allows) {
            Ok(true) => {}
            Ok(false) => return Vec::new(),
            Err(text) => return vec![panics(format!("panics in its guard: {text}"))],
        }
        let mut results = Vec::new();
        let mut choices = Some(Vec::new());
        // A timer that has run out is no longer set.
        let timers = match self.takes {
            Takes::Timer(bit) => local.timers & !(1 << bit),
            _ => local.timers,
        };
        while let Some(prefix) = choices {
            let mut state = local.state.clone();
            let raw = RawStep::new(self.process, timers, timer_names, prefix);
            let mut typed = (edge.step)(raw);
            let inner: &mut dyn AnyValue = &mut *state.0;
            let effect = || (self.effect)(inner.as_any_mut(), messages, typed.as_any_mut());
            let panicked = calmly(effect).err();
            let step = typed.raw();
            if let Some(text) = panicked {
                results.push(panics(format!("panics: {text}")));
                choices = step.next_choices();
                continue;
            }
            if results.len() >= MOST_RESULTS {
                step.misuse = Some(format!("has more than {MOST_RESULTS} results"));
                step.asked = 0;
            }
            if !step.ignored || step.misuse.is_some() {
                results.push(Result {
                    state,
                    timers: step.timers,
                    sends: std::mem::take(&mut step.sends),
                    misuse: step.misuse.take(),
                });
            }
            choices = step.next_choices();
        }
        results
    }
}
