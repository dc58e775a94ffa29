//! Why a watch cannot begin, or had to end.

use std::io;

/// A failure of the daemon or of a reader of its ring.
#[derive(Debug, thiserror::Error)]
pub enum NerveError {
    /// The application is not there.
    #[error("there is nothing to watch: {0}")]
    Gone(String),
    /// The ring cannot be made, written or read.
    #[error("ring {file}: {doing}: {source}")]
    Ring {
        /// Its path.
        file: String,
        /// What was being done.
        doing: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
    /// It is no ring, or one of another version.
    #[error("{file} is no ring that this Hindmost reads: {why}")]
    NoRing {
        /// Its path.
        file: String,
        /// Why not.
        why: String,
    },
    /// Another watch writes this ring.
    #[error("ring {0} is being written by another watch")]
    Held(String),
    /// Latency cannot be had from there.
    #[error("no latency from {from}: {why}")]
    Latency {
        /// The probe's address or the log's path.
        from: String,
        /// Why not.
        why: String,
    },
    /// The page cannot be served.
    #[error("cannot serve on {address}: {source}")]
    Serve {
        /// The address asked for.
        address: String,
        /// What the kernel said.
        source: io::Error,
    },
}

impl NerveError {
    /// Its name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Gone(_) => "gone",
            Self::Ring { .. } => "ring",
            Self::NoRing { .. } => "no-ring",
            Self::Held(_) => "held",
            Self::Latency { .. } => "latency",
            Self::Serve { .. } => "serve",
        }
    }
}
