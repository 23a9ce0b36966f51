//! A set that grows until it is stubborn: the loop of algorithm 1 of Laarman et al. (2014),
//! shared by every algorithm that builds sets from below.
//!
//! Members that are enabled need all transitions they do not accord with; members that are
//! disabled need one of their necessary enabling sets (lemma 1 there). Enabled members are
//! worked off first: what they need is not a matter of choice, and choices that come later can
//! count on it.

use stubborn_system::bits::ones;
use stubborn_system::{LabelId, Reason, SetMember, TransitionId};

use crate::config::{Scapegoat, Settings};
use crate::rows::{Row, has, or, put, take};
use crate::tables::{EnablingSet, OptionWord, Tables};
use crate::view::View;

/// How a growing set makes its choices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    pub(crate) weak: bool,
    pub(crate) scapegoat: Scapegoat,
    pub(crate) seed: u64,
    /// The key is not taken out of the set afterwards.
    pub(crate) keeps_key: bool,
}

impl Policy {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            weak: settings.weak,
            scapegoat: settings.scapegoat,
            seed: settings.seed,
            keeps_key: false,
        }
    }

    /// Whether an enabling set that adds nothing is as good as any.
    fn seeks_least(&self) -> bool {
        use Scapegoat::{MinE, MinF, MinT};
        matches!(self.scapegoat, MinT | MinE | MinF)
    }
}

/// The best enabling set so far.
struct Best {
    scapegoat: Scapegoat,
    seeks_most: bool,
    set: Option<EnablingSet>,
    cost: u64,
}

impl Best {
    fn new(scapegoat: Scapegoat) -> Self {
        Self {
            scapegoat,
            seeks_most: matches!(
                scapegoat,
                Scapegoat::MaxT | Scapegoat::MaxE | Scapegoat::MaxF
            ),
            set: None,
            cost: 0,
        }
    }

    fn is_beaten_by(&self, cost: u64) -> bool {
        match self.set {
            None => true,
            Some(_) if self.seeks_most => cost > self.cost,
            Some(_) => cost < self.cost,
        }
    }

    /// Notes a better one; true if no other can be better.
    fn take(&mut self, set: EnablingSet, cost: u64) -> bool {
        (self.set, self.cost) = (Some(set), cost);
        cost == 0 && !self.seeks_most
    }

