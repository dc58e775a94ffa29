//! Kernel counters that are read before and after a run: of its threads, its server, its CPUs and its connections.
//!
//! Each kind is a snapshot with `read` and `since`. None is cheap enough for the hot path (each reads one to three
//! small files).

mod cpu;
mod interrupts;
mod memory;
mod neighbours;
mod process;
mod queues;
mod runqueue;
mod socket;
mod tcp;
mod thread;
mod throttle;

pub use cpu::{CpuTime, CpuTimes};
pub use interrupts::{Hits, InterruptSpan, Interrupts};
pub use memory::peak_memory;
pub use neighbours::{Neighbour, Neighbourhood, Neighbours};
pub use process::ProcessCpu;
pub use queues::ServerQueues;
pub use runqueue::{RunQueue, RunQueues};
pub use socket::{Fill, SocketCounters, SocketSpan};
pub use tcp::TcpCounters;
pub use thread::{Schedule, ThreadCounters, ThreadSpan};
pub use throttle::Throttling;

/// Return `part / whole`, or zero if `whole` is zero.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}
