//! Threads as stacks of their own that the search switches between: one runs at a time, until its
//! next operation.

#![allow(
    unsafe_code,
    reason = "an operation finds its way back from anywhere on a stack"
)]

use std::any::Any;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::mem::ManuallyDrop;
use std::panic::{self, AssertUnwindSafe, Location};
use std::ptr;
use std::rc::Rc;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

use super::operation::{Objects, Operation};
use super::panics;

/// Bytes of a thread's stack; pages that nobody touches cost nothing.
const STACK: usize = 2 << 20;

/// What all executions of a check have in common: numbers that are the same in all of them (the
/// first object of a thread is always the same one, and so is its first child), and stacks.
#[derive(Default)]
pub(crate) struct Common {
    objects: HashMap<(u16, u32), u32>,
    threads: HashMap<(u16, u32), u16>,
    stacks: Vec<DefaultStack>,
    /// Where the code asks for orderings weaker than what is explored.
    weaker_orderings: BTreeSet<Location<'static>>,
}

impl Common {
    fn object(&mut self, thread: u16, at: u32) -> u32 {
        let next = self.objects.len() as u32;
        *self.objects.entry((thread, at)).or_insert(next)
    }

    fn thread(&mut self, parent: u16, at: u32) -> u16 {
        // The first thread is nobody's child.
        let next = self.threads.len() as u16 + 1;
        *self.threads.entry((parent, at)).or_insert(next)
    }

    /// Where the code asks for orderings weaker than what is explored, in order.
    pub(crate) fn weaker_orderings(&self) -> Vec<Location<'static>> {
        self.weaker_orderings.iter().copied().collect()
    }

    /// How many threads there are in any execution.
    pub(crate) fn thread_count(&self) -> usize {
        self.threads.len() + 1
    }
}

/// What a thread is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Announced {
    pub(crate) operation: Operation,
    /// Its stack unwinds from a panic, and a destructor does it.
    pub(crate) unwinds: bool,
}

impl From<Operation> for Announced {
    fn from(operation: Operation) -> Self {
        Self {
            operation,
            unwinds: false,
        }
    }
}

/// Takes answers, announces operations, ends with what a panic said.
type Routine = Coroutine<u32, Announced, Option<String>>;

/// One thread of an execution.
struct Seat {
    /// What it is about to do.
    announced: Option<Announced>,
    /// Where it stopped; nothing while it runs, and when it is done. One that never comes to its end
    /// is never dropped: its destructors would wait for what never happens.
    routine: Option<ManuallyDrop<Routine>>,
    /// The way back to the search.
    back: *const Yielder<u32, Announced>,
    objects: u32,
    children: u32,
    /// Dropped when it is done, or never, either.
    locals: ManuallyDrop<HashMap<usize, Rc<dyn Any>>>,
}

struct Shared {
    /// By number.
    seats: RefCell<Vec<Option<Seat>>>,
    common: Rc<RefCell<Common>>,
}

thread_local! {
    /// The execution that runs, and who runs in it.
    static CURRENT: RefCell<Option<(Rc<Shared>, u16)>> = const { RefCell::new(None) };
}

const OUTSIDE: &str = "this works inside of a check only: see `stubborn_dpor::check`";

/// Does something with the seat of who runs, and with what all executions have in common.
fn current<R>(act: impl FnOnce(&mut Seat, &mut Common, u16) -> R) -> R {
    CURRENT.with_borrow(|current| {
        let (shared, me) = current.as_ref().expect(OUTSIDE);
        let mut seats = shared.seats.borrow_mut();
        let seat = seats[usize::from(*me)].as_mut().expect(OUTSIDE);
        act(seat, &mut shared.common.borrow_mut(), *me)
    })
}

/// Stops until the operation may happen; its answer. Also in a destructor while the stack unwinds: others
/// notice what it does, whether or not the panic is caught.
pub(crate) fn perform(operation: Operation) -> u32 {
    let back = current(|seat, _, _| seat.back);
    let panics = panics::hide();
    let announced = Announced {
        operation,
        unwinds: panics > 0,
    };
    // SAFETY: `back` was set by the body of the routine that runs, which has not returned: we are
    // called by it, on its stack. `CURRENT` is set wherever a routine is resumed, and nowhere else.
    let answer = unsafe { &*back }.suspend(announced);
    panics::show(panics);
    answer
}

/// The number of who runs.
pub(crate) fn own_number() -> u16 {
    current(|_, _, me| me)
}

/// The number of a new object.
pub(crate) fn new_object() -> u32 {
    current(|seat, common, me| {
        seat.objects += 1;
        common.object(me, seat.objects)
    })
}

/// The code asks for an ordering weaker than what is explored.
pub(crate) fn note_weaker_ordering(place: &'static Location<'static>) {
    current(|_, common, _| common.weaker_orderings.insert(*place));
}

