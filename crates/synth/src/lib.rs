//! A server with known behaviour, described by a clone document. It speaks memcached's text protocol or HTTP/1.1, and
//! takes exactly the document's time for every request. A client's measurements can be checked against queueing theory
//! and against the server's own figures.
//!
//! ```text
//!   sockets (read, frame, stamp) -> RequestQueue -> Worker (draw, lock, spin, reply) -> ThreadRecorder -> ServerSummary
//!           protocol (framing, answers)                  work (what it costs)
//! ```
//!
//! Each request queue belongs to one thread, to which connections are tied, or is shared by all threads. This crate
//! never prints and does not depend on its callers.
//!
//! Imports go one way: `work`, `record`, `store` < `shared` < `protocol` < `server`.

mod certificate;
mod config;
mod error;
mod protocol;
mod record;
mod server;
mod shared;
mod store;
mod work;

// Tests replay the targets of `fuzz/`, which import this crate by its public name.
#[cfg(test)]
extern crate self as hindmost_synth;

/// Entry points of the fuzz targets.
#[cfg(any(test, fuzzing))]
pub mod fuzzing {
    pub use crate::protocol::converse;
}

pub use certificate::{Certificate, Rung};
pub use config::{Idle, Occupy, Protocol, ServerConfig, ServiceTime};
pub use error::SynthError;
pub use record::{Gaps, LiveTotals, LogSummary, ServedTotals, ServerSummary, ThreadHost, TimeDistribution};
pub use server::{Arrivals, InProcess, Running, Server};