    /// The best of the sets that guards and labels that exclude one of them offer. Sets that are known to
    /// be of no use are not even looked at, and those that are known to be of use come first,
    /// so that few labels must be asked.
    #[inline(always)]
    fn of(
        mut self,
        view: &mut View<'_>,
        words: &[OptionWord],
        mut cost: impl FnMut(&mut View<'_>, EnablingSet, &Self) -> u64,
    ) -> Option<EnablingSet> {
        let (half, mut is_all_known) = (view.tables.half, true);
        for word in words {
            let (know, truth) = (view.facts.known[word.at], view.facts.truth[word.at]);
            let (own, disabling) = (word.guards & know & !truth, word.excluders & truth);
            is_all_known &= (word.guards | word.excluders) & !know == 0;
            let at = word.at * 64;
            if self.offer(view, at, own, true, &mut cost)
                || self.offer(view, half + at, disabling, true, &mut cost)
            {
                return self.set;
            }
        }
        if is_all_known {
            return self.set;
        }
        for word in words {
            let know = view.facts.known[word.at];
            let (own, disabling) = (word.guards & !know, word.excluders & !know);
            let at = word.at * 64;
            if self.offer(view, at, own, false, &mut cost)
                || self.offer(view, half + at, disabling, false, &mut cost)
            {
                return self.set;
            }
        }
        self.set
    }

    /// Looks at some sets, as bits after a `first` one; true if no other can be better.
    #[inline(always)]
    fn offer(
        &mut self,
        view: &mut View<'_>,
        first: usize,
        mut sets: u64,
        are_known: bool,
        cost: &mut impl FnMut(&mut View<'_>, EnablingSet, &Self) -> u64,
    ) -> bool {
        while sets != 0 {
            let set = EnablingSet(first as u32 + sets.trailing_zeros());
            sets &= sets - 1;
            let cost = cost(view, set, self);
            // A label is asked for only if the answer matters.
            if self.is_beaten_by(cost) && (are_known || view.is_usable(set)) && self.take(set, cost)
            {
                return true;
            }
        }
        false
    }
}

/// A set in rows of a constant number of words.
struct Narrow<const WORDS: usize> {
    members: [u64; WORDS],
    covered: [u64; WORDS],
    now: [u64; WORDS],
}

impl<const WORDS: usize> Narrow<WORDS> {
    #[inline]
    fn of(growth: &Growth, view: &View<'_>) -> Option<Self> {
        Some(Self {
            members: *growth.members.first_chunk()?,
            covered: *growth.covered.first_chunk()?,
            now: *view.facts.enabled.first_chunk()?,
        })
    }

    /// What [`Best`] chooses for `min_e`.
    #[inline(always)]
    fn choose(&self, view: &mut View<'_>, t: u32) -> Option<EnablingSet> {
        let tables = view.tables;
        let (words, half) = (tables.option_words(t)?, tables.half);
        let rows = tables.enabling.narrow::<WORDS>();
        // Of what would be new, what counts.
        let outside: [u64; WORDS] =
            std::array::from_fn(|at| !self.members[at] & (self.now[at] | !self.covered[at]));
        let (mut best, mut least) = (None, u64::MAX);
        let (mut looked_at, mut unknown) = (0, 0);
        'all: {
            for word in words {
                let (know, truth) = (view.facts.known[word.at], view.facts.truth[word.at]);
                unknown |= (word.guards | word.excluders) & !know;
                let of_guards = (word.guards & know & !truth, word.at * 64);
                let disabling = (word.excluders & truth, half + word.at * 64);
                for (sets, first) in [of_guards, disabling] {
                    for bit in ones(sets) {
                        looked_at += WORDS as u64;
                        let cost = self.cost(&rows[first + bit], &outside, least);
                        if cost < least {
                            (best, least) = (Some(first + bit), cost);
                            if cost == 0 {
                                break 'all;
                            }
                        }
                    }
                }
            }
            if unknown == 0 {
                break 'all;
            }
            for word in words {
                let know = view.facts.known[word.at];
                let of_guards = (word.guards & !know, word.at * 64);
                let disabling = (word.excluders & !know, half + word.at * 64);
                for (sets, first) in [of_guards, disabling] {
                    for bit in ones(sets) {
                        looked_at += WORDS as u64;
                        let cost = self.cost(&rows[first + bit], &outside, least);
                        // A label is asked for only if the answer matters.
                        if cost < least && view.is_usable(EnablingSet((first + bit) as u32)) {
                            (best, least) = (Some(first + bit), cost);
                            if cost == 0 {
                                break 'all;
                            }
                        }
                    }
                }
            }
        }
        view.facts.work += looked_at;
        best.map(|set| EnablingSet(set as u32))
    }

    /// What a row costs, exact only if it is less than `least`.
    #[inline(always)]
    fn cost(&self, row: &[u64; WORDS], outside: &[u64; WORDS], least: u64) -> u64 {
        let new: [u64; WORDS] = std::array::from_fn(|at| row[at] & outside[at]);
        if new == [0; WORDS] {
            return 0;
        }
        let now: [u64; WORDS] = std::array::from_fn(|at| new[at] & self.now[at]);
        let count = |bits: [u64; WORDS]| bits.map(|b| u64::from(b.count_ones())).iter().sum();
        let mut enabled: u64 = 0;
        if now != [0; WORDS] {
            // One enabled transition is worse than any number of disabled ones.
            if least < 1 << 24 {
                return least;
            }
            enabled = count(now);
        }
        enabled << 24 | count(new)
    }
}

/// What working off a member takes besides looking at enabling sets, in words of rows.
const STEP_WORK: u64 = 16;

/// See the [module](self). Memory is kept from state to state.
#[derive(Debug)]
pub(crate) struct Growth {
    members: Vec<u64>,
    /// Enabled members in the order in which they came, and how many are worked off.
    pub(crate) enabled: Vec<u32>,
    enabled_done: usize,
    /// Disabled members in the order in which they came, and how many are worked off.
    pub(crate) disabled: Vec<u32>,
    disabled_done: usize,
    /// Transitions that may use an enabling set that was added, as bits: if they are disabled, they
    /// need nothing more.
    covered: Vec<u64>,
    is_any_covered: bool,
    /// Some member has no known enabling set: only the set of all transitions will do.
    pub(crate) everything: bool,
    /// The member that must stay enabled whatever happens outside; weak sets need one.
    key: Option<u32>,
    /// Why each member came, if somebody wants to know.
    pub(crate) reasons: Option<Vec<SetMember>>,
}

impl Growth {
    pub(crate) fn new(tables: &Tables, explain: bool) -> Self {
        Self {
            members: vec![0; tables.words],
            enabled: Vec::new(),
            enabled_done: 0,
            disabled: Vec::new(),
            disabled_done: 0,
            covered: vec![0; tables.words],
            is_any_covered: false,
            everything: false,
            key: None,
            reasons: explain.then(Vec::new),
        }
    }

