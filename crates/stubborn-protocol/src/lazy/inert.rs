//! Which messages change nothing any more, and what they lead to: what [useless](super::useless)
//! ones are made of.

use rapidhash::RapidHashMap;

use super::rows::Rows;
use super::tables::{Builder, Own, ProcessTable};
use crate::model::Role;
use crate::network::Parcel;

/// What those send who take a message: receivers and numbers; `None` if some of it was never met.
type Emitted = Option<Vec<(usize, usize)>>;

/// More messages than these are not followed.
const LONGEST_TRACE: usize = 1_000;

/// What a message leads to if it changes no local state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Traces {
    /// To something that was never met, or to too much.
    Unknown,
    /// To these messages, itself included: receivers and numbers.
    Messages {
        all: Box<[(u32, u32)]>,
        /// Some of them lead to themselves again.
        circular: bool,
    },
}

impl Builder<'_, '_> {
    /// Elements that take a message and are not its loss.
    fn takers(&self, own: &Own, parcel: &Parcel) -> Vec<usize> {
        let all = own.first..own.first + own.count;
        let takes = |e: &usize| {
            let declared = &self.elements[*e];
            declared.consumed.contains(parcel)
                && self.inner.actions[declared.action as usize].role != Role::Lose
        };
        all.filter(takes).collect()
    }

