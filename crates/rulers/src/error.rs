use std::io;

use thiserror::Error;

/// Why a ruler cannot be used here.
#[derive(Debug, Error)]
pub enum RulerError {
    /// The processor lacks an instruction.
    #[error("ruler {ruler} needs {feature}, which this processor does not have")]
    Unsupported {
        /// Its name.
        ruler: String,
        /// What is missing.
        feature: &'static str,
    },
    /// No such ruler.
    #[error("no ruler is called {0}")]
    Unknown(String),
    /// Memory that holds code was refused.
    #[error("the kernel gives no memory for {what}: {source}")]
    Memory {
        /// What it was for.
        what: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
    /// A socket or a file that a ruler needs.
    #[error("ruler {ruler} cannot be set up: {source}")]
    Setup {
        /// Its name.
        ruler: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
    /// A thread may not run where it was asked to.
    #[error("processor {cpu} cannot be used: {source}")]
    Processor {
        /// Which.
        cpu: usize,
        /// What the kernel said.
        source: io::Error,
    },
    /// Something took the processor away in every burst.
    #[error("of {tried} bursts of {what} none was left alone: this host is too busy to measure its core")]
    Busy {
        /// Attempts.
        tried: usize,
        /// What was measured.
        what: String,
    },
}

impl RulerError {
    /// The name that programs know the error by.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unsupported { .. } => "ruler-unsupported",
            Self::Unknown(_) => "ruler-unknown",
            Self::Memory { .. } => "ruler-memory",
            Self::Setup { .. } => "ruler-setup",
            Self::Processor { .. } => "ruler-processor",
            Self::Busy { .. } => "ruler-busy",
        }
    }
}
