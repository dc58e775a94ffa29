use std::io;
use std::path::PathBuf;

use hindmost_arrivals::TraceError;
use hindmost_plan::PlanError;
use thiserror::Error;

use crate::protocol::{Garbage, Refusal};
use crate::transport::{Peer, TlsProblem};

/// Why a load instance gave up.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The plan contradicts itself.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A trace cannot be replayed.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The target's name means no address.
    #[error("`{address}` cannot be resolved to an address: {source}")]
    Unresolvable {
        /// As the plan has it.
        address: String,
        /// Why.
        source: io::Error,
    },
    /// No connection could be made.
    #[error("connection {slot} of {of} to {address} failed: {source}")]
    Connect {
        /// The server.
        address: Peer,
        /// Which connection.
        slot: u32,
        /// Of how many.
        of: u32,
        /// Why.
        source: io::Error,
    },
    /// The server took a connection and then would not serve us on it.
    #[error("the server at {address} refuses to serve: {refusal}")]
    Refused {
        /// The server.
        address: Peer,
        /// What it said, or what was wrong with it.
        refusal: Refusal,
    },
    /// Connections cannot be secured.
    #[error("{address}: {problem}")]
    Tls {
        /// The server.
        address: String,
        /// Why.
        problem: TlsProblem,
    },
    /// The server cannot be reached from where the plan wants it.
    #[error("connections cannot be made: {0}")]
    Source(io::Error),
    /// The server took some connections, but not all.
    #[error("the server at {address} took {open} of {of} connections, then: {source}")]
    Full {
        /// The server.
        address: Peer,
        /// So many are open.
        open: usize,
        /// Of how many.
        of: usize,
        /// Why the next one is not.
        source: io::Error,
    },
    /// This process may not open so many files.
    #[error("{connections} connections need {need} open files, and this process may have {limit}")]
    OpenFiles {
        /// Asked for.
        connections: u64,
        /// Files that they and all else take.
        need: u64,
        /// The hard limit.
        limit: u64,
    },
    /// No local port is left.
    #[error("after {open} of {of} connections to {address} no local port is left")]
    Ports {
        /// The server.
        address: Peer,
        /// So many are open.
        open: usize,
        /// Of how many.
        of: usize,
    },
    /// No local port is left, in mid-load.
    #[error("after {made} connections, {after_s:.1} s into the load, no local port is left for another: a closed one keeps its port for a minute")]
    PortsUsedUp {
        /// Connections made by one worker.
        made: u64,
        /// Seconds since the load started.
        after_s: f64,
    },
    /// The server went away and did not come back.
    #[error(
        "the server went away {after_s:.2} s into the load; {lost} requests were lost with it: {reason}"
    )]
    ServerGone {
        /// Seconds since the load started.
        after_s: f64,
        /// Requests that one worker lost with their connections.
        lost: u64,
        /// What the last attempt to connect said.
        reason: String,
    },
    /// Bytes that are not of the protocol.
    #[error(transparent)]
    Garbage(#[from] Garbage),
    /// The keys could not be stored.
    #[error("storing the keys failed after {stored} of {keys}: {reason}")]
    Preload {
        /// Stored so far.
        stored: u32,
        /// To be stored.
        keys: u32,
        /// Why.
        reason: String,
    },
    /// The keys could not be removed.
    #[error("removing the keys failed after {removed} of {keys}: {reason}")]
    CleanUp {
        /// Removed so far.
        removed: u32,
        /// To be removed.
        keys: u32,
        /// Why.
        reason: String,
    },
    /// A thread could not be pinned.
    #[error("a worker thread cannot be pinned to CPU {cpu}: {source}")]
    Pin {
        /// The processor.
        cpu: u32,
        /// Why.
        source: io::Error,
    },
    /// The plan asks for `io_uring`, and it is not to be had.
    #[error("io_uring cannot be used here: {0}")]
    NoUring(io::Error),
    /// A result could not be written.
    #[error("cannot write {path}: {source}", path = path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The operating system refused something else.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// Why.
        source: io::Error,
    },
    /// Whoever started the instance told it to stop, or is gone.
    #[error("the load was stopped from outside")]
    Aborted,
    /// A worker thread panicked: a bug of ours.
    #[error("a worker thread panicked: {0}")]
    Panicked(String),
}

impl LoadError {
    /// A name that programs can rely on.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Plan(_) => "plan",
            Self::Trace(_) => "trace",
            Self::Unresolvable { .. } => "unresolvable",
            Self::Connect { .. } => "connect",
            Self::Refused { refusal, .. } => refusal.code(),
            Self::Tls { problem, .. } => problem.code(),
            Self::Source(_) => "source",
            Self::Full { .. } => "full",
            Self::OpenFiles { .. } => "open-files",
            Self::Ports { .. } | Self::PortsUsedUp { .. } => "ports",
            Self::ServerGone { .. } => "server-gone",
            Self::Garbage(_) => "garbage",
            Self::Preload { .. } => "preload",
            Self::CleanUp { .. } => "clean-up",
            Self::Pin { .. } => "pin",
            Self::NoUring(_) => "no-uring",
            Self::Write { .. } => "write",
            Self::System { .. } => "system",
            Self::Aborted => "aborted",
            Self::Panicked(_) => "panicked",
        }
    }

    /// The same with the name of the request that was not answered.
    pub(crate) fn of_kinds(mut self, kinds: &[String]) -> Self {
        if let Self::Garbage(garbage) = &mut self {
            if let Some(name) = kinds.get(usize::from(garbage.kind.0)) {
                garbage.request.clone_from(name);
            }
        }
        self
    }

    pub(crate) fn system(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { what, source }
    }
}
