//! What generated code calls: rare things that are not worth generating code for.
//!
//! Everything here takes raw pointers from generated code, which passes exactly the buffers
//! that it was given by [`Code`](crate::code::Code).

use std::cell::RefCell;
use std::sync::Arc;

use stubborn_ir::Model;
use stubborn_ir::repetition::Repetition;
use stubborn_system::layout::ArrayPlace;
use stubborn_system::{Budget, Field, Outcome, SpareRoom, System, TransitionId};

/// After this many rounds a loop asks [`again`] in each round.
pub(crate) const MANY_ROUNDS: u64 = 32;
/// Such rounds between two looks at the budget.
const POLL: u64 = 1 << 12;
/// What [`again`] says to a loop that may go on; no step ends so.
pub(crate) const GOES_ON: Outcome = Outcome::violation(0);

/// Facts that helpers need; its address is a constant in the generated code.
#[derive(Debug)]
pub(crate) struct Runtime {
    words: usize,
    error_state: Option<Vec<u32>>,
    channels: Vec<ChannelFacts>,
    budget: Arc<Budget>,
}

/// Where a channel lies, for helpers.
#[derive(Debug)]
pub(crate) struct ChannelFacts {
    words: usize,
    length: Field,
    items: Vec<(ArrayPlace, Field)>,
}

impl Runtime {
    pub(crate) fn new(model: &Model) -> Box<Self> {
        let layout = model.layout();
        let channels = model.encoding().channels.iter().map(|place| ChannelFacts {
            words: layout.words(),
            length: layout.field(place.length).clone(),
            items: place
                .items
                .iter()
                .map(|item| (*item, layout.field(item.first).clone()))
                .collect(),
        });
        Box::new(Self {
            words: layout.words(),
            error_state: model.structure().error_state.clone(),
            channels: channels.collect(),
            budget: Arc::clone(model.shared_budget()),
        })
    }

    /// The facts of one channel; they stay where they are as long as the runtime lives.
    pub(crate) fn channel(&self, index: usize) -> &ChannelFacts {
        &self.channels[index]
    }
}

impl ChannelFacts {
    fn read(&self, state: &[u32], item: usize, position: u32) -> u32 {
        let (place, field) = &self.items[item];
        if field.bits == 0 {
            return 0;
        }
        let bit = place.base_bit + position * u32::from(place.stride);
        state[bit as usize / 32] >> (bit % 32) & field.low_mask()
    }

    fn write(&self, state: &mut [u32], item: usize, position: u32, raw: u32) {
        let (place, field) = &self.items[item];
        if field.bits == 0 {
            return;
        }
        let bit = place.base_bit + position * u32::from(place.stride);
        let word = &mut state[bit as usize / 32];
        *word = *word & !(field.low_mask() << (bit % 32)) | raw << (bit % 32);
    }

    /// The number of messages, never more than there is room for.
    fn count(&self, state: &[u32]) -> u32 {
        self.length.raw(state).min(self.length.max as u32)
    }
}

/// Makes entry `at` of the spare room the step of `transition` from `source` to the error
/// state, after what was violated before, and returns the number of entries: `at + 1`, or `at`
/// if there is no error state or if the step did not fail but [gave up](again).
///
/// # Safety
/// `source` has a state's words, and the room an entry `at`.
pub(crate) unsafe extern "C" fn fail(
    runtime: *const Runtime,
    room: *const SpareRoom,
    at: usize,
    source: *const u32,
    violated: Outcome,
    failure: Outcome,
    transition: u32,
) -> usize {
    if failure == Outcome::FINE {
        return at;
    }
    // SAFETY: generated code passes its own arguments and the address of its runtime.
    unsafe {
        let Some(error) = &(*runtime).error_state else {
            return at;
        };
        let (words, room) = ((*runtime).words, &*room);
        let mask_words = words.div_ceil(64);
        let masks = room.masks.add(at * mask_words);
        for i in 0..mask_words {
            masks.add(i).write(0);
        }
        for (i, word) in error.iter().enumerate() {
            room.states.add(at * words + i).write(*word);
            if source.add(i).read() != *word {
                *masks.add(i / 64) |= 1 << (i % 64);
            }
        }
        room.transitions
            .add(at)
            .write(TransitionId::new(transition as usize));
        room.outcomes.add(at).write(violated.then(failure));
        at + 1
    }
}