    /// Empties the set.
    pub(crate) fn clear(&mut self) {
        if self.members.len() <= 8 {
            self.members.fill(0);
        } else {
            for t in self.enabled.iter().chain(&self.disabled) {
                take(&mut self.members, *t);
            }
        }
        self.enabled.clear();
        self.disabled.clear();
        if std::mem::take(&mut self.is_any_covered) {
            self.covered.fill(0);
        }
        (self.enabled_done, self.disabled_done) = (0, 0);
        self.everything = false;
        self.key = None;
        if let Some(reasons) = &mut self.reasons {
            reasons.clear();
        }
    }

    /// Empties the set and puts in the transition that is to be its key.
    pub(crate) fn start(&mut self, view: &View<'_>, key: u32) {
        self.clear();
        self.key = Some(key);
        self.add(view, key, || Reason::Start);
    }

    /// The members as bits.
    #[inline]
    pub(crate) fn members(&self) -> &[u64] {
        &self.members
    }

    pub(crate) fn contains(&self, transition: u32) -> bool {
        has(&self.members, transition)
    }

    /// Adds one transition, to be worked off later; true if it is new.
    #[inline]
    pub(crate) fn add(
        &mut self,
        view: &View<'_>,
        transition: u32,
        reason: impl Fn() -> Reason,
    ) -> bool {
        if has(&self.members, transition) {
            return false;
        }
        put(&mut self.members, transition);
        self.enlist(view, transition, &reason);
        true
    }

    /// Adds a disabled transition one of whose enabling sets is already in the set.
    pub(crate) fn add_covered(&mut self, transition: u32, reason: Reason) -> bool {
        if has(&self.members, transition) {
            return false;
        }
        put(&mut self.members, transition);
        // Put it among those that are worked off.
        self.disabled.push(transition);
        let last = self.disabled.len() - 1;
        self.disabled.swap(self.disabled_done, last);
        self.disabled_done += 1;
        if let Some(reasons) = &mut self.reasons {
            reasons.push(SetMember {
                transition: TransitionId::new(transition as usize),
                reason,
            });
        }
        true
    }

    #[inline]
    fn enlist(&mut self, view: &View<'_>, transition: u32, reason: &impl Fn() -> Reason) {
        if view.is_enabled(transition) {
            self.enabled.push(transition);
        } else {
            self.disabled.push(transition);
        }
        if let Some(reasons) = &mut self.reasons {
            reasons.push(SetMember {
                transition: TransitionId::new(transition as usize),
                reason: reason(),
            });
        }
    }

    /// Adds all transitions of a row.
    #[inline]
    pub(crate) fn add_row(&mut self, view: &View<'_>, row: Row<'_>, reason: impl Fn() -> Reason) {
        match row {
            Row::List(list) => {
                for transition in list {
                    self.add(view, *transition, &reason);
                }
            }
            Row::Bits(bits) => {
                let words = bits.iter().zip(&view.facts.enabled).enumerate();
                for (at, (word, enabled)) in words {
                    let new = word & !self.members[at];
                    if new == 0 {
                        continue;
                    }
                    self.members[at] |= new;
                    if self.reasons.is_none() {
                        for bit in ones(new & enabled) {
                            self.enabled.push((at * 64 + bit) as u32);
                        }
                        for bit in ones(new & !enabled) {
                            self.disabled.push((at * 64 + bit) as u32);
                        }
                        continue;
                    }
                    for bit in ones(new) {
                        self.enlist(view, (at * 64 + bit) as u32, &reason);
                    }
                }
            }
        }
    }

