//! Real threads that wait for their turn: one runs at a time, until its next operation.

use std::cell::RefCell;
use std::collections::HashMap;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use super::operation::Operation;

/// Numbers that are the same in all executions: the first object of a thread is always the same
/// one, and so is its first child.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    objects: HashMap<(u16, u32), u32>,
    threads: HashMap<(u16, u32), u16>,
}

impl Numbers {
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

/// One thread of an execution.
#[derive(Debug, Default)]
struct Seat {
    /// What it is about to do.
    announced: Option<Operation>,
    wake: Arc<Condvar>,
    objects: u32,
    children: u32,
}

#[derive(Debug, Default)]
struct Board {
    /// Who runs; nobody while the search decides.
    turn: Option<u16>,
    answer: u32,
    seats: HashMap<u16, Seat>,
    /// What a thread said when it panicked.
    panic: Option<String>,
    /// Everybody goes home.
    aborting: bool,
    handles: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    board: Mutex<Board>,
    search: Condvar,
    numbers: Arc<Mutex<Numbers>>,
}

impl Shared {
    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

thread_local! {
    /// The execution that this thread belongs to, and its number there.
    static CURRENT: RefCell<Option<(Arc<Shared>, u16)>> = const { RefCell::new(None) };
}

/// Unwinds threads of executions that nobody needs any more.
struct Abort;

fn current() -> (Arc<Shared>, u16) {
    let current = CURRENT.with(|current| current.borrow().clone());
    current.expect("this works inside of a check only: see `stubborn_dpor::check`")
}

/// Stops until the operation may happen; its answer.
pub(crate) fn perform(operation: Operation) -> u32 {
    let (shared, me) = current();
    let mut board = shared.board();
    if thread::panicking() {
        // What is dropped on the way out of a panic does not matter any more.
        return 0;
    }
    if let Some(seat) = board.seats.get_mut(&me) {
        seat.announced = Some(operation);
    }
    board.turn = None;
    shared.search.notify_one();
    wait(&shared, me, board)
}

/// Waits for a turn.
fn wait(shared: &Shared, me: u16, mut board: MutexGuard<'_, Board>) -> u32 {
    let wake = Arc::clone(&board.seats.entry(me).or_default().wake);
    while board.turn != Some(me) && !board.aborting {
        board = wake.wait(board).unwrap_or_else(PoisonError::into_inner);
    }
    if board.aborting {
        drop(board);
        panic::resume_unwind(Box::new(Abort));
    }
    let _ = shared;
    board.answer
}

/// The number of a new object.
pub(crate) fn new_object() -> u32 {
    let (shared, me) = current();
    let mut board = shared.board();
    let seat = board.seats.entry(me).or_default();
    seat.objects += 1;
    let at = seat.objects;
    let mut numbers = shared
        .numbers
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    numbers.object(me, at)
}

/// Starts a thread of the current execution; its number.
pub(crate) fn spawn(body: impl FnOnce() + Send + 'static) -> u16 {
    let (shared, me) = current();
    let child = {
        let mut board = shared.board();
        let seat = board.seats.entry(me).or_default();
        seat.children += 1;
        let at = seat.children;
        let mut numbers = shared
            .numbers
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        numbers.thread(me, at)
    };
    perform(Operation::Spawn(child));
    seat(&shared, child, body);
    child
}

/// A real thread that waits for its first turn.
fn seat(shared: &Arc<Shared>, number: u16, body: impl FnOnce() + Send + 'static) {
    let mine = Arc::clone(shared);
    let run = move || {
        CURRENT.with(|current| *current.borrow_mut() = Some((Arc::clone(&mine), number)));
        let result = panic::catch_unwind(AssertUnwindSafe(|| {
            wait(&mine, number, mine.board());
            body();
            perform(Operation::Finish);
        }));
        let mut board = mine.board();
        if let Err(payload) = result
            && !payload.is::<Abort>()
        {
            let text = payload.downcast_ref::<&str>().map(|t| (*t).to_owned());
            let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
            board.panic = Some(text.unwrap_or_else(|| "(no text)".into()));
            if let Some(seat) = board.seats.get_mut(&number) {
                seat.announced = Some(Operation::Panic);
            }
        }
        board.turn = None;
        mine.search.notify_one();
    };
    let mut board = shared.board();
    board.seats.entry(number).or_default().announced = Some(Operation::Start);
    board.handles.push(thread::spawn(run));
}

/// One execution, as far as it has gone.
#[derive(Debug)]
pub(crate) struct Execution {
    shared: Arc<Shared>,
}

impl Execution {
    pub(crate) fn new(numbers: &Arc<Mutex<Numbers>>, code: Arc<dyn Fn() + Send + Sync>) -> Self {
        let shared = Arc::new(Shared {
            board: Mutex::default(),
            search: Condvar::new(),
            numbers: Arc::clone(numbers),
        });
        seat(&shared, 0, move || code());
        Self { shared }
    }

    /// Lets a thread do what it has announced; what it announces next, if it is not done.
    pub(crate) fn advance(&self, thread: u16, answer: u32) -> Option<Operation> {
        let mut board = self.shared.board();
        board.answer = answer;
        board.turn = Some(thread);
        let seat = board.seats.entry(thread).or_default();
        seat.announced = None;
        seat.wake.notify_one();
        while board.turn.is_some() {
            let search = &self.shared.search;
            board = search.wait(board).unwrap_or_else(PoisonError::into_inner);
        }
        board.seats.get(&thread).and_then(|seat| seat.announced)
    }

    /// What a thread said when it panicked.
    pub(crate) fn panic(&self) -> Option<String> {
        self.shared.board().panic.clone()
    }
}

impl Drop for Execution {
    fn drop(&mut self) {
        let handles = {
            let mut board = self.shared.board();
            board.aborting = true;
            board.seats.values().for_each(|seat| seat.wake.notify_all());
            std::mem::take(&mut board.handles)
        };
        for handle in handles {
            // Panics were caught.
            let _ = handle.join();
        }
    }
}
