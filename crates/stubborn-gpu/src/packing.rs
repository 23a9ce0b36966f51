//! How states are packed on the card: as few bits as possible, in words of 63 bits.
//!
//! The layout of the [model](stubborn_ir::Model) has 32-bit words and elements of arrays at
//! powers of two, which suits a CPU. On the card, bytes are bandwidth, and the words of a state
//! are what the tree of the store shares. So:
//!
//! - Variables that nothing assigns take no bits.
//! - The others take as many bits as the values of a [sample](crate::sample) need; a value that
//!   does not fit is noticed. Ranges of bytes may wrap around: 255 often means "none".
//! - No field and no element straddles two words. Which go together is tried on the sample: the
//!   fewer different words there are, the fewer nodes has the tree.
//! - One bit of each 64-bit word stays free for the tables, which mark slots by it.
//!
//! The bit of the [error state](stubborn_system::Structure::error_state) is left out: that state
//! is never stored.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use stubborn_ir::{Expr, Item, Model, Program, Statement, VarId, VariablePlace};
use stubborn_system::layout::bits_for;
use stubborn_system::{FieldId, System};

/// Bits of a word that states may use.
pub(crate) const WORD_BITS: u32 = 63;
/// States of a sample that layouts are compared by.
const TRIED: usize = 4_000;

/// How values are written as bits: `(value - base) & mask`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Code {
    pub(crate) bits: u32,
    pub(crate) base: i32,
    /// All ones, unless values wrap around.
    pub(crate) mask: u32,
}

impl Code {
    /// Of nothing.
    pub(crate) const NOTHING: Code = Code {
        bits: 0,
        base: 0,
        mask: u32::MAX,
    };

    /// Of every value.
    pub(crate) const ANYTHING: Code = Code {
        bits: 32,
        base: 0,
        mask: u32::MAX,
    };

    /// Of all values between two.
    fn range(min: i64, max: i64) -> Self {
        Self {
            bits: u32::from(bits_for(min, max)),
            base: min as i32,
            mask: u32::MAX,
        }
    }

    /// The largest number that the bits can be.
    pub(crate) fn most(self) -> u32 {
        ((1_u64 << self.bits) - 1) as u32
    }

    fn raw(self, value: i64) -> u64 {
        u64::from((value as u32).wrapping_sub(self.base as u32) & self.mask)
    }

    fn value(self, raw: u64) -> i64 {
        let value = (raw as u32).wrapping_add(self.base as u32) & self.mask;
        i64::from(value as i32)
    }

    /// The code for values of an item of which some were seen.
    fn of_values(item: &Item, seen: &BTreeSet<i64>) -> Self {
        let (min, max) = (i64::from(item.min), i64::from(item.max));
        let declared = Self::range(min, max);
        let (Some(least), Some(most)) = (seen.first().copied(), seen.last().copied()) else {
            return declared;
        };
        // From 0 on, if that costs nothing; with room for one more value.
        let low = if least >= 0 && min <= 0 { 0 } else { least };
        let high = if most == low && max > low {
            low + 1
        } else {
            most
        };
        let plain = Self::range(low, high);
        match plain.bits < declared.bits {
            true => plain,
            false => declared,
        }
    }

    /// The code for bytes of which some were seen, beginning after the largest gap.
    fn of_bytes(seen: &BTreeSet<i64>) -> Self {
        let values: Vec<i64> = seen.iter().copied().collect();
        let after = |at: usize| values[(at + 1) % values.len()];
        let gap = |at: usize| (after(at) - values[at]).rem_euclid(256);
        let largest = (0..values.len()).max_by_key(|at| (gap(*at), values[*at]));
        let base = largest.map_or(0, after);
        let span = values
            .iter()
            .map(|value| (value - base).rem_euclid(256))
            .max()
            .unwrap_or(0);
        Self {
            bits: u32::from(bits_for(0, span.max(1))),
            base: base as i32,
            mask: 255,
        }
    }
}

/// Where a field lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) word: u32,
    pub(crate) shift: u32,
    pub(crate) code: Code,
}

impl Spot {
    /// Its bits, at the bottom of a word.
    pub(crate) fn mask(self) -> u64 {
        (1 << self.code.bits) - 1
    }
}

