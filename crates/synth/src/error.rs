use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// What can stop a server from starting, or from going on.
#[derive(Debug, Error)]
pub enum SynthError {
    /// The document makes no sense.
    #[error("{field} = {value} makes no sense: {wanted}")]
    Config {
        /// The field of the document, as written there.
        field: &'static str,
        /// The value found.
        value: String,
        /// What would be accepted.
        wanted: &'static str,
    },
    /// The clone document makes no sense.
    #[error(transparent)]
    Clone(#[from] hindmost_clone::CloneError),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// The address as configured.
        address: String,
        /// The system's reason.
        source: io::Error,
    },
    /// A thread cannot be pinned.
    #[error("cannot pin server thread {thread} to CPU {cpu}: {source}")]
    Pin {
        /// Index of the thread, from 0.
        thread: usize,
        /// The CPU asked for.
        cpu: usize,
        /// The system's reason.
        source: io::Error,
    },
    /// The capacity of the document cannot be computed.
    #[error(transparent)]
    Simulate(#[from] hindmost_simulate::SimulateError),
    /// A trace of arrivals cannot be replayed.
    #[error(transparent)]
    Trace(#[from] hindmost_arrivals::TraceError),
    /// More requests arrive than can be served.
    #[error(
        "rate_per_s = {rate_per_s} is above what this document can serve for long: {capacity_per_s:.6} requests \
         a second; the queue would grow without end"
    )]
    AboveCapacity {
        /// Requests a second that were asked for.
        rate_per_s: f64,
        /// Requests a second that threads, locks and the dependence on load allow.
        capacity_per_s: f64,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A system call of the event loop failed.
    #[error("server cannot {doing}: {source}")]
    System {
        /// What was attempted.
        doing: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// A server thread panicked: a defect of this crate.
    #[error("server thread {thread} panicked")]
    Panicked {
        /// Index of the thread, from 0.
        thread: usize,
    },
}

impl SynthError {
    pub(crate) fn system(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { doing, source }
    }
}
