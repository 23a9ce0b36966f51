//! Messages on their way: one inbox for each receiver.
//!
//! An inbox is a sorted list of parcels (sender and message number). That is enough for all
//! networks: a multiset repeats parcels, a set does not, and queues are the runs of parcels of
//! one sender. Sending to different receivers touches different inboxes, and what a process can
//! do depends on its own alone.

use crate::value::Pid;

/// What a network does with messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Network {
    /// Every message is delivered at most once, in any order.
    #[default]
    Unordered,
    /// A message that was sent once can be delivered any number of times, in any order.
    Duplicating,
    /// Messages from one process to another arrive in the order in which they were sent.
    Ordered,
}

/// A message in an inbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Parcel {
    pub(crate) from: Pid,
    /// Number of the message.
    pub(crate) message: u32,
}

/// The messages for one process.
pub(crate) type Inbox = Box<[Parcel]>;

impl Network {
    /// Adds parcels, in the order in which they were sent.
    pub(crate) fn add(self, inbox: &[Parcel], sent: &[Parcel]) -> Inbox {
        let mut all = inbox.to_vec();
        for parcel in sent {
            let at = match self {
                Self::Unordered => all.partition_point(|p| p <= parcel),
                Self::Ordered => all.partition_point(|p| p.from <= parcel.from),
                Self::Duplicating => match all.binary_search(parcel) {
                    Ok(_) => continue,
                    Err(at) => at,
                },
            };
            all.insert(at, *parcel);
        }
        all.into()
    }

    /// The positions of parcels that can be delivered next, equal ones once.
    pub(crate) fn deliverable(self, inbox: &[Parcel]) -> impl Iterator<Item = usize> + '_ {
        (0..inbox.len()).filter(move |at| {
            let Some(before) = at.checked_sub(1).map(|b| inbox[b]) else {
                return true;
            };
            match self {
                Self::Unordered | Self::Duplicating => before != inbox[*at],
                Self::Ordered => before.from != inbox[*at].from,
            }
        })
    }

    /// Without the parcels at these positions; with them, if they can be delivered again.
    pub(crate) fn take(self, inbox: &[Parcel], positions: &[usize]) -> Inbox {
        match self {
            Self::Duplicating => inbox.into(),
            Self::Unordered | Self::Ordered => without(inbox, positions),
        }
    }

    /// Whether delivery takes messages away.
    pub(crate) fn consumes(self) -> bool {
        self != Self::Duplicating
    }
}

/// Without the parcels at these positions.
pub(crate) fn without(inbox: &[Parcel], positions: &[usize]) -> Inbox {
    let all = inbox.iter().enumerate();
    all.filter(|(at, _)| !positions.contains(at))
        .map(|(_, parcel)| *parcel)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parcel(from: u16, message: u32) -> Parcel {
        Parcel {
            from: Pid(from),
            message,
        }
    }

    #[test]
    fn each_network_keeps_its_promise() {
        let sent = [parcel(1, 9), parcel(0, 5), parcel(1, 3), parcel(1, 9)];
        let unordered = Network::Unordered.add(&[], &sent);
        assert_eq!(*unordered, [sent[1], sent[2], sent[0], sent[3]]);
        let set = Network::Duplicating.add(&[], &sent);
        assert_eq!(*set, [sent[1], sent[2], sent[0]]);
        let queues = Network::Ordered.add(&[], &sent);
        assert_eq!(*queues, [sent[1], sent[0], sent[2], sent[3]]);

        let next = |network: Network, inbox: &[Parcel]| -> Vec<usize> {
            network.deliverable(inbox).collect()
        };
        assert_eq!(next(Network::Unordered, &unordered), [0, 1, 2]);
        assert_eq!(next(Network::Ordered, &queues), [0, 1]);
        assert_eq!(
            *Network::Ordered.take(&queues, &[1]),
            [sent[1], sent[2], sent[3]]
        );
        assert_eq!(Network::Duplicating.take(&set, &[1]), set);
    }
}
