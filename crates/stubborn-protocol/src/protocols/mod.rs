//! Protocols to start from: what the library is tested with, and what a reader can copy.

pub mod echo_multicast;
pub mod paxos;
pub mod paxos_register;
pub mod primary_backup;
pub mod raft;
pub mod shared_register;
pub mod storage;
pub mod two_phase_commit;