/// Elements of an array, one beside the other in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The first element, and how many there are.
    pub(crate) first: u32,
    pub(crate) count: u32,
    pub(crate) word: u32,
    pub(crate) shift: u32,
}

/// A variable, an array, or an item of all messages of a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// Its first field; the others follow.
    first: usize,
    pub(crate) len: u32,
    pub(crate) code: Code,
    process: Option<usize>,
    /// In the order of elements; none if it has no bits.
    pub(crate) pieces: Vec<Piece>,
    /// Its values, if they never change.
    pub(crate) fixed: Option<Vec<i32>>,
}

impl Group {
    fn bits(&self) -> u32 {
        self.code.bits * self.len
    }

    fn spot(&self, at: u32) -> Spot {
        let piece = self
            .pieces
            .iter()
            .find(|piece| (piece.first..piece.first + piece.count).contains(&at));
        let (word, shift) = piece.map_or((0, 0), |piece| {
            (
                piece.word,
                piece.shift + (at - piece.first) * self.code.bits,
            )
        });
        Spot {
            word,
            shift,
            code: self.code,
        }
    }
}

/// What else is known of how states should be packed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wish {
    /// The variable of an automaton's state: no command of the model changes it.
    pub(crate) watcher: Option<VarId>,
    /// So many words at least.
    pub(crate) fewest_words: u32,
    /// So many bits of a state of one word fit into a short slot.
    pub(crate) one_word: u32,
}

/// The places of all fields of a model.
#[derive(Clone, Debug)]
pub(crate) struct Packing {
    /// Words of a state.
    pub(crate) words: usize,
    /// Bits that are used.
    pub(crate) bits: u32,
    /// How many bits more than a sample suggests fields have; none if there are all that there can be.
    pub(crate) slack: Option<u32>,
    groups: Vec<Group>,
    /// By field of the model's layout: its group.
    of_field: Vec<usize>,
}

impl Packing {
    /// Packs as ranges say, or as states suggest, with so many bits more at least for what was guessed. Bits
    /// that cost nothing are taken in addition: the less often is a guess wrong.
    pub(crate) fn new(model: &Model, sample: Option<(&[u32], u32)>, wish: Wish) -> Self {
        let mut exact = groups(model);
        let mut assigned = assigned(model.program());
        if let Some(watcher) = wish.watcher {
            assigned.entry(watcher.index()).or_default();
        }
        fix(model, &assigned, &mut exact);
        let Some((states, slack)) = sample else {
            return Self::of(model, exact, None).laid_out(model, &[], wish.fewest_words);
        };
        let mut guessed = exact.clone();
        guess(model, states, wish.watcher, &assigned, &mut guessed);
        let with = |slack: u32| {
            let mut groups = guessed.clone();
            for (group, exact) in groups.iter_mut().zip(&exact) {
                group.code.bits += if group.code == exact.code { 0 } else { slack };
                if group.code.bits >= exact.code.bits {
                    group.code = exact.code;
                }
            }
            let is_exact = groups.iter().zip(&exact).all(|(a, b)| a.code == b.code);
            let packing = Self::of(model, groups, (!is_exact).then_some(slack));
            packing.laid_out(model, states, wish.fewest_words)
        };
        let first = with(slack);
        let values = first.different_words(model, states);
        let costs_nothing = |wider: &Self| match wider.words {
            1 => wider.longest_word() <= wish.one_word,
            words => {
                words == first.words && wider.different_words(model, states) <= values + values / 16
            }
        };
        // As many as there can be, or a few.
        [32, slack + 4, slack + 2, slack + 1]
            .into_iter()
            .filter(|_| first.slack.is_some())
            .map(with)
            .find(costs_nothing)
            .unwrap_or(first)
    }

    /// Without places.
    fn of(model: &Model, groups: Vec<Group>, slack: Option<u32>) -> Self {
        let mut of_field = vec![usize::MAX; model.layout().fields().len()];
        for (at, group) in groups.iter().enumerate() {
            of_field[group.first..group.first + group.len as usize].fill(at);
        }
        Self {
            words: 1,
            bits: groups.iter().map(Group::bits).sum(),
            slack,
            groups,
            of_field,
        }
    }

