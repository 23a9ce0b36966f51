//! What processes, messages and handlers are made of: plain Rust values.

use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

/// Anything that can be a local state, a message or a history. Implemented by every type that
/// can be copied, compared, hashed and printed.
pub trait Value: Clone + Eq + Hash + fmt::Debug + Send + Sync + 'static {}

impl<T: Clone + Eq + Hash + fmt::Debug + Send + Sync + 'static> Value for T {}

/// A process. Local states and messages may mention it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pid(pub(crate) u16);

impl Pid {
    /// Its number, in the order in which processes were added.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

thread_local! {
    /// The names of processes, while a protocol writes for people.
    static NAMES: RefCell<Option<Arc<[String]>>> = const { RefCell::new(None) };
}

/// Writes with the names of processes wherever a local state or a message mentions one.
pub(crate) fn with_names<T>(names: &Arc<[String]>, write: impl FnOnce() -> T) -> T {
    /// Also if what a user wrote panics.
    struct Restore(Option<Arc<[String]>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            NAMES.set(self.0.take());
        }
    }
    let _restore = Restore(NAMES.replace(Some(names.clone())));
    write()
}

/// In charts and other texts of a protocol, its name.
impl fmt::Debug for Pid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        NAMES.with_borrow(
            |names| match names.as_ref().and_then(|names| names.get(self.index())) {
                Some(name) => f.write_str(name),
                None => write!(f, "#{}", self.0),
            },
        )
    }
}

/// A process with the type of its local state.
pub struct ProcessRef<S> {
    pub(crate) pid: Pid,
    /// Which protocol it belongs to, so that strangers are noticed.
    pub(crate) owner: u32,
    pub(crate) state: PhantomData<fn() -> S>,
}

impl<S> Clone for ProcessRef<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for ProcessRef<S> {}

impl<S> fmt::Debug for ProcessRef<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pid.fmt(f)
    }
}

impl<S> ProcessRef<S> {
    /// Without the type.
    pub fn pid(self) -> Pid {
        self.pid
    }
}

impl<S> From<ProcessRef<S>> for Pid {
    fn from(process: ProcessRef<S>) -> Self {
        process.pid
    }
}

impl<S> PartialEq for ProcessRef<S> {
    fn eq(&self, other: &Self) -> bool {
        (self.pid, self.owner) == (other.pid, other.owner)
    }
}

impl<S> Eq for ProcessRef<S> {}

impl<S> Hash for ProcessRef<S> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.pid, self.owner).hash(state);
    }
}

/// Whether a message is from it, for example.
impl<S> PartialEq<ProcessRef<S>> for Pid {
    fn eq(&self, other: &ProcessRef<S>) -> bool {
        *self == other.pid
    }
}

/// A message on its way, or delivered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Envelope<M> {
    /// Who sent it.
    pub from: Pid,
    /// Whom it is for.
    pub to: Pid,
    /// What it says.
    pub message: M,
}

impl Envelope<Boxed> {
    pub(crate) fn as_ref(&self) -> Envelope<&Boxed> {
        Envelope {
            from: self.from,
            to: self.to,
            message: &self.message,
        }
    }
}

impl Envelope<&Boxed> {
    /// With a message whose type is known.
    pub(crate) fn typed<M: Value>(&self) -> Envelope<M> {
        let message = self.message.get::<M>();
        Envelope {
            from: self.from,
            to: self.to,
            message: message.expect("a message of this protocol").clone(),
        }
    }
}

impl<M> Deref for Envelope<M> {
    type Target = M;

    fn deref(&self) -> &M {
        &self.message
    }
}

/// A value whose type is not known.
pub(crate) trait AnyValue: Send + Sync {
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
    fn is_same(&self, other: &dyn Any) -> bool;
    fn hash_into(&self, hasher: &mut dyn Hasher);
    fn text(&self) -> String;
    fn copied(&self) -> Box<dyn AnyValue>;
}

impl<T: Value> AnyValue for T {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn is_same(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<T>() == Some(self)
    }

    fn hash_into(&self, mut hasher: &mut dyn Hasher) {
        self.hash(&mut hasher);
    }

    fn text(&self) -> String {
        format!("{self:?}")
    }

    fn copied(&self) -> Box<dyn AnyValue> {
        Box::new(self.clone())
    }
}

/// A boxed value of any type, comparable.
pub(crate) struct Boxed(pub(crate) Box<dyn AnyValue>);

impl Boxed {
    pub(crate) fn new<T: Value>(value: T) -> Self {
        Self(Box::new(value))
    }

