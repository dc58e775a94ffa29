//! Errors of the daemon and of readers of its ring.

use std::io;

/// A failure of the daemon or of a reader of its ring.
#[derive(Debug, thiserror::Error)]
pub enum NerveError {
    /// The application does not exist.
    #[error("nothing to watch: {0}")]
    Gone(String),
    /// The ring cannot be created, written or read.
    #[error("ring {file}: {action}: {source}")]
    Ring {
        /// Path of the ring.
        file: String,
        /// The failed action.
        action: &'static str,
        /// The kernel's error.
        source: io::Error,
    },
    /// The file is not a ring, or has another version.
    #[error("{file} is not a ring that this version reads: {reason}")]
    NoRing {
        /// Path of the file.
        file: String,
        /// The reason.
        reason: String,
    },
    /// Another watch writes this ring.
    #[error("ring {0} is being written by another watch")]
    Held(String),
    /// The source of latency is not usable.
    #[error("cannot measure latency from {from}: {reason}")]
    Latency {
        /// Address of the probe's server, or path of the log.
        from: String,
        /// The reason.
        reason: String,
    },
    /// The folder of services cannot be watched.
    #[error("cannot watch folder {folder}: {source}")]
    Folder {
        /// Path of the folder.
        folder: String,
        /// The kernel's error.
        source: io::Error,
    },
    /// The page cannot be served.
    #[error("cannot serve on {address}: {source}")]
    Serve {
        /// The requested address.
        address: String,
        /// The kernel's error.
        source: io::Error,
    },
}

impl NerveError {
    /// Stable code of the error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Gone(_) => "gone",
            Self::Ring { .. } => "ring",
            Self::NoRing { .. } => "no-ring",
            Self::Held(_) => "held",
            Self::Latency { .. } => "latency",
            Self::Folder { .. } => "folder",
            Self::Serve { .. } => "serve",
        }
    }
}