    /// Finds places for all groups.
    fn laid_out(self, model: &Model, sample: &[u32], fewest_words: u32) -> Self {
        let least = self.bits.div_ceil(WORD_BITS).max(fewest_words).max(1);
        let even = self.bits.div_ceil(least);
        let processes = model.program().processes.len();
        let mut layouts: Vec<Vec<Group>> = Vec::new();
        for limit in [
            even,
            (even + 3).min(WORD_BITS),
            (even + WORD_BITS) / 2,
            WORD_BITS,
        ] {
            for cut in [false, true] {
                layouts.push(filled(self.groups.clone(), limit, cut));
            }
        }
        layouts.extend(
            (least > 1)
                .then(|| spread(self.groups.clone(), least, processes))
                .flatten(),
        );
        let words = |groups: &[Group]| {
            groups
                .iter()
                .flat_map(|g| &g.pieces)
                .map(|piece| piece.word + 1)
                .max()
                .unwrap_or(1)
        };
        let fewest = layouts
            .iter()
            .map(|groups| words(groups))
            .filter(|words| *words >= least)
            .min()
            .unwrap_or(1);
        layouts.retain(|groups| words(groups) == fewest);
        let tried = layouts.into_iter().map(|groups| Self {
            groups,
            words: fewest as usize,
            ..self.clone()
        });
        let tried: Vec<Self> = tried.collect();
        let values = |packing: &Self| packing.different_words(model, sample);
        tried.into_iter().min_by_key(values).unwrap_or(self)
    }

    /// How many different words the states of a sample have, where that matters.
    fn different_words(&self, model: &Model, sample: &[u32]) -> usize {
        if self.words == 1 {
            return 0;
        }
        let words = model.layout().words();
        let step = (sample.len() / words / TRIED).max(1);
        let mut seen: HashSet<u64> = HashSet::new();
        for state in sample.chunks_exact(words).step_by(step) {
            seen.extend(self.pack(model, state));
        }
        seen.len()
    }

    /// Bits of the longest word.
    pub(crate) fn longest_word(&self) -> u32 {
        let pieces = self.groups.iter().flat_map(|group| {
            let end = |piece: &Piece| piece.shift + piece.count * group.code.bits;
            group.pieces.iter().map(end)
        });
        pieces.max().unwrap_or(0).max(1)
    }

    /// The group of a field; none for the bit of the error state.
    fn group_of(&self, field: FieldId) -> Option<&Group> {
        self.groups.get(self.of_field[field.index()])
    }

    /// The group that starts with a field.
    pub(crate) fn group(&self, first: FieldId) -> &Group {
        &self.groups[self.of_field[first.index()]]
    }

    /// Where a field lies.
    pub(crate) fn spot(&self, field: FieldId) -> Spot {
        let nothing = Spot {
            word: 0,
            shift: 0,
            code: Code::NOTHING,
        };
        self.group_of(field).map_or(nothing, |group| {
            group.spot((field.index() - group.first) as u32)
        })
    }

    /// The value of a field that never changes.
    pub(crate) fn fixed(&self, field: FieldId) -> Option<i32> {
        let group = self.group_of(field)?;
        let at = field.index() - group.first;
        group.fixed.as_ref().map(|values| values[at])
    }

    /// A state of the model as the card has it.
    pub(crate) fn pack(&self, model: &Model, state: &[u32]) -> Vec<u64> {
        let mut packed = vec![0; self.words];
        let mut put = |field: FieldId| {
            let spot = self.spot(field);
            let raw = spot.code.raw(model.layout().field(field).get(state)) & spot.mask();
            packed[spot.word as usize] |= raw << spot.shift;
        };
        for place in &model.encoding().variables {
            match place {
                VariablePlace::Scalar(field) => put(*field),
                VariablePlace::Array(place) => {
                    (0..place.len as usize).for_each(|at| put(element(place.first, at)))
                }
            }
        }
        for channel in &model.encoding().channels {
            put(channel.length);
            // Cells that are free are 0.
            let messages = model.layout().get(state, channel.length) as usize;
            for item in &channel.items {
                (0..messages).for_each(|at| put(element(item.first, at)));
            }
        }
        packed
    }

