use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// An error of a server.
#[derive(Debug, Error)]
pub enum SynthError {
    /// A field of the configuration is invalid.
    #[error("{field} = {value}: {wanted}")]
    Config {
        /// Name of the field.
        field: &'static str,
        /// Its value.
        value: String,
        /// The allowed values.
        wanted: &'static str,
    },
    /// The clone document is invalid.
    #[error(transparent)]
    Clone(#[from] hindmost_clone::CloneError),
    /// The server cannot listen on the address.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// The configured address.
        address: String,
        /// The system's error.
        source: io::Error,
    },
    /// A thread cannot be pinned.
    #[error("cannot pin server thread {thread} to CPU {cpu}: {source}")]
    Pin {
        /// Index of the thread, from 0.
        thread: usize,
        /// The requested CPU.
        cpu: usize,
        /// The system's error.
        source: io::Error,
    },
    /// The capacity of the document cannot be computed.
    #[error(transparent)]
    Simulate(#[from] hindmost_simulate::SimulateError),
    /// A trace of arrivals cannot be replayed.
    #[error(transparent)]
    Trace(#[from] hindmost_arrivals::TraceError),
    /// Requests arrive faster than the server can serve them.
    #[error(
        "rate_per_s = {rate_per_s} exceeds the capacity of this document, {capacity_per_s:.6} requests/s: \
         the queue would grow without limit"
    )]
    AboveCapacity {
        /// Requested arrival rate.
        rate_per_s: f64,
        /// Capacity allowed by threads, locks and the dependence on load.
        capacity_per_s: f64,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A system call of the event loop failed.
    #[error("server cannot {action}: {source}")]
    System {
        /// The attempted operation.
        action: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// A server thread panicked: a bug of this crate.
    #[error("server thread {thread} panicked")]
    Panicked {
        /// Index of the thread, from 0.
        thread: usize,
    },
}

impl SynthError {
    /// Return the stable code of the error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Bind { .. } => "cannot-listen",
            Self::Pin { .. } => "pin",
            Self::AboveCapacity { .. } => "above-capacity",
            _ => "serving-failed",
        }
    }

    pub(crate) fn system(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { action, source }
    }
}
