//! A server with known answers: the double that a clone document describes. It speaks memcached's text protocol or
//! HTTP/1.1 and takes, for every request, exactly the time that the document asks for. What a client claims to have
//! measured can be checked against queueing theory, and against the figures that the server keeps itself.
//!
//! ```text
//!   sockets -> Hall (drain, frame, stamp; one FIFO) -> Worker (draw, lock, spin, reply) -> Books -> Account
//!                         protocol (framing, answers)         work (what it costs)
//! ```
//!
//! A hall has one thread (each connection is tied to a thread) or all of them (one shared queue). This crate never
//! prints and knows nothing of who embeds it.

mod account;
mod certificate;
mod config;
mod error;
mod protocol;
mod server;
mod store;
mod work;

/// What fuzz targets drive.
#[cfg(fuzzing)]
pub mod fuzzing {
    pub use crate::protocol::converse;
}

pub use account::{Account, Gaps, LogAccount, Report, Spread, Tally, ThreadHost};
pub use certificate::{Certificate, Rung};
pub use config::{Idle, Occupy, Protocol, ServerConfig, ServiceTime};
pub use error::SynthError;
pub use server::{Arrivals, Inside, Running, Server};
