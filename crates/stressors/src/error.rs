use std::io;

use thiserror::Error;

/// The reason why a stressor cannot be used here.
#[derive(Debug, Error)]
pub enum StressorError {
    /// The CPU lacks an instruction.
    #[error("stressor {stressor} needs {feature}, which this CPU does not have")]
    Unsupported {
        /// Name of the stressor.
        stressor: String,
        /// The missing feature.
        feature: &'static str,
    },
    /// There is no such stressor.
    #[error("there is no stressor {0}")]
    Unknown(String),
    /// The kernel refused memory.
    #[error("the kernel provides no memory for {what}: {source}")]
    Memory {
        /// Purpose of the memory.
        what: &'static str,
        /// The error of the kernel.
        source: io::Error,
    },
    /// A socket or a file of a stressor is not available.
    #[error("stressor {stressor} cannot be set up: {source}")]
    Setup {
        /// Name of the stressor.
        stressor: &'static str,
        /// The error of the kernel.
        source: io::Error,
    },
    /// A thread cannot be pinned to the requested CPU.
    #[error("CPU {cpu} cannot be used: {source}")]
    Processor {
        /// Number of the CPU.
        cpu: usize,
        /// The error of the kernel.
        source: io::Error,
    },
    /// Every burst was disturbed.
    #[error("all {tried} bursts of {what} were disturbed: this host is too busy to measure its core")]
    Busy {
        /// Number of attempts.
        tried: usize,
        /// The measured operation.
        what: String,
    },
}

impl StressorError {
    /// Return the code of the error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unsupported { .. } => "stressor-unsupported",
            Self::Unknown(_) => "stressor-unknown",
            Self::Memory { .. } => "stressor-memory",
            Self::Setup { .. } => "stressor-setup",
            Self::Processor { .. } => "stressor-processor",
            Self::Busy { .. } => "stressor-busy",
        }
    }
}