    /// The value, if it has this type.
    pub(crate) fn get<T: Value>(&self) -> Option<&T> {
        (*self.0).as_any().downcast_ref()
    }
}

impl Clone for Boxed {
    fn clone(&self) -> Self {
        Self((*self.0).copied())
    }
}

impl PartialEq for Boxed {
    fn eq(&self, other: &Self) -> bool {
        (*self.0).is_same((*other.0).as_any())
    }
}

impl Eq for Boxed {}

impl Hash for Boxed {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (*self.0).hash_into(state);
    }
}

impl fmt::Debug for Boxed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&(*self.0).text())
    }
}

/// The local side of a process: its state, timers that run, and whether it is up.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Local {
    pub(crate) state: Boxed,
    /// Bit `i`: timer `i` of the process is set.
    pub(crate) timers: u32,
    pub(crate) crashed: bool,
}

/// A kind of messages that the compiler has checked: made by [`kind!`](crate::kind).
pub struct Kind<M> {
    path: &'static str,
    messages: PhantomData<fn(M)>,
}

impl<M> fmt::Debug for Kind<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.path)
    }
}

impl<M> Kind<M> {
    #[doc(hidden)]
    pub fn new(path: &'static str, _: fn(&M) -> bool) -> Self {
        Self {
            path,
            messages: PhantomData,
        }
    }
}

/// A kind of messages as a value that the compiler checks: a misspelt variant does not compile, and
/// neither does one of another protocol's messages. Works for variants of every form.
///
/// ```
/// use stubborn_protocol::{Protocol, kind};
///
/// #[derive(Clone, Debug, PartialEq, Eq, Hash)]
/// enum Message { Ping(u8), Pong { seen: u8 }, Stop }
///
/// let mut p = Protocol::new("ping");
/// let a = p.process("a", 0_u8);
/// p.send_initially(a, a, Message::Ping(1));
/// p.on(a, kind!(Message::Ping)).sends(kind!(Message::Pong), &[a]).then(move |n, _, step| {
///     *n += 1;
///     step.send(a, Message::Pong { seen: *n });
/// });
/// p.on(a, kind!(Message::Pong)).or(kind!(Message::Stop)).then(|_, _, _| {});
/// # stubborn_protocol::assert_holds!(p.build().unwrap());
/// ```
///
/// ```compile_fail
/// # use stubborn_protocol::{Protocol, kind};
/// # #[derive(Clone, Debug, PartialEq, Eq, Hash)]
/// # enum Message { Ping(u8) }
/// # let mut p = Protocol::<Message>::new("ping");
/// # let a = p.process("a", 0_u8);
/// p.on(a, kind!(Message::Pingg)).then(|_, _, _| {});
/// ```
#[macro_export]
macro_rules! kind {
    ($($path:ident)::+) => {
        $crate::Kind::new(stringify!($($path)::+), |m| matches!(m, $($path)::+ { .. }))
    };
}

/// What names a kind of messages: [`kind!`](crate::kind), or a string for quick use.
pub trait KindName<M> {
    /// The name of the variant.
    fn kind_name(&self) -> &str;
}

impl<M> KindName<M> for Kind<M> {
    fn kind_name(&self) -> &str {
        let last = self.path.rsplit(':').next();
        last.unwrap_or(self.path).trim()
    }
}

impl<M> KindName<M> for &str {
    fn kind_name(&self) -> &str {
        self
    }
}

impl<M> KindName<M> for &String {
    fn kind_name(&self) -> &str {
        self
    }
}

/// The kind of a message: the first word of its `Debug` text, which is the variant of an enum
/// and the name of a struct.
pub(crate) fn kind_of<M: fmt::Debug>(message: &M) -> String {
    let text = format!("{message:?}");
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    text[..end.unwrap_or(text.len())].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    enum Message {
        Prepare { ballot: u8 },
        Accept(u8),
        Stop,
    }

    #[test]
    fn kinds_are_variants() {
        let prepare = Message::Prepare { ballot: 1 };
        assert_eq!(kind_of(&prepare), "Prepare");
        assert_eq!(kind_of(&Message::Accept(3)), "Accept");
        assert_eq!(kind_of(&Message::Stop), "Stop");
    }

    #[test]
    fn boxed_values_compare_by_type_and_value() {
        let one = Boxed(Box::new(1_u8));
        assert_eq!(one, Boxed(Box::new(1_u8)));
        assert_ne!(one, Boxed(Box::new(1_u16)));
        assert_eq!(one.clone().get::<u8>(), Some(&1));
    }
}
