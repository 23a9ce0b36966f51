//! Relations as tables of bits, filled pair by pair.

use stubborn_reduce::lpor::{ConditionId, Relations, TransitionId};

/// Bytes for each pair of a relation: rows as they are collected, sorted and kept, in the seam and in
/// the tables of an algorithm, forwards and backwards.
const BYTES_OF_PAIR: u64 = 96;

/// Bytes for each transition and label: names, vectors without elements, buffers.
const BYTES_OF_NUMBER: u64 = 2048;

/// Bytes for each process.
const BYTES_OF_PROCESS: u64 = 256;

/// A fact about two of the things that are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pair {
    Enables,
    Disturbs,
    OnlyDisables,
    WaitsFor,
    Satisfies,
    Process,
    Visible,
}

/// Rows of bits, one after the other.
#[derive(Debug)]
struct Bits {
    words: Vec<u64>,
    /// Words of a row.
    width: usize,
}

impl Bits {
    fn new(rows: usize, columns: usize) -> Result<Self, String> {
        let width = columns.div_ceil(64);
        let words = filled(rows * width, 0)?;
        Ok(Self { words, width })
    }

    fn place(&self, row: usize, column: usize) -> (usize, u64) {
        (row * self.width + column / 64, 1 << (column % 64))
    }

    fn contains(&self, row: usize, column: usize) -> bool {
        let (at, bit) = self.place(row, column);
        self.words[at] & bit != 0
    }

    /// True if it was not there.
    fn insert(&mut self, row: usize, column: usize) -> bool {
        let (at, bit) = self.place(row, column);
        let is_new = self.words[at] & bit == 0;
        self.words[at] |= bit;
        is_new
    }
}

/// A vector of so many elements, if there is memory for it.
fn filled<T: Clone>(count: usize, value: T) -> Result<Vec<T>, String> {
    let mut all = Vec::new();
    all.try_reserve_exact(count)
        .map_err(|_| no_memory(count.saturating_mul(size_of::<T>())))?;
    all.resize(count, value);
    Ok(all)
}

fn no_memory(bytes: usize) -> String {
    format!(
        "there is no memory for {} MiB: announce fewer transitions and conditions",
        bytes.div_ceil(1 << 20)
    )
}

/// Memory that is left for what has no size that a caller gave.
const SPARE: usize = 8 << 20;

/// An error where so many bytes cannot be had. Rust ends the program where memory that it asks for
/// cannot be had, so whether it can is found out before.
pub(crate) fn expect_memory(bytes: u64) -> Result<(), String> {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    let bytes = bytes.saturating_add(SPARE);
    let mut all: Vec<u8> = Vec::new();
    all.try_reserve_exact(bytes).map_err(|_| no_memory(bytes))
}

/// What a caller has stated.
#[derive(Debug)]
pub struct Tables {
    enables: Bits,
    disturbs: Bits,
    only_disables: Bits,
    satisfies: Bits,
    conditions_of: Vec<Vec<ConditionId>>,
    processes: Vec<Option<usize>>,
    visible: Bits,
    conditions: usize,
    /// How many facts were stated.
    facts: u64,
}

impl Tables {
    pub(crate) fn new(transitions: usize, conditions: usize) -> Result<Self, String> {
        // A reduction numbers the members of all rows, twice, in 32 bits. A label is a condition, or says
        // that a transition is enabled, or that a state is bad; they come in words of 64.
        let labels = conditions as u64 + transitions as u64 + 65;
        if labels.saturating_mul(transitions as u64) >= 1 << 31 {
            return Err(format!(
                "{transitions} transitions and {conditions} conditions are too many: the former times \
                 both are to stay below 2^31"
            ));
        }
        let square = || Bits::new(transitions, transitions);
        let tables = Self {
            enables: square()?,
            disturbs: square()?,
            only_disables: square()?,
            satisfies: Bits::new(transitions, conditions)?,
            conditions_of: filled(transitions, Vec::new())?,
            processes: filled(transitions, None)?,
            visible: Bits::new(1, transitions)?,
            conditions,
            facts: 0,
        };
        expect_memory(0)?;
        Ok(tables)
    }

    /// How many transitions there are.
    pub(crate) fn known(&self) -> usize {
        self.processes.len()
    }

