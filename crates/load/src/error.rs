use std::io;
use std::path::PathBuf;

use hindmost_arrivals::TraceError;
use hindmost_plan::PlanError;
use thiserror::Error;

use crate::protocol::{Garbage, Refusal};
use crate::transport::{Peer, TlsProblem};

/// Why a client stopped.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The plan contradicts itself.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A trace cannot be replayed.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The target's name has no address.
    #[error("`{address}` cannot be resolved to an address: {source}")]
    Unresolvable {
        /// The address as written in the plan.
        address: String,
        /// The cause.
        source: io::Error,
    },
    /// No connection could be opened.
    #[error("connection {slot} of {of} to {address} failed: {source}")]
    Connect {
        /// The server.
        address: Peer,
        /// Number of the connection.
        slot: u32,
        /// Number of connections.
        of: u32,
        /// The cause.
        source: io::Error,
    },
    /// The server accepted a connection but refused to serve on it.
    #[error("the server at {address} refuses to serve: {refusal}")]
    Refused {
        /// The server.
        address: Peer,
        /// The server's message, or what was wrong with it.
        refusal: Refusal,
    },
    /// TLS could not be established.
    #[error("{address}: {problem}")]
    Tls {
        /// The server.
        address: String,
        /// The cause.
        problem: TlsProblem,
    },
    /// The plan's source address cannot be used.
    #[error("connections cannot be made: {0}")]
    Source(io::Error),
    /// The server accepted some connections, but not all.
    #[error("the server at {address} accepted {open} of {of} connections, then: {source}")]
    Full {
        /// The server.
        address: Peer,
        /// Number of open connections.
        open: usize,
        /// Number of connections in the plan.
        of: usize,
        /// Why the next connection failed.
        source: io::Error,
    },
    /// The limit on open files is too low.
    #[error("{connections} connections need {need} open files, but this process may open only {limit}")]
    OpenFiles {
        /// Number of connections.
        connections: u64,
        /// Files needed in total.
        need: u64,
        /// The hard limit.
        limit: u64,
    },
    /// No local port is left before the load.
    #[error("after {open} of {of} connections to {address} no local port was left")]
    Ports {
        /// The server.
        address: Peer,
        /// Number of open connections.
        open: usize,
        /// Number of connections in the plan.
        of: usize,
    },
    /// No local port is left during the load.
    #[error("after {made} connections, {after_s:.1} s into the load, no local port was left: a closed connection keeps its port for a minute")]
    PortsUsedUp {
        /// Connections made by one worker.
        made: u64,
        /// Seconds since the load started.
        after_s: f64,
    },
    /// The server disappeared and did not come back.
    #[error(
        "the server went away {after_s:.2} s into the load; {lost} requests were lost with it: {reason}"
    )]
    ServerGone {
        /// Seconds since the load started.
        after_s: f64,
        /// Requests that one worker lost with their connections.
        lost: u64,
        /// Error of the last connection attempt.
        reason: String,
    },
    /// The server sent bytes that do not follow the protocol.
    #[error(transparent)]
    Garbage(#[from] Garbage),
    /// The keys could not be stored.
    #[error("storing the keys failed after {stored} of {keys}: {reason}")]
    Preload {
        /// Keys stored so far.
        stored: u32,
        /// Keys to store.
        keys: u32,
        /// The cause.
        reason: String,
    },
    /// The keys could not be removed.
    #[error("removing the keys failed after {removed} of {keys}: {reason}")]
    CleanUp {
        /// Keys removed so far.
        removed: u32,
        /// Keys to remove.
        keys: u32,
        /// The cause.
        reason: String,
    },
    /// A thread could not be pinned.
    #[error("a worker thread cannot be pinned to CPU {cpu}: {source}")]
    Pin {
        /// The CPU.
        cpu: u32,
        /// The cause.
        source: io::Error,
    },
    /// The plan asks for `io_uring`, but it is not available.
    #[error("io_uring cannot be used here: {0}")]
    NoUring(io::Error),
    /// A result could not be written.
    #[error("cannot write {path}: {source}", path = path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The operating system reported another error.
    #[error("{what}: {source}")]
    System {
        /// The operation that failed.
        what: &'static str,
        /// The cause.
        source: io::Error,
    },
    /// The controller stopped the client, or has exited.
    #[error("the load was stopped from outside")]
    Aborted,
    /// A worker thread panicked, which is a bug in the engine.
    #[error("a worker thread panicked: {0}")]
    Panicked(String),
}

impl LoadError {
    /// Return the stable code of the error.
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

    /// Fill in the name of the unanswered request's kind.
    pub(crate) fn with_kind_names(mut self, kinds: &[String]) -> Self {
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