    /// For each place, the messages that change nothing in any local state from there on.
    pub(super) fn inert(
        &mut self,
        own: &Own,
        locals: &[u32],
        parcels: &[Parcel],
        next: &[Vec<usize>],
    ) -> Option<Rows> {
        let edges: usize = next.iter().map(Vec::len).sum();
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); locals.len()];
        for (place, all) in next.iter().enumerate() {
            all.iter().for_each(|to| before[*to].push(place));
        }
        let mut inert = Rows::new(locals.len(), parcels.len());
        for (number, parcel) in parcels.iter().enumerate() {
            self.effort
                .spend(2 * own.count + 4 * locals.len() + edges)?;
            let takers = self.takers(own, parcel);
            let noted = takers.iter().any(|e| {
                let mut consumed = self.elements[*e].consumed.iter();
                consumed.any(|m| self.inner.is_noted(m.message, true))
            });
            let changes = |place: usize, e: usize| {
                let id = own.outcomes[place * own.count + e - own.first] as usize;
                self.lists[id].iter().any(|o| {
                    let mut sends = o.sends.iter();
                    let tells = sends.any(|(_, m)| self.inner.is_noted(*m, false));
                    o.local != locals[place] || o.is_misuse || noted || tells
                })
            };
            // A quorum takes other messages with it, which may be of use.
            let changes = |place: usize, e: &usize| {
                let id = own.outcomes[place * own.count + *e - own.first];
                changes(place, *e) || id != 0 && self.elements[*e].consumed.len() > 1
            };
            let mut is_inert = vec![true; locals.len()];
            let bad = (0..locals.len()).filter(|place| takers.iter().any(|e| changes(*place, e)));
            let mut open: Vec<usize> = bad.collect();
            open.iter().for_each(|place| is_inert[*place] = false);
            while let Some(place) = open.pop() {
                for earlier in &before[place] {
                    if std::mem::replace(&mut is_inert[*earlier], false) {
                        open.push(*earlier);
                    }
                }
            }
            let places = is_inert.into_iter().enumerate();
            places
                .filter(|(_, is_inert)| *is_inert)
                .for_each(|(place, _)| inert.insert(place, number));
        }
        Some(inert)
    }

    /// What is sent by those who take a message.
    fn emits(
        &mut self,
        own: &Own,
        parcels: &[Parcel],
        processes: &[ProcessTable],
    ) -> Option<Vec<Emitted>> {
        let mut all = Vec::with_capacity(parcels.len());
        for parcel in parcels {
            let takers = self.takers(own, parcel);
            self.effort
                .spend(2 * own.count + 4 * takers.len() * own.places.len())?;
            all.push(self.emitted(own, &takers, processes));
        }
        Some(all)
    }

    /// What some elements send.
    fn emitted(&self, own: &Own, takers: &[usize], processes: &[ProcessTable]) -> Emitted {
        let mut found = Vec::new();
        for e in takers {
            for place in 0..own.places.len() {
                let id = own.outcomes[place * own.count + *e - own.first] as usize;
                for (to, message) in self.lists[id].iter().flat_map(|o| &o.sends) {
                    let sent = Parcel {
                        from: self.elements[*e].process,
                        message: *message,
                    };
                    let receiver = processes.get(to.index())?;
                    found.push((to.index(), *receiver.parcels.get(&sent)?));
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        Some(found)
    }

    /// Follows messages to everything that they lead to.
    pub(super) fn trace(
        &mut self,
        owns: &[Own],
        parcels: &[Vec<Parcel>],
        processes: &mut [ProcessTable],
    ) -> Option<()> {
        let mut emits = Vec::with_capacity(owns.len());
        for (own, parcels) in owns.iter().zip(parcels) {
            emits.push(self.emits(own, parcels, processes)?);
        }
        for (p, table) in processes.iter_mut().enumerate() {
            for m in 0..emits[p].len() {
                let traces = traces_of((p, m), &emits);
                if let Traces::Messages { all, .. } = &traces {
                    self.effort.spend(16 * all.len())?;
                }
                table.traces.push(traces);
            }
        }
        Some(())
    }
}

/// What a message leads to.
fn traces_of(start: (usize, usize), emits: &[Vec<Emitted>]) -> Traces {
    // In the order in which they were found; those that are being followed, and how far.
    let mut all = vec![start];
    let mut path = vec![(start, 0)];
    // Whether each of them is being followed.
    let mut followed = RapidHashMap::from_iter([(start, true)]);
    let mut circular = false;
    while let Some((at, done)) = path.pop() {
        let Some(next) = &emits[at.0][at.1] else {
            return Traces::Unknown;
        };
        let Some(to) = next.get(done) else {
            followed.insert(at, false);
            continue;
        };
        path.push((at, done + 1));
        match followed.get(to) {
            Some(is_followed) => circular |= is_followed,
            None if all.len() == LONGEST_TRACE => return Traces::Unknown,
            None => {
                followed.insert(*to, true);
                all.push(*to);
                path.push((*to, 0));
            }
        }
    }
    let all = all.into_iter().map(|(q, m)| (q as u32, m as u32)).collect();
    Traces::Messages { all, circular }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_followed_to_the_end() {
        // 0 leads to 1 and 2, 1 to 2, 2 to nothing; 3 and 4 to each other; 5 to what nobody knows.
        let next = [vec![1, 2], vec![2], vec![], vec![4], vec![3]];
        let to = |all: Vec<usize>| Some(all.into_iter().map(|m| (0, m)).collect());
        let mut emits: Vec<Emitted> = next.into_iter().map(to).collect();
        emits.push(None);
        emits.push(Some(vec![(0, 2), (0, 5)]));
        let of = |m: usize| traces_of((0, m), std::slice::from_ref(&emits));
        let messages = |all: &[u32], circular| Traces::Messages {
            all: all.iter().map(|m| (0, *m)).collect(),
            circular,
        };
        assert_eq!(of(0), messages(&[0, 1, 2], false));
        assert_eq!(of(2), messages(&[2], false));
        assert_eq!(of(3), messages(&[3, 4], true));
        assert_eq!(of(5), Traces::Unknown);
        assert_eq!(of(6), Traces::Unknown);
        let chain = |len: usize| {
            let next = (1..len).map(|m| Some(vec![(0, m)]));
            let emits: Vec<Emitted> = next.chain([Some(Vec::new())]).collect();
            traces_of((0, 0), &[emits])
        };
        let all: Vec<u32> = (0..LONGEST_TRACE as u32).collect();
        assert_eq!(chain(LONGEST_TRACE), messages(&all, false));
        assert_eq!(chain(LONGEST_TRACE + 1), Traces::Unknown);
    }
}
