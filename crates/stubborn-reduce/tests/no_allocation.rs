//! Once warm, choosing a set allocates nothing, whatever the algorithm and its strategies.

mod common;
#[path = "common/philosophers.rs"]
mod philosophers;

use std::alloc::{GlobalAlloc, Layout, System as SystemAllocator};
use std::cell::Cell;

use stubborn_reduce::{Aim, Algorithm, Goals, Plan, StubbornReduction};
use stubborn_system::{BitSet, Expansion, LabelId, Reduction, Relations, Successors, System};

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: everything is handed to the system's allocator; only a counter is kept.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { SystemAllocator.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { SystemAllocator.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn sets_are_chosen_without_allocating() {
    let model = philosophers::banquet(2, 3);
    let relations = Relations::from_sets(model.structure());
    let states = stubborn_reduce::validate::explore::explore(
        &model,
        None,
        stubborn_reduce::NeededProviso::None,
        &[],
        500,
    );
    let mut executor = model.executor();
    let sample: Vec<(Vec<u32>, Successors)> = states
        .states
        .into_iter()
        .step_by(17)
        .map(|state| {
            let mut successors = Successors::new(model.layout().words());
            executor.successors(&state, &mut successors);
            (state, successors)
        })
        .collect();
    let mut kept = BitSet::new(model.structure().transitions.len());
    for config in common::all_configs() {
        let aim = match config.algorithm {
            Algorithm::Goal => Aim::Goals(Goals::labels([LabelId::new(1)])),
            _ => Aim::Deadlocks,
        };
        let plan = Plan::new(&config, aim).expect("a plan");
        let reduction = StubbornReduction::new(&model, &relations, plan).expect("a reduction");
        for mut reducer in [reduction.reducer(), reduction.forgetful_reducer()] {
            let mut count = 0;
            // The first rounds warm up: buffers that are swapped grow in turn.
            for _ in 0..4 {
                let before = ALLOCATIONS.get();
                for (state, successors) in &sample {
                    let mut expansion = Expansion {
                        state,
                        executor: executor.as_mut(),
                        successors,
                        is_known: None,
                    };
                    reducer.reduce(&mut expansion, &mut kept);
                }
                count = ALLOCATIONS.get() - before;
            }
            assert_eq!(count, 0, "{}", reduction.name());
        }
    }
}