    /// What adding a row would cost, as a number that orders rows: by new transitions to
    /// unseen states (if the strategy looks at them), new enabled ones, new ones. Those that need nothing
    /// more once they are members cost nothing. With `min_e`, what is not `below` a bound need not be counted to its end.
    #[inline]
    fn cost(&self, view: &View<'_>, row: Row<'_>, scapegoat: Scapegoat, below: u64) -> u64 {
        let facts = &view.facts;
        let below = match scapegoat {
            Scapegoat::MinE => below,
            _ => u64::MAX,
        };
        let by_fresh = matches!(scapegoat, Scapegoat::MinF | Scapegoat::MaxF);
        let (mut total, mut enabled, mut fresh) = (0_u64, 0_u64, 0_u64);
        match row {
            Row::List(list) => {
                for t in list.iter().filter(|t| !has(&self.members, **t)) {
                    let now = has(&facts.enabled, *t);
                    total += u64::from(now || !has(&self.covered, *t));
                    enabled += u64::from(now);
                    fresh += u64::from(by_fresh && has(&facts.fresh, *t));
                    if enabled << 24 | total >= below {
                        return below;
                    }
                }
            }
            Row::Bits(bits) => {
                let own = self.members.iter().zip(&self.covered);
                let words = bits.iter().zip(own).zip(&facts.enabled);
                for (at, ((word, (members, covered)), now)) in words.enumerate() {
                    let new = word & !members & (now | !covered);
                    if new != 0 {
                        total += u64::from(new.count_ones());
                        if new & now != 0 {
                            enabled += u64::from((new & now).count_ones());
                        }
                        if enabled << 24 | total >= below {
                            return below;
                        }
                        if by_fresh {
                            fresh += u64::from((new & facts.fresh[at]).count_ones());
                        }
                    }
                }
            }
        }
        match scapegoat {
            Scapegoat::Rnd | Scapegoat::Fst => 0,
            Scapegoat::MinT | Scapegoat::MaxT => total,
            Scapegoat::MinE | Scapegoat::MaxE => enabled << 24 | total,
            Scapegoat::MinF | Scapegoat::MaxF => fresh << 44 | enabled << 22 | total,
        }
    }

    /// The enabling set that the policy picks among `options`, for something that `salt`
    /// stands for. `None` if there is none.
    pub(crate) fn choose(
        &self,
        view: &mut View<'_>,
        options: &[u32],
        policy: Policy,
        salt: u64,
    ) -> Option<EnablingSet> {
        let sets = || options.iter().map(|o| EnablingSet(*o));
        match policy.scapegoat {
            Scapegoat::Fst => sets().find(|set| view.is_usable(*set)),
            Scapegoat::Rnd => {
                let count = sets().filter(|set| view.is_usable(*set)).count() as u64;
                let pick = view.random(policy.seed, salt).checked_rem(count)?;
                sets().filter(|set| view.is_usable(*set)).nth(pick as usize)
            }
            _ => {
                let mut best = Best::new(policy.scapegoat);
                // Of the locations of a process that exclude another one, it is at one: the others need not
                // be counted.
                sets().any(|set| {
                    if view.is_known_useless(set) {
                        return false;
                    }
                    let cost = self.row_cost(view, set, &best);
                    best.is_beaten_by(cost) && view.is_usable(set) && best.take(set, cost)
                });
                best.set
            }
        }
    }

    /// The enabling set that the policy picks for a disabled transition.
    pub(crate) fn choose_for(
        &self,
        view: &mut View<'_>,
        t: u32,
        policy: Policy,
    ) -> Option<EnablingSet> {
        let tables = view.tables;
        let by_cost = !matches!(policy.scapegoat, Scapegoat::Fst | Scapegoat::Rnd);
        let Some(words) = tables.option_words(t).filter(|_| by_cost) else {
            let options = tables.options.list(t as usize);
            return self.choose(view, options, policy, u64::from(t));
        };
        // Most of the time of choosing sets is spent here: where there are few transitions, the
        // number of words of a row is a constant.
        match (policy.scapegoat, tables.words) {
            (Scapegoat::MinE, 1) => self.narrow_best::<1>(view, t),
            (Scapegoat::MinE, 2) => self.narrow_best::<2>(view, t),
            (Scapegoat::MinE, 3) => self.narrow_best::<3>(view, t),
            (Scapegoat::MinE, 4) => self.narrow_best::<4>(view, t),
            (scapegoat, _) => Best::new(scapegoat).of(view, words, |view, set, best| {
                self.row_cost(view, set, best)
            }),
        }
    }

