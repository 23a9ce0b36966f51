//! Stubborn sets for checkers written in C: the functions of `include/stubborn.h`, over
//! [`stubborn_reduce::lpor`].
//!
//! The header is the documentation. Nothing unwinds into C: a panic is an error like any other, and
//! numbers beyond what was announced are refused. Nothing ends the caller's program: memory of a size
//! that a caller gave is asked for in a way that may fail, or its size is tried before.

mod tables;

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use stubborn_reduce::lpor::{
    ConditionId, Cycles, ForwardSets, Keep, Lpor, Situation, TransitionId, Unconditional,
    Worker as Sets,
};
use stubborn_reduce::{Algorithm, Config};

use tables::{Pair, Tables, expect_memory};

/// From so many bytes on, each set finds out whether there is memory for it.
const MUCH_FOR_A_SET: u64 = 1 << 20;

/// Most bytes for forward-enable sets that are computed before they are needed.
const MOST_PRECOMPUTED: u64 = 1 << 30;

thread_local! {
    static ERROR: RefCell<CString> = RefCell::default();
}

/// Runs what a function does; what goes wrong is kept for [`stubborn_error`].
fn guarded<T>(failed: T, act: impl FnOnce() -> Result<T, String>) -> T {
    let outcome = catch_unwind(AssertUnwindSafe(act));
    let message = match outcome {
        Ok(Ok(value)) => return value,
        Ok(Err(message)) => message,
        Err(_) => "an internal error of stubborn".into(),
    };
    ERROR.with_borrow_mut(|error| *error = CString::new(message).unwrap_or_default());
    failed
}

/// Says why the last call in this thread failed.
#[unsafe(no_mangle)]
pub extern "C" fn stubborn_error() -> *const c_char {
    ERROR.with_borrow(|error| error.as_ptr())
}

/// Empty relations.
#[unsafe(no_mangle)]
pub extern "C" fn stubborn_relations_new(transitions: u32, conditions: u32) -> *mut Tables {
    guarded(std::ptr::null_mut(), || {
        let tables = Tables::new(transitions as usize, conditions as usize)?;
        Ok(Box::into_raw(Box::new(tables)))
    })
}

/// Frees relations that became no reduction.
///
/// # Safety
/// They came from [`stubborn_relations_new`] and are used no more; or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stubborn_relations_free(relations: *mut Tables) {
    if !relations.is_null() {
        // SAFETY: made by `Box::into_raw`, and the caller gives it up.
        drop(unsafe { Box::from_raw(relations) });
    }
}

/// States one fact.
///
/// # Safety
/// As for the functions that call it.
unsafe fn state(relations: *mut Tables, fact: Pair, row: u32, column: u32) -> c_int {
    guarded(-1, || {
        // SAFETY: the caller's relations, in this thread alone; or null.
        let relations = unsafe { relations.as_mut() }.ok_or("there are no relations")?;
        relations.insert(fact, row as usize, column as usize)?;
        Ok(0)
    })
}

macro_rules! facts {
    ($($(#[$doc:meta])* $name:ident => $fact:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// The relations came from [`stubborn_relations_new`], were not given away, and no other
        /// thread uses them.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(relations: *mut Tables, row: u32, column: u32) -> c_int {
            // SAFETY: the same promise.
            unsafe { state(relations, Pair::$fact, row, column) }
        }
    )*};
}

facts! {
    /// One transition can enable another one.
    stubborn_can_enable => Enables;
    /// One transition disturbs another one.
    stubborn_disturbs => Disturbs;
    /// One transition disturbs another one by disabling it alone.
    stubborn_only_disables => OnlyDisables;
    /// A transition is disabled where a condition does not hold.
    stubborn_waits_for => WaitsFor;
    /// A transition can make a condition true.
    stubborn_can_satisfy => Satisfies;
    /// A transition belongs to a process.
    stubborn_belongs_to => Process;
}