    /// The state of `wide` that the card has as `packed`, where `narrow` is the model that was
    /// packed: the same one with smaller ranges.
    pub(crate) fn unpack(&self, narrow: &Model, wide: &Model, packed: &[u64]) -> Vec<u32> {
        let mut state = vec![0; wide.layout().words()];
        let value = |field: FieldId| {
            let spot = self.spot(field);
            let raw = packed[spot.word as usize] >> spot.shift & spot.mask();
            self.fixed(field)
                .map_or_else(|| spot.code.value(raw), i64::from)
        };
        let mut copy = |from: FieldId, to: FieldId| {
            wide.layout().field(to).set(&mut state, value(from));
        };
        for (from, to) in narrow
            .encoding()
            .variables
            .iter()
            .zip(&wide.encoding().variables)
        {
            match (from, to) {
                (VariablePlace::Array(from), VariablePlace::Array(to)) => {
                    (0..from.len as usize)
                        .for_each(|at| copy(element(from.first, at), element(to.first, at)));
                }
                (VariablePlace::Scalar(from), VariablePlace::Scalar(to)) => copy(*from, *to),
                _ => {}
            }
        }
        for (from, to) in narrow
            .encoding()
            .channels
            .iter()
            .zip(&wide.encoding().channels)
        {
            copy(from.length, to.length);
            let messages = value(from.length) as usize;
            for (from, to) in from.items.iter().zip(&to.items) {
                (0..messages).for_each(|at| copy(element(from.first, at), element(to.first, at)));
            }
        }
        state
    }
}

fn element(first: FieldId, at: usize) -> FieldId {
    FieldId::new(first.index() + at)
}

/// All variables and channels, those of a process together, with the codes of their ranges.
fn groups(model: &Model) -> Vec<Group> {
    let (encoding, fields) = (model.encoding(), model.layout().fields());
    let mut lens = vec![1; fields.len()];
    let arrays = encoding.variables.iter().filter_map(|place| match place {
        VariablePlace::Array(place) => Some(place),
        VariablePlace::Scalar(_) => None,
    });
    let cells = encoding.channels.iter().flat_map(|channel| &channel.items);
    for place in arrays.chain(cells) {
        lens[place.first.index()] = place.len;
    }
    // The layout has them in this order already.
    let mut groups = Vec::new();
    let mut at = 0;
    while at < fields.len() {
        if encoding.failed.is_none_or(|failed| failed.index() != at) {
            groups.push(Group {
                first: at,
                len: lens[at],
                code: Code::range(fields[at].min, fields[at].max),
                process: fields[at].process.map(|process| process.index()),
                pieces: Vec::new(),
                fixed: None,
            });
        }
        at += lens[at] as usize;
    }
    groups
}

/// Variables that commands assign, and the constants among what is assigned.
type Assigned = BTreeMap<usize, BTreeSet<i64>>;

/// The variables that some command assigns.
fn assigned(program: &Program) -> Assigned {
    fn walk(body: &[Statement], found: &mut Assigned) {
        for statement in body {
            match statement {
                Statement::Assign { target, value, .. } => {
                    let values = found.entry(target.variable().index()).or_default();
                    if let Expr::Const(value) = value {
                        values.insert(i64::from(*value));
                    }
                }
                Statement::Receive { targets, .. } => {
                    for target in targets.iter().flatten() {
                        found.entry(target.variable().index()).or_default();
                    }
                }
                Statement::If {
                    then, otherwise, ..
                } => {
                    walk(then, found);
                    walk(otherwise, found);
                }
                Statement::While { body, .. } => walk(body, found),
                Statement::Let(..)
                | Statement::Send { .. }
                | Statement::Assert { .. }
                | Statement::Fail(_)
                | Statement::Print { .. } => {}
            }
        }
    }
    let mut found = Assigned::new();
    program
        .commands
        .iter()
        .for_each(|command| walk(&command.body, &mut found));
    found
}

/// The variable of each group, if it is no part of a channel.
fn variable_of(model: &Model, group: &Group) -> Option<usize> {
    let mut places = model.encoding().variables.iter();
    places.position(|place| match place {
        VariablePlace::Scalar(field) => field.index() == group.first,
        VariablePlace::Array(place) => place.first.index() == group.first,
    })
}

