//! Stubborn sets of single messages, with relations learnt from what searches really meet.
//!
//! [`analysis`](crate::analysis) asks in advance what may ever happen, with every message delivered
//! any number of times. Protocols that count (rounds, time stamps, requests) have no end of that.
//! Here the local states and messages that searches have *met* are all there is, and handlers are
//! run on their combinations. An element of a set is the delivery of one message (or of one
//! quorum) to one handler, its loss, an action, a crash or a return.
//!
//! # Sets
//!
//! Steps of different processes touch different local states, and one only adds to the other's
//! inbox, so they commute. A set `T` is closed if
//!
//! 1. for an enabled element of process `p`, all elements of `p` are in `T` that do not commute with it
//!    in some local state met that `p` may still [come to](self::reach) (each must stay possible, send
//!    the same, and lead to the same local states; and any outcome of the one and any of the other must
//!    meet again), and all that may lead `p` from where it is to a local state that was not met;
//! 2. for a disabled one whose message is not there, all elements of the sender that may still send it;
//!    for one whose message is there, all of its process that may open it;
//! 3. crashes count what is left of the crashes;
//! 4. for an enabled one, all enabled elements of its action are in `T`: the search takes all steps of an
//!    action, or none.
//!
//! Losses and crashes are [left out](self::faults) altogether where they make no difference.
//!
//! All enabled elements must be invisible to the properties, here and wherever they may still
//! happen. Such a set is a strong stubborn set (Valmari, *A stubborn attack on state explosion*,
//! 1992) as far as what was met goes.
//!
//! # Revision
//!
//! Random walks come first, to meet most of what there is.
//! If a search with these sets meets a local state or a message that was not known when it began
//! (steps that it leaves out count as met in the states where they are possible), it is repeated with
//! what is known then. What is found in between is true, as a trace shows it; that nothing is found
//! counts only if nothing new was met.
//!
//! That is enough. Take a path from a visited state in the full state space, and its first step that
//! leads to something never met. Up to it everything is known, so as long as the path has no element
//! of the set, the set's elements commute with it, whichever the search takes and whatever comes of it, and
//! it stays possible: of another process the step is still there, and of the same process it is not in
//! the way (by 1 it would be in the set if it led out of what was met, and its messages are the same). If
//! the path has an element of the set, the search takes it first, and what is left is shorter. The proviso against
//! ignoring lets this happen again and again, until the step is possible in a visited state; but
//! then it was met.

mod effort;
mod faults;
mod inert;
mod reach;
mod reduction;
mod rows;
mod tables;
mod useless;

use rapidhash::RapidHashSet;

pub(crate) use effort::Effort;
pub(crate) use faults::{Without, superfluous};
pub(crate) use reduction::{MessageReduction, Watch};
pub(crate) use tables::Tables;
pub(crate) use useless::Quotient;

use crate::moves::Move;
use crate::network::Parcel;
use crate::value::Pid;

/// What searches have met.
#[derive(Clone, Debug, Default)]
pub(crate) struct Met {
    pub(crate) locals: RapidHashSet<(Pid, u32)>,
    /// Receiver and message.
    pub(crate) parcels: RapidHashSet<(Pid, Parcel)>,
}

impl Met {
    /// How much it is: it only grows.
    pub(crate) fn size(&self) -> usize {
        self.locals.len() + self.parcels.len()
    }
}

impl crate::model::Inner {
    /// Notes a local state, an inbox, and what is possible with them.
    pub(crate) fn note_met(&self, process: Pid, local: u32, inbox: u32, moves: &[Move]) {
        let mut met = self.met.lock().unwrap_or_else(|e| e.into_inner());
        met.locals.insert((process, local));
        for parcel in self.inboxes.get(inbox) {
            met.parcels.insert((process, *parcel));
        }
        // (What a step leaves in the inbox was there before.)
        for step in moves {
            met.locals.insert((process, step.local));
            for (to, post) in &step.posts {
                for parcel in self.posts.get(*post) {
                    met.parcels.insert((*to, *parcel));
                }
            }
        }
    }
}