/// A transition can change whether a state is bad.
///
/// # Safety
/// As for [`stubborn_can_enable`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stubborn_is_visible(relations: *mut Tables, t: u32) -> c_int {
    // SAFETY: the same promise.
    unsafe { state(relations, Pair::Visible, t, 0) }
}

/// A reduction, shared by its workers.
#[derive(Clone, Debug)]
pub struct Reduction {
    lpor: Arc<Lpor<Tables>>,
    /// The search decides what is not enough.
    proviso: bool,
}

/// A reduction by these relations.
///
/// # Safety
/// The relations came from [`stubborn_relations_new`] and are used no more; the algorithm is null or a
/// text that ends with zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stubborn_reduction_new(
    relations: *mut Tables,
    keep: c_int,
    algorithm: *const c_char,
) -> *mut Reduction {
    guarded(std::ptr::null_mut(), || {
        if relations.is_null() {
            return Err("there are no relations".into());
        }
        // SAFETY: made by `Box::into_raw`, and the caller gives it up.
        let relations = unsafe { Box::from_raw(relations) };
        let proviso = keep == 2;
        let keep = match keep {
            0 => Keep::Deadlocks,
            1 => Keep::Invariants(Cycles::None),
            // Asked after the set is known, with the context of the state.
            2 => Keep::Invariants(Cycles::Proviso(Box::new(|_| false))),
            other => return Err(format!("there is nothing number {other} to keep")),
        };
        let lpor = if algorithm.is_null() {
            // Sets are the same, and computed anew where all of them take too much memory.
            let most = relations.bytes_of_reduction(true);
            let forward = match most <= MOST_PRECOMPUTED && expect_memory(most).is_ok() {
                true => ForwardSets::Precomputed,
                false => ForwardSets::OnLine,
            };
            expect_memory(relations.bytes_of_reduction(false))?;
            Lpor::with_forward_sets(*relations, keep, forward)
        } else {
            expect_memory(relations.bytes_of_reduction(false))?;
            // SAFETY: the caller's text.
            let name = unsafe { CStr::from_ptr(algorithm) }.to_string_lossy();
            let algorithm: Algorithm = name.parse().map_err(|error| format!("{error}"))?;
            Lpor::by(*relations, keep, &Config::new(algorithm))
        };
        Ok(Box::into_raw(Box::new(Reduction {
            lpor: Arc::new(lpor.map_err(|error| error.to_string())?),
            proviso,
        })))
    })
}

/// Frees a reduction.
///
/// # Safety
/// It came from [`stubborn_reduction_new`] and is used no more; or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stubborn_reduction_free(reduction: *mut Reduction) {
    if !reduction.is_null() {
        // SAFETY: made by `Box::into_raw`, and the caller gives it up.
        drop(unsafe { Box::from_raw(reduction) });
    }
}

/// Computes sets in one thread.
#[derive(Debug)]
pub struct Worker {
    /// Borrows from what `reduction` shares, and is dropped before it.
    sets: Sets<'static, Tables>,
    reduction: Reduction,
}

/// A worker for one thread.
///
/// # Safety
/// The reduction came from [`stubborn_reduction_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stubborn_worker_new(reduction: *const Reduction) -> *mut Worker {
    guarded(std::ptr::null_mut(), || {
        // SAFETY: the caller's reduction, which nobody changes; or null.
        let reduction = unsafe { reduction.as_ref() }.ok_or("there is no reduction")?;
        let reduction = reduction.clone();
        expect_memory(reduction.lpor.relations().bytes_of_worker())?;
        let lpor: *const Lpor<Tables> = Arc::as_ptr(&reduction.lpor);
        // SAFETY: what the worker borrows from stays where it is as long as the worker's own share of
        // it lives, and that is dropped after it.
        let sets = unsafe { &*lpor }.worker();
        Ok(Box::into_raw(Box::new(Worker { sets, reduction })))
    })
}