    /// What a set costs.
    #[inline]
    fn row_cost(&self, view: &mut View<'_>, set: EnablingSet, best: &Best) -> u64 {
        let row = view.tables.enabling.row(set.0 as usize);
        view.facts.work += row.len() as u64;
        let below = best.set.map_or(u64::MAX, |_| best.cost);
        self.cost(view, row, best.scapegoat, below)
    }

    /// The best set for `min_e` and rows of so many words.
    fn narrow_best<const WORDS: usize>(&self, view: &mut View<'_>, t: u32) -> Option<EnablingSet> {
        let narrow = Narrow::<WORDS>::of(self, view)?;
        narrow.choose(view, t)
    }

    /// How many members are worked off.
    pub(crate) fn work(&self) -> usize {
        self.enabled_done + self.disabled_done
    }

    /// Works off members until the set is stubborn (true) or has more than `limit` enabled
    /// members (false; it can go on later).
    pub(crate) fn advance(&mut self, view: &mut View<'_>, policy: Policy, limit: usize) -> bool {
        let is_plain = policy.scapegoat == Scapegoat::MinE
            && !policy.weak
            && self.reasons.is_none()
            && view.tables.priorities.is_empty()
            && view.tables.has_option_words();
        match view.tables.words {
            1 if is_plain => self.advance_narrow::<1>(view, limit),
            2 if is_plain => self.advance_narrow::<2>(view, limit),
            3 if is_plain => self.advance_narrow::<3>(view, limit),
            4 if is_plain => self.advance_narrow::<4>(view, limit),
            _ => self.advance_any(view, policy, limit),
        }
    }

    /// [`advance`](Self::advance) for any policy and width.
    fn advance_any(&mut self, view: &mut View<'_>, policy: Policy, limit: usize) -> bool {
        loop {
            if self.enabled.len() > limit {
                return false;
            }
            match self.step(view, policy) {
                Some(true) => {}
                Some(false) => return self.enabled.len() <= limit,
                None => return true,
            }
        }
    }

    /// The same steps where most of the time of choosing sets is spent: strong sets by `min_e` in rows of
    /// so many words, of which nobody wants to know why.
    fn advance_narrow<const WORDS: usize>(&mut self, view: &mut View<'_>, limit: usize) -> bool {
        let tables = view.tables;
        let accord = tables.accord.narrow::<WORDS>();
        let enabling = tables.enabling.narrow::<WORDS>();
        let users = tables.users.narrow::<WORDS>();
        let Some(mut set) = Narrow::<WORDS>::of(self, view) else {
            return false;
        };
        let is_done = loop {
            if self.enabled.len() > limit {
                break Some(false);
            }
            let row = if let Some(t) = self.enabled.get(self.enabled_done) {
                self.enabled_done += 1;
                view.facts.work += STEP_WORK;
                &accord[*t as usize]
            } else if let Some(t) = self.disabled.get(self.disabled_done).copied() {
                self.disabled_done += 1;
                if has(&set.covered, t) {
                    continue;
                }
                view.facts.work += STEP_WORK;
                let Some(chosen) = set.choose(view, t) else {
                    break None;
                };
                or(&mut set.covered, &users[chosen.0 as usize]);
                self.is_any_covered = true;
                &enabling[chosen.0 as usize]
            } else {
                break Some(true);
            };
            for (at, word) in row.iter().enumerate() {
                let new = word & !set.members[at];
                if new != 0 {
                    set.members[at] |= new;
                    for bit in ones(new & set.now[at]) {
                        self.enabled.push((at * 64 + bit) as u32);
                    }
                    for bit in ones(new & !set.now[at]) {
                        self.disabled.push((at * 64 + bit) as u32);
                    }
                }
            }
        };
        self.members.copy_from_slice(&set.members);
        self.covered.copy_from_slice(&set.covered);
        is_done.unwrap_or_else(|| {
            self.take_everything(view);
            self.enabled.len() <= limit
        })
    }

