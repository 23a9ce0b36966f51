//! Threads as stacks of their own that the search switches between: one runs at a time, until its
//! next operation.

#![allow(
    unsafe_code,
    reason = "an operation finds its way back from anywhere on a stack"
)]

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::mem::ManuallyDrop;
use std::panic::{self, AssertUnwindSafe};
use std::rc::Rc;
use std::{ptr, thread};

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

use super::operation::{Objects, Operation};

/// Bytes of a thread's stack; pages that nobody touches cost nothing.
const STACK: usize = 2 << 20;

/// What all executions of a check have in common: numbers that are the same in all of them (the
/// first object of a thread is always the same one, and so is its first child), and stacks.
#[derive(Default)]
pub(crate) struct Common {
    objects: HashMap<(u16, u32), u32>,
    threads: HashMap<(u16, u32), u16>,
    stacks: Vec<DefaultStack>,
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

    /// How many threads there are in any execution.
    pub(crate) fn thread_count(&self) -> usize {
        self.threads.len() + 1
    }
}

/// Takes answers, announces operations, ends with what a panic said.
type Routine = Coroutine<u32, Operation, Option<String>>;

/// One thread of an execution.
struct Seat {
    /// What it is about to do.
    announced: Option<Operation>,
    /// Where it stopped; nothing while it runs, and when it is done. One that never comes to its end
    /// is never dropped: its destructors would wait for what never happens.
    routine: Option<ManuallyDrop<Routine>>,
    /// The way back to the search.
    back: *const Yielder<u32, Operation>,
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

/// The text of a panic that was not caught, because it did not come that far.
const UNWINDING: &str = "(see above: a destructor waits for another thread while its own panics)";

/// Does something with the seat of who runs, and with what all executions have in common.
fn current<R>(act: impl FnOnce(&mut Seat, &mut Common, u16) -> R) -> R {
    CURRENT.with_borrow(|current| {
        let (shared, me) = current.as_ref().expect(OUTSIDE);
        let mut seats = shared.seats.borrow_mut();
        let seat = seats[usize::from(*me)].as_mut().expect(OUTSIDE);
        act(seat, &mut shared.common.borrow_mut(), *me)
    })
}

/// Stops until the operation may happen; its answer.
pub(crate) fn perform(operation: Operation) -> u32 {
    let back = current(|seat, _, _| seat.back);
    if thread::panicking() {
        // What is dropped on the way out of a panic does not matter any more.
        return 0;
    }
    // SAFETY: `back` was set by the body of the routine that runs, which has not returned: we are
    // called by it, on its stack. `CURRENT` is set wherever a routine is resumed, and nowhere else.
    unsafe { &*back }.suspend(operation)
}

/// Where somebody would have to wait while destructors run because of a panic: nobody else runs any
/// more, and the check is over.
pub(crate) fn no_waiting() -> ! {
    let back = current(|seat, _, _| seat.back);
    loop {
        // SAFETY: as in `perform`.
        unsafe { &*back }.suspend(Operation::Panic);
    }
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
        let run = move |back: &Yielder<u32, Operation>, _| {
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
            announced: Some(Operation::Start),
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
    pub(crate) fn advance(&mut self, thread: u16, answer: u32) -> Option<Operation> {
        let mut routine = self.with_seat(thread, |seat| {
            seat.announced = None;
            seat.routine.take()
        })??;
        let inside = Some((Rc::clone(&self.shared), thread));
        let outside = CURRENT.replace(inside);
        let result = routine.resume(answer);
        CURRENT.set(outside);
        match result {
            CoroutineResult::Yield(operation) => {
                if operation == Operation::Panic {
                    self.panic = Some(UNWINDING.into());
                }
                self.with_seat(thread, |seat| {
                    seat.announced = Some(operation);
                    seat.routine = Some(routine);
                });
                Some(operation)
            }
            CoroutineResult::Return(panic) => {
                let stack = ManuallyDrop::into_inner(routine).into_stack();
                self.shared.common.borrow_mut().stacks.push(stack);
                self.panic = panic;
                self.panic.as_ref().map(|_| Operation::Panic)
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
                let operation = self.with_seat(thread, |seat| seat.announced)??;
                let choice = *objects.choices(thread, operation).first()?;
                Some((thread, operation, choice))
            });
            let Some((thread, operation, choice)) = possible else {
                return;
            };
            let (answer, _) = objects.apply(thread, operation, choice);
            if self.advance(thread, answer) == Some(Operation::Panic) {
                return;
            }
            last = thread;
        }
    }
}