    /// Bytes for what is numbered, whatever is stated about it.
    fn bytes_of_numbers(&self) -> u64 {
        let processes = self.processes.iter().flatten().max();
        let processes = processes.map_or(0, |last| *last as u64 + 1);
        // A label is a condition, or says that a transition is enabled.
        let labels = self.known() as u64 + self.conditions as u64;
        (self.known() as u64 + labels) * BYTES_OF_NUMBER + processes * BYTES_OF_PROCESS
    }

    /// No fewer bytes than a reduction takes while it is made; with forward-enable sets, if they are
    /// precomputed.
    pub(crate) fn bytes_of_reduction(&self, precomputed: bool) -> u64 {
        let (t, c) = (self.known() as u64, self.conditions as u64);
        let visible = self.visible.words.iter();
        let visible = visible.map(|w| u64::from(w.count_ones())).sum::<u64>();
        // Every condition may be made false by every transition, and visible ones are added to rows.
        let pairs = self.facts + t * (c + visible + 4);
        let forward = if precomputed { t * t * 48 } else { 0 };
        pairs * BYTES_OF_PAIR + self.bytes_of_numbers() + t * t + forward
    }

    /// No fewer bytes than a worker takes, and while it computes a set.
    pub(crate) fn bytes_of_worker(&self) -> u64 {
        self.bytes_of_numbers()
    }

    /// States a fact; refuses what was not announced.
    pub(crate) fn insert(&mut self, fact: Pair, row: usize, column: usize) -> Result<(), String> {
        let below = |number: usize, count: usize, what: &str| {
            (number < count)
                .then_some(())
                .ok_or_else(|| format!("there is no {what} {number}, but {count} from 0"))
        };
        below(row, self.known(), "transition")?;
        match fact {
            Pair::Enables | Pair::Disturbs | Pair::OnlyDisables => {
                below(column, self.known(), "transition")?;
            }
            Pair::WaitsFor | Pair::Satisfies => below(column, self.conditions, "condition")?,
            // A process that belongs to nobody costs a little memory, and a number from nowhere a lot.
            Pair::Process => below(column, 1 << 16, "process")?,
            Pair::Visible => {}
        }
        let is_new = match fact {
            Pair::Enables => self.enables.insert(row, column),
            Pair::Disturbs => self.disturbs.insert(row, column),
            Pair::OnlyDisables => self.only_disables.insert(row, column),
            Pair::Satisfies => self.satisfies.insert(row, column),
            Pair::WaitsFor => {
                let (condition, all) = (ConditionId::new(column), &mut self.conditions_of[row]);
                let is_new = !all.contains(&condition);
                if is_new {
                    all.try_reserve(1).map_err(|_| no_memory(SPARE))?;
                    all.push(condition);
                }
                is_new
            }
            Pair::Process => self.processes[row].replace(column).is_none(),
            Pair::Visible => self.visible.insert(0, row),
        };
        self.facts += u64::from(is_new);
        Ok(())
    }
}

impl Relations for Tables {
    fn transitions(&self) -> usize {
        self.known()
    }

    fn can_enable(&self, t: TransitionId, u: TransitionId) -> bool {
        self.enables.contains(t.index(), u.index())
    }

    fn disturbs(&self, t: TransitionId, u: TransitionId) -> bool {
        self.disturbs.contains(t.index(), u.index())
    }

    fn reorders(&self, t: TransitionId, u: TransitionId) -> bool {
        self.disturbs(t, u) && !self.only_disables.contains(t.index(), u.index())
    }

    fn conditions(&self) -> usize {
        self.conditions
    }

    fn conditions_of(&self, t: TransitionId) -> &[ConditionId] {
        &self.conditions_of[t.index()]
    }

    fn can_satisfy(&self, t: TransitionId, condition: ConditionId) -> bool {
        self.satisfies.contains(t.index(), condition.index())
    }

    fn process_of(&self, t: TransitionId) -> Option<usize> {
        self.processes[t.index()]
    }

    fn is_visible(&self, t: TransitionId) -> bool {
        self.visible.contains(0, t.index())
    }
}

#[cfg(test)]
mod tests {
    use std::alloc::{GlobalAlloc, Layout, System};
    use std::cell::Cell;

