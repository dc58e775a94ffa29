//! The host: its properties ([`HostFacts`], [`Topology`]), counters over a period ([`counters`]), how much CPU time
//! it takes away ([`noise`]) and when ([`sentinel`]), and whether it is fit to measure a tail ([`doctor`]).
//!
//! Everything is read through a [`Tree`]: `/` in production, a folder of small files in tests, so that tests cover
//! absent hardware (governors, turbo, several sockets). Missing values are `None`; no content of a file makes a
//! reader panic.
//!
//! This crate never changes the host: `hindmost_knobs` does.

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