/// Variables that nothing assigns take no bits.
fn fix(model: &Model, assigned: &Assigned, groups: &mut [Group]) {
    for group in groups {
        if let Some(variable) =
            variable_of(model, group).filter(|variable| !assigned.contains_key(variable))
        {
            group.code.bits = 0;
            group.fixed = Some(model.program().variables[variable].initial.clone());
        }
    }
}

/// Takes the values that occur in a sample for all there are, and those that commands assign if that costs at
/// most one bit.
fn guess(
    model: &Model,
    sample: &[u32],
    watcher: Option<VarId>,
    assigned: &Assigned,
    groups: &mut [Group],
) {
    let (program, encoding, layout) = (model.program(), model.encoding(), model.layout());
    let counters = program.processes.iter().map(|p| p.counter);
    let counters: BTreeSet<usize> = counters.chain(watcher).map(|v| v.index()).collect();
    let states = || sample.chunks_exact(layout.words());
    for group in groups.iter_mut().filter(|group| group.fixed.is_none()) {
        let mut seen = BTreeSet::new();
        let item =
            match variable_of(model, group) {
                // Locations are all there.
                Some(variable) if counters.contains(&variable) => continue,
                Some(variable) => {
                    for state in states() {
                        let fields =
                            &layout.fields()[group.first..group.first + group.len as usize];
                        seen.extend(fields.iter().map(|field| field.get(state)));
                    }
                    seen.extend(
                        program.variables[variable]
                            .initial
                            .iter()
                            .map(|value| i64::from(*value)),
                    );
                    &program.variables[variable].item
                }
                None => {
                    let cells = encoding.channels.iter().zip(&program.channels).find_map(
                        |(place, channel)| {
                            let at = place
                                .items
                                .iter()
                                .position(|item| item.first.index() == group.first)?;
                            Some((place.length, &channel.items[at]))
                        },
                    );
                    // Lengths of channels are left as they are.
                    let Some((length, item)) = cells else {
                        continue;
                    };
                    for state in states() {
                        let messages = layout.get(state, length) as usize;
                        let fields = &layout.fields()[group.first..group.first + messages];
                        seen.extend(fields.iter().map(|field| field.get(state)));
                    }
                    item
                }
            };
        let code = |seen: &BTreeSet<i64>| {
            let code = Code::of_values(item, seen);
            let is_byte = (item.min, item.max) == (0, 255) && !seen.is_empty();
            let bytes = is_byte.then(|| Code::of_bytes(seen));
            bytes.filter(|b| b.bits < code.bits).unwrap_or(code)
        };
        let most = code(&seen).bits + 1;
        let variable = variable_of(model, group);
        let range = i64::from(item.min)..=i64::from(item.max);
        let values = variable.and_then(|variable| assigned.get(&variable));
        for value in values.into_iter().flatten().filter(|v| range.contains(v)) {
            let is_new = seen.insert(*value);
            if is_new && code(&seen).bits > most {
                seen.remove(value);
            }
        }
        group.code = code(&seen);
    }
}

/// Fills words up to a limit, one after the other; arrays that fit into one word are cut only if
/// that is wanted.
fn filled(mut groups: Vec<Group>, limit: u32, cut: bool) -> Vec<Group> {
    let (mut word, mut used) = (0, 0);
    for group in groups.iter_mut().filter(|group| group.code.bits > 0) {
        let bits = group.code.bits;
        // No field is wider than a word.
        let limit = limit.max(bits);
        if !cut && used > 0 && group.bits() <= limit && used + group.bits() > limit {
            (word, used) = (word + 1, 0);
        }
        let mut first = 0;
        while first < group.len {
            let room = limit.saturating_sub(used) / bits;
            if room == 0 {
                (word, used) = (word + 1, 0);
                continue;
            }
            let count = room.min(group.len - first);
            group.pieces.push(Piece {
                first,
                count,
                word,
                shift: used,
            });
            first += count;
            used += count * bits;
        }
    }
    groups
}

