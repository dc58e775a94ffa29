//! The server: its threads, the queues that they serve, and the sockets that fill the queues.
//!
//! A module uses only modules of its own group and of earlier groups.

mod arrival_cost;
mod connection;

mod job;
mod slots;

mod delivery;
mod queue;

mod acceptor;
mod schedule;
mod sockets;

mod source;
mod station;

mod spin;
mod worker;

mod pool;
mod running;

mod in_process;
mod listening;

pub use in_process::{Arrivals, InProcess};
pub use listening::Server;
pub use running::Running;
pub(crate) use spin::{cpu_clock_cost, spin};