/// The loops that a thread is running.
#[derive(Default)]
struct Loops {
    /// Outermost first.
    open: Vec<Repetition>,
    /// Rounds of all loops that asked.
    rounds: u64,
}

thread_local! {
    static LOOPS: RefCell<Loops> = RefCell::default();
}

/// Is told the state before each round of a loop from round [`MANY_ROUNDS`] on, and how many
/// loops are around it. Answers that it [may go on](GOES_ON), or how the step ends: in `endless`
/// if the state has come again; without any outcome and any successor if the budget is spent.
///
/// # Safety
/// `state` has a state's words, and there are so many temporaries.
pub(crate) unsafe extern "C" fn again(
    runtime: *const Runtime,
    around: u32,
    rounds: u64,
    state: *const u32,
    temporaries: *const u32,
    count: u32,
    endless: Outcome,
) -> Outcome {
    // SAFETY: as the caller promises.
    let (runtime, state, temporaries) = unsafe {
        let runtime = &*runtime;
        (
            runtime,
            std::slice::from_raw_parts(state, runtime.words),
            std::slice::from_raw_parts(temporaries, count as usize),
        )
    };
    LOOPS.with_borrow_mut(|loops| {
        loops.rounds += 1;
        if loops.rounds.is_multiple_of(POLL) && runtime.budget.poll().is_some() {
            return Outcome::FINE;
        }
        let around = around as usize;
        if loops.open.len() <= around {
            loops.open.resize_with(around + 1, Repetition::default);
        }
        if rounds == MANY_ROUNDS {
            loops.open[around].restart();
        }
        match loops.open[around].is_back(state, temporaries) {
            true => endless,
            false => GOES_ON,
        }
    })
}

/// Copies a state.
///
/// # Safety
/// Both have `words` words and do not overlap.
pub(crate) unsafe extern "C" fn copy(target: *mut u32, source: *const u32, words: usize) {
    // SAFETY: as the caller promises.
    unsafe { target.copy_from_nonoverlapping(source, words) }
}

/// Puts a message into a channel that has room, before the first larger one: its raw items come
/// first, then the values that were to be sent, which count in comparisons.
///
/// # Safety
/// `state` has a state's words, `message` twice as many as the channel has items.
pub(crate) unsafe extern "C" fn send_sorted(
    channel: *const ChannelFacts,
    state: *mut u32,
    message: *const u32,
) {
    // SAFETY: as the caller promises.
    let (channel, state, message) = unsafe {
        let channel = &*channel;
        (
            channel,
            std::slice::from_raw_parts_mut(state, channel.words),
            std::slice::from_raw_parts(message, 2 * channel.items.len()),
        )
    };
    let (message, given) = message.split_at(channel.items.len());
    let length = channel.count(state);
    let larger = |state: &[u32], p: u32| {
        let there = channel.items.iter().enumerate();
        let there = there.map(|(i, (_, field))| field.min + i64::from(channel.read(state, i, p)));
        there.gt(given.iter().map(|value| i64::from(*value as i32)))
    };
    let position = (0..length).find(|p| larger(state, *p)).unwrap_or(length);
    for (item, raw) in message.iter().enumerate() {
        for p in (position..length).rev() {
            let moved = channel.read(state, item, p);
            channel.write(state, item, p + 1, moved);
        }
        channel.write(state, item, position, *raw);
    }
    channel
        .length
        .set(state, i64::from(channel.length.raw(state)) + 1);
}

/// Removes the message at a position, which is below the channel's length.
///
/// # Safety
/// `state` has a state's words.
pub(crate) unsafe extern "C" fn remove(
    channel: *const ChannelFacts,
    state: *mut u32,
    position: u32,
) {
    // SAFETY: as the caller promises.
    let (channel, state) = unsafe {
        let channel = &*channel;
        (
            channel,
            std::slice::from_raw_parts_mut(state, channel.words),
        )
    };
    let length = channel.count(state);
    if position >= length {
        return;
    }
    for item in 0..channel.items.len() {
        for p in position..length - 1 {
            let moved = channel.read(state, item, p + 1);
            channel.write(state, item, p, moved);
        }
        channel.write(state, item, length - 1, 0);
    }
    channel.length.set(state, i64::from(length) - 1);
}