/// Spreads processes, and elements of arrays as if they belonged to processes, over words.
fn spread(mut groups: Vec<Group>, words: u32, processes: usize) -> Option<Vec<Group>> {
    let mut used = vec![0; words as usize];
    let mut put = |group: &mut Group, word: u32, first: u32, count: u32| {
        let shift = used[word as usize];
        used[word as usize] += count * group.code.bits;
        group.pieces.push(Piece {
            first,
            count,
            word,
            shift,
        });
        used[word as usize] <= WORD_BITS
    };
    let mut later = Vec::new();
    for (at, group) in groups
        .iter_mut()
        .enumerate()
        .filter(|(_, group)| group.code.bits > 0)
    {
        let fits = match group.process {
            Some(process) if group.len == 1 => {
                let word = process * words as usize / processes.max(1);
                put(group, word as u32, 0, 1)
            }
            _ if group.len >= words => (0..words).all(|word| {
                let first = (word * group.len).div_ceil(words);
                let end = ((word + 1) * group.len).div_ceil(words);
                put(group, word, first, end - first)
            }),
            _ => {
                later.push(at);
                true
            }
        };
        if !fits {
            return None;
        }
    }
    for at in later {
        let group = &mut groups[at];
        let emptiest = (0..words).min_by_key(|word| used[*word as usize])?;
        let shift = used[emptiest as usize];
        used[emptiest as usize] += group.bits();
        group.pieces.push(Piece {
            first: 0,
            count: group.len,
            word: emptiest,
            shift,
        });
        if used[emptiest as usize] > WORD_BITS {
            return None;
        }
    }
    Some(groups)
}

#[cfg(test)]
mod tests {
    use stubborn_ir::testing::{Random, random_program, random_state};

    use super::*;
    use crate::sample;

    /// Both kinds of packing for random models.
    fn packings() -> impl Iterator<Item = (u64, Model, Packing)> {
        (0..300).flat_map(|seed| {
            let model = Model::new(random_program(seed)).expect("a well-formed program");
            let states = sample::states(&model);
            let exact = (
                seed,
                model.clone(),
                Packing::new(&model, None, Wish::default()),
            );
            let guess = Packing::new(&model, Some((&states, seed as u32 % 3)), Wish::default());
            [exact, (seed, model, guess)]
        })
    }

    #[test]
    fn states_survive_packing() {
        for (seed, model, packing) in packings() {
            let mut states = sample::states(&model);
            let mut rng = Random::new(seed);
            if packing.slack.is_none() {
                (0..20).for_each(|_| states.extend(random_state(&model, &mut rng)));
            }
            for state in states.chunks_exact(model.layout().words()).take(500) {
                let mut state = state.to_vec();
                // What is never assigned has its first value.
                let initial = model.initial_states();
                for (at, field) in model.layout().fields().iter().enumerate() {
                    if packing.fixed(FieldId::new(at)).is_some() {
                        field.set(&mut state, field.get(&initial));
                    }
                }
                let packed = packing.pack(&model, &state);
                assert!(packed.iter().all(|word| word >> WORD_BITS == 0));
                assert_eq!(
                    packing.unpack(&model, &model, &packed),
                    state,
                    "seed {seed}"
                );
            }
        }
    }

    #[test]
    fn no_two_fields_overlap() {
        for (seed, _, packing) in packings() {
            let mut taken = vec![0_u64; packing.words];
            for group in &packing.groups {
                for at in 0..group.len {
                    let spot = group.spot(at);
                    assert!(spot.shift + spot.code.bits <= WORD_BITS, "seed {seed}");
                    let mask = spot.mask() << spot.shift;
                    assert_eq!(taken[spot.word as usize] & mask, 0, "seed {seed}");
                    taken[spot.word as usize] |= mask;
                }
            }
            let used: u32 = taken.iter().map(|word| word.count_ones()).sum();
            assert_eq!(used, packing.bits);
        }
    }

    #[test]
    fn bytes_begin_after_their_largest_gap() {
        let code = |values: &[i64]| Code::of_bytes(&values.iter().copied().collect());
        assert_eq!(
            code(&[0, 1, 2, 255]),
            Code {
                bits: 2,
                base: 255,
                mask: 255
            }
        );
        assert_eq!(code(&[0, 3, 20, 23, 255]).bits, 5);
        assert_eq!(code(&[7]).bits, 1);
        for values in [&[0, 1, 2, 255][..], &[100, 101, 200], &[7]] {
            let code = code(values);
            for value in values {
                assert!(code.raw(*value) <= u64::from(code.most()));
                assert_eq!(code.value(code.raw(*value)), *value);
            }
        }
    }
}