/// What the thread that runs keeps under a key.
pub(crate) fn local<T: 'static>(key: usize, init: impl FnOnce() -> T) -> Rc<T> {
    let known = current(|seat, _, _| seat.locals.get(&key).cloned());
    // Making the value may need others.
    let value = known.unwrap_or_else(|| {
        let value: Rc<dyn Any> = Rc::new(init());
        current(|seat, _, _| seat.locals.insert(key, Rc::clone(&value)));
        value
    });
    value.downcast().expect("a key has values of one type")
}

/// Starts a thread of the current execution; its number.
pub(crate) fn spawn(body: impl FnOnce() + 'static) -> u16 {
    let child = current(|seat, common, me| {
        seat.children += 1;
        common.thread(me, seat.children)
    });
    perform(Operation::Spawn(child));
    let shared = CURRENT.with_borrow(|c| c.as_ref().map(|(shared, _)| Rc::clone(shared)));
    shared.expect(OUTSIDE).seat(child, body);
    child
}

impl Shared {
    /// A thread that waits for its first turn.
    fn seat(&self, number: u16, body: impl FnOnce() + 'static) {
        let run = move |back: &Yielder<u32, Announced>, _| {
            current(|seat, _, _| seat.back = ptr::from_ref(back));
            let result = panic::catch_unwind(AssertUnwindSafe(|| {
                body();
                drop(current(|seat, _, _| std::mem::take(&mut *seat.locals)));
                perform(Operation::Finish);
            }));
            let payload = result.err()?;
            let text = payload.downcast_ref::<&str>().map(|t| (*t).to_owned());
            let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
            Some(text.unwrap_or_else(|| "(no text)".into()))
        };
        let old = self.common.borrow_mut().stacks.pop();
        let stack = old.unwrap_or_else(|| DefaultStack::new(STACK).expect("memory for a stack"));
        let mut seats = self.seats.borrow_mut();
        let at = usize::from(number);
        if seats.len() <= at {
            seats.resize_with(at + 1, || None);
        }
        seats[at] = Some(Seat {
            announced: Some(Operation::Start.into()),
            routine: Some(ManuallyDrop::new(Coroutine::with_stack(stack, run))),
            back: ptr::null(),
            objects: 0,
            children: 0,
            locals: ManuallyDrop::default(),
        });
    }
}

/// One execution, as far as it has gone.
pub(crate) struct Execution {
    shared: Rc<Shared>,
    /// What a thread said when it panicked.
    pub(crate) panic: Option<String>,
}

impl Execution {
    pub(crate) fn new(common: &Rc<RefCell<Common>>, code: Rc<dyn Fn()>) -> Self {
        let shared = Rc::new(Shared {
            seats: RefCell::default(),
            common: Rc::clone(common),
        });
        shared.seat(0, move || code());
        Self {
            shared,
            panic: None,
        }
    }

    fn with_seat<R>(&self, thread: u16, act: impl FnOnce(&mut Seat) -> R) -> Option<R> {
        let mut seats = self.shared.seats.borrow_mut();
        seats.get_mut(usize::from(thread))?.as_mut().map(act)
    }

    /// Lets a thread do what it has announced; what it announces next, if it is not done.
    pub(crate) fn advance(&mut self, thread: u16, answer: u32) -> Option<Announced> {
        let mut routine = self.with_seat(thread, |seat| {
            seat.announced = None;
            seat.routine.take()
        })??;
        let inside = Some((Rc::clone(&self.shared), thread));
        let outside = CURRENT.replace(inside);
        let result = routine.resume(answer);
        CURRENT.set(outside);
        match result {
            CoroutineResult::Yield(announced) => {
                self.with_seat(thread, |seat| {
                    seat.announced = Some(announced);
                    seat.routine = Some(routine);
                });
                Some(announced)
            }
            CoroutineResult::Return(panic) => {
                let stack = ManuallyDrop::into_inner(routine).into_stack();
                self.shared.common.borrow_mut().stacks.push(stack);
                self.panic = panic;
                self.panic.as_ref().map(|_| Operation::Panic.into())
            }
        }
    }

    /// Goes on to the end, in any way from where objects are like this, so that what threads have on
    /// their stacks is dropped as in every other execution.
    pub(crate) fn finish(mut self, mut objects: Objects, most_steps: usize) {
        let mut last = 0;
        for _ in 0..most_steps {
            let count = self.shared.seats.borrow().len() as u16;
            // All in turn, because some may wait for others in a loop.
            let mut next = (1..=count).map(|k| (last + k) % count);
            let possible = next.find_map(|thread| {
                let operation = self.with_seat(thread, |seat| seat.announced)??.operation;
                let choice = *objects.choices(thread, operation).first()?;
                Some((thread, operation, choice))
            });
            let Some((thread, operation, choice)) = possible else {
                return;
            };
            let (answer, _) = objects.apply(thread, operation, choice);
            if self.advance(thread, answer) == Some(Operation::Panic.into()) {
                return;
            }
            last = thread;
        }
    }
}