/// Frees a worker.
///
/// # Safety
/// It came from [`stubborn_worker_new`] and is used no more; or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stubborn_worker_free(worker: *mut Worker) {
    if !worker.is_null() {
        // SAFETY: made by `Box::into_raw`, and the caller gives it up.
        drop(unsafe { Box::from_raw(worker) });
    }
}

/// What the search knows of one state.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Here {
    context: *mut c_void,
    holds: Option<Holds>,
    insufficient: Option<Insufficient>,
}

type Holds = unsafe extern "C" fn(*mut c_void, u32) -> bool;
type Insufficient = unsafe extern "C" fn(*mut c_void, *const u32, usize) -> bool;

impl Here {
    /// With these functions, both of which get the context.
    pub fn new(
        context: *mut c_void,
        holds: Option<Holds>,
        insufficient: Option<Insufficient>,
    ) -> Self {
        Self {
            context,
            holds,
            insufficient,
        }
    }
}

impl Situation for Here {
    fn holds(&self, condition: ConditionId) -> bool {
        // SAFETY: the caller's function with the caller's context.
        let ask = |holds: Holds| unsafe { holds(self.context, condition.index() as u32) };
        self.holds.is_none_or(ask)
    }
}

/// A stubborn set of a state.
///
/// # Safety
/// The worker came from [`stubborn_worker_new`] and is used by this thread alone; `enabled` and `chosen`
/// have `count` elements (and may be null if that is zero); the situation is null, or its functions can be
/// called with its context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stubborn_set(
    worker: *mut Worker,
    enabled: *const u32,
    count: usize,
    situation: *const Here,
    chosen: *mut u32,
) -> i64 {
    guarded(-1, || {
        // SAFETY: the caller's worker, used by this thread alone; or null.
        let worker = unsafe { worker.as_mut() }.ok_or("there is no worker")?;
        if count == 0 {
            return Ok(0);
        }
        if enabled.is_null() || chosen.is_null() {
            return Err("there is no place for the set".into());
        }
        let known = worker.reduction.lpor.relations().known();
        if count > known {
            return Err(format!(
                "there are no {count} enabled transitions, but {known} in all"
            ));
        }
        // SAFETY: the caller's array of this length.
        let enabled = unsafe { std::slice::from_raw_parts(enabled, count) };
        if let Some(beyond) = enabled.iter().find(|t| **t as usize >= known) {
            return Err(format!(
                "there is no transition {beyond}, but {known} from 0"
            ));
        }
        let bytes = worker.reduction.lpor.relations().bytes_of_worker();
        if bytes >= MUCH_FOR_A_SET {
            expect_memory(bytes)?;
        }
        // SAFETY: the caller's situation, or null.
        let here = unsafe { situation.as_ref() };
        let insufficient = here.and_then(|here| here.insufficient);
        if worker.reduction.proviso && insufficient.is_none() {
            return Err("invariants need a function that says which sets are not enough".into());
        }
        let ids: Vec<TransitionId> = enabled
            .iter()
            .map(|t| TransitionId::new(*t as usize))
            .collect();
        let set = match here {
            Some(here) => worker.sets.set_in(&ids, here),
            None => worker.sets.set_in(&ids, &Unconditional),
        };
        let mut set: Vec<u32> = set.iter().map(|t| t.index() as u32).collect();
        if let (true, Some(here), Some(insufficient)) =
            (worker.reduction.proviso, here, insufficient)
        {
            // SAFETY: the caller's function with the caller's context.
            let all =
                set.len() < count && unsafe { insufficient(here.context, set.as_ptr(), set.len()) };
            if all {
                set = enabled.to_vec();
            }
        }
        // SAFETY: the caller has room for `count`, and there are not more.
        unsafe { std::ptr::copy_nonoverlapping(set.as_ptr(), chosen, set.len()) };
        Ok(set.len() as i64)
    })
}
