//! The host: what it is ([`HostFacts`], [`Topology`]), what happened on it while something ran
//! ([`counters`]), how much time it takes away unasked ([`noise`]) and when ([`sentinel`]), and whether it is fit to
//! measure a tail ([`doctor`]).
//!
//! Everything is read below a [`Tree`], `/` in real life and a folder of small files in tests, so
//! that hardware which is absent (governors, turbo, several sockets) can be shown to be read right.
//! What cannot be read is `None`; a reader of this crate never panics over the content of a file.
//!
//! Nothing here changes the host: who writes is `hindmost_knobs`.

pub mod counters;
pub mod doctor;
pub mod noise;
pub mod sentinel;

pub mod cpulist;
mod facts;
mod nic;
mod topology;
mod tree;

mod fake_tree;

pub use facts::{CpuQuota, HostFacts, IdleState, LoadAverage, PortRange};
pub use fake_tree::FakeTree;
pub use nic::Nic;
pub use topology::{Cpu, Topology};
pub use tree::Tree;
