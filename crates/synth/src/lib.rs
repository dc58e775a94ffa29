//! A server with known answers: it speaks the memcached text protocol and takes, for every request,
//! exactly the service time that its document asks for. What a client claims to have measured can be
//! checked against queueing theory, and against the figures that the server keeps itself.
//!
//! ```text
//!   sockets --> Floor (drain, frame, stamp) --> one FIFO a thread --> Worker (draw, spin, reply)
//!                                                      memcached::execute --> Store
//! ```
//!
//! Each thread is one FCFS server over all of its connections, so one thread under open-loop Poisson
//! load is M/D/1 or M/M/1. This crate never prints and knows nothing of who embeds it.

mod account;
mod affinity;
mod config;
mod error;
mod memcached;
mod server;
mod service;
mod store;

/// What fuzz targets drive.
#[cfg(fuzzing)]
pub mod fuzzing {
    pub use crate::memcached::converse;
}

pub use account::{Report, Tally};
pub use config::{Idle, ServerConfig, ServiceTime};
pub use error::SynthError;
pub use server::{Running, Server};