    use stubborn_reduce::lpor::{Cycles, ForwardSets, Keep, Lpor, Unconditional};
    use stubborn_reduce::{Algorithm, Config};

    use super::*;

    /// Counts the bytes of each thread: now, and at most.
    struct Counting;

    thread_local! {
        static BYTES: Cell<(i64, i64)> = const { Cell::new((0, 0)) };
    }

    fn count(change: i64) {
        let _ = BYTES.try_with(|bytes| {
            let (now, most) = bytes.get();
            bytes.set((now + change, most.max(now + change)));
        });
    }

    // SAFETY: as the system's allocator, which does the work.
    unsafe impl GlobalAlloc for Counting {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            count(layout.size() as i64);
            // SAFETY: the same promise.
            unsafe { System.alloc(layout) }
        }

        unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
            count(-(layout.size() as i64));
            // SAFETY: the same promise.
            unsafe { System.dealloc(memory, layout) }
        }
    }

    #[global_allocator]
    static COUNTING: Counting = Counting;

    /// The most bytes that something takes beyond what there is, and its result.
    fn taken<T>(act: impl FnOnce() -> T) -> (u64, T) {
        let before = BYTES.get().0;
        BYTES.set((before, before));
        let result = act();
        ((BYTES.get().1 - before) as u64, result)
    }

    /// Facts of every kind about the first `stated` transitions and conditions.
    fn tables(transitions: usize, conditions: usize, stated: usize) -> Tables {
        let mut tables = Tables::new(transitions, conditions).expect("memory");
        let mut insert = |fact, row, column| tables.insert(fact, row, column).expect("a fact");
        let (rows, columns) = (stated.min(transitions), stated.min(conditions));
        for row in 0..rows {
            for other in 0..rows {
                for fact in [Pair::Enables, Pair::Disturbs, Pair::OnlyDisables] {
                    insert(fact, row, other);
                }
            }
            for condition in 0..columns {
                insert(Pair::WaitsFor, row, condition);
                insert(Pair::Satisfies, row, condition);
            }
            insert(Pair::Visible, row, 0);
            insert(Pair::Process, row, if row == 1 { 2_000 } else { row % 7 });
        }
        tables
    }

    /// Otherwise the program may end where there is little memory.
    #[test]
    fn no_more_memory_is_taken_than_was_expected() {
        let shapes = [
            (40, 0, 40),
            (40, 300, 40),
            (70, 9, 70),
            (350, 0, 5),
            (150, 0, 60),
            (3, 9_000, 3),
            (3, 900, 900),
        ];
        let algorithms = Algorithm::ALL.iter().map(Some).chain([None]);
        let mut closest = (0.0, 0.0);
        for algorithm in algorithms {
            for (transitions, conditions, stated) in shapes {
                for keep in [Keep::Deadlocks, Keep::Invariants(Cycles::None)] {
                    let shape =
                        format!("{algorithm:?} {transitions} {conditions} {stated} {keep:?}");
                    let tables = tables(transitions, conditions, stated);
                    let expected = tables.bytes_of_reduction(algorithm.is_none());
                    let (bytes, lpor) = taken(|| match algorithm {
                        Some(algorithm) => Lpor::by(tables, keep, &Config::new(*algorithm)),
                        None => Lpor::with_forward_sets(tables, keep, ForwardSets::Precomputed),
                    });
                    assert!(bytes <= expected, "{shape}: {bytes} bytes, not {expected}");
                    closest.0 = f64::max(closest.0, bytes as f64 / expected as f64);
                    let Ok(lpor) = lpor else {
                        continue;
                    };
                    let enabled: Vec<_> = (0..transitions).map(TransitionId::new).collect();
                    let expected = lpor.relations().bytes_of_worker();
                    let (bytes, _) = taken(|| lpor.worker().set_in(&enabled, &Unconditional));
                    assert!(
                        bytes <= expected,
                        "set, {shape}: {bytes} bytes, not {expected}"
                    );
                    closest.1 = f64::max(closest.1, bytes as f64 / expected as f64);
                }
            }
        }
        eprintln!("up to {closest:.3?} of what was expected");
        // What is refused without need is little, too.
        assert!(closest.0 > 0.1 && closest.1 > 0.1, "{closest:?}");
    }
}