    /// Works off one member. `None` if none was left, false if only the set of all transitions
    /// will do; the set is that set then.
    #[inline]
    pub(crate) fn step(&mut self, view: &mut View<'_>, policy: Policy) -> Option<bool> {
        if let Some(t) = self.enabled.get(self.enabled_done).copied() {
            self.enabled_done += 1;
            view.facts.work += STEP_WORK;
            self.add_conflicts(view, policy, t);
        } else {
            let t = self.disabled.get(self.disabled_done).copied()?;
            self.disabled_done += 1;
            if has(&self.covered, t) {
                debug_assert!(self.needs_nothing(view, t), "{t} is not covered");
                return Some(true);
            }
            view.facts.work += STEP_WORK;
            if !self.add_enabling_set(view, policy, t) {
                self.take_everything(view);
                return Some(false);
            }
        }
        Some(true)
    }

    /// Whether all transitions of an enabling set that a disabled one may use are in the set.
    fn needs_nothing(&self, view: &View<'_>, t: u32) -> bool {
        let (tables, facts) = (view.tables, &view.facts);
        tables.options.list(t as usize).iter().any(|set| {
            let (label, value) = tables.condition(EnablingSet(*set));
            has(&facts.known, label)
                && has(&facts.truth, label) == value
                && tables
                    .enabling
                    .list(*set as usize)
                    .iter()
                    .all(|u| self.contains(*u))
        })
    }

    /// What an enabled member needs: all it does not accord with or, in weak sets and unless it
    /// is the key, all it cannot move left over.
    pub(crate) fn conflicts<'t>(&self, view: &View<'t>, policy: Policy, t: u32) -> Row<'t> {
        let tables = view.tables;
        let accord = tables.accord.row(t as usize);
        if !policy.weak || self.key == Some(t) {
            return accord;
        }
        let left = tables.left.row(t as usize);
        let prefer_left = match policy.scapegoat {
            Scapegoat::Rnd | Scapegoat::Fst => {
                tables.left.list(t as usize).len() <= tables.accord.list(t as usize).len()
            }
            _ => {
                let cost = |row| self.cost(view, row, Scapegoat::MinE, u64::MAX);
                cost(left) <= cost(accord)
            }
        };
        if prefer_left { left } else { accord }
    }

    fn add_conflicts(&mut self, view: &View<'_>, policy: Policy, t: u32) {
        let row = self.conflicts(view, policy, t);
        let because = TransitionId::new(t as usize);
        self.add_row(view, row, || Reason::DoesNotAccord(because));
    }

    fn add_enabling_set(&mut self, view: &mut View<'_>, policy: Policy, t: u32) -> bool {
        let tables = view.tables;
        if policy.keeps_key && self.is_outranked(tables, t) {
            return true;
        }
        let Some(set) = self.choose_for(view, t, policy) else {
            return false;
        };
        let label = LabelId::new(tables.condition(set).0 as usize);
        let because = TransitionId::new(t as usize);
        self.add_row(view, tables.enabling.row(set.0 as usize), || {
            Reason::MayEnable(because, label)
        });
        // All of its transitions are in the set now: for all who may use it, it is one that adds
        // nothing, which ends any search for the cheapest. No label is asked before that, or
        // choices do not depend on what was asked.
        if policy.seeks_least()
            && let Some(users) = tables.users.bits(set.0 as usize)
        {
            or(&mut self.covered, users);
            self.is_any_covered = true;
        }
        true
    }

    /// Whether the key keeps a disabled transition from becoming enabled: it stays enabled whatever
    /// happens outside of the set, and has a higher priority.
    #[inline]
    fn is_outranked(&self, tables: &Tables, t: u32) -> bool {
        let Some(own) = tables.priorities.get(t as usize).filter(|p| **p > 0) else {
            return false;
        };
        self.key
            .is_some_and(|key| tables.priorities[key as usize] < *own)
    }

    /// Gives up: all transitions.
    pub(crate) fn take_everything(&mut self, view: &View<'_>) {
        for t in 0..view.tables.transitions as u32 {
            self.add(view, t, || Reason::NotExcluded);
        }
        self.enabled_done = self.enabled.len();
        self.disabled_done = self.disabled.len();
        self.everything = true;
    }
}
