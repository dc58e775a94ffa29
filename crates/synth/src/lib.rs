//! A server with known answers: the double that a clone document describes. It speaks memcached's text protocol or
//! HTTP/1.1 and takes, for every request, exactly the time that the document asks for. What a client claims to have
//! measured can be checked against queueing theory, and against the figures that the server keeps itself.
//!
//! ```text
//!   sockets (read, frame, stamp) -> RequestQueue -> Worker (draw, lock, spin, reply) -> ThreadRecorder -> ServerSummary
//!           protocol (framing, answers)                  work (what it costs)
//! ```
//!
//! A queue has one thread (each connection is tied to a thread) or all of them (one shared queue). This crate never
//! prints and knows nothing of who embeds it.
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

// The targets of `fuzz/`, which tests replay, name it as everybody else does.
#[cfg(test)]
extern crate self as hindmost_synth;

/// What fuzz targets drive.
#[cfg(any(test, fuzzing))]
pub mod fuzzing {
    pub use crate::protocol::converse;
}

pub use certificate::{Certificate, Rung};
pub use config::{Idle, Occupy, Protocol, ServerConfig, ServiceTime};
pub use error::SynthError;
pub use record::{Gaps, LiveTotals, LogSummary, ServedTotals, ServerSummary, ThreadHost, TimeDistribution};
pub use server::{Arrivals, InProcess, Running, Server};
