use std::io;
use std::path::PathBuf;

use aya::maps::MapError;
use aya::programs::ProgramError;
use aya::{BtfError, EbpfError};

/// An error that prevents tracing.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The probes read system call arguments, whose place depends on the architecture.
    #[error("requests can be traced only on x86-64, but this machine is {}", std::env::consts::ARCH)]
    Machine,
    /// The kernel has no BTF type information.
    #[error("cannot read the kernel's type information (/sys/kernel/btf/vmlinux): {0}")]
    NoBtf(BtfError),
    /// A tracepoint does not exist, or is not usable by probes.
    #[error("the kernel has no tracepoint {0}")]
    NoTracepoint(&'static str),
    /// Loading probes is not permitted.
    #[error("this process may not load probes ({0}): it needs CAP_BPF and CAP_PERFMON")]
    NotAllowed(io::Error),
    /// The kernel rejects a probe.
    #[error("probe {name}: {source}")]
    Probe {
        /// Name of the probe.
        name: &'static str,
        /// The kernel's error.
        source: ProgramError,
    },
    /// The function that starts a request was not found.
    #[error("{file}: {reason}")]
    NoFunction {
        /// File that was searched.
        file: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The kernel rejects the uprobe.
    #[error("cannot attach a probe to {file}: {source}")]
    Uprobe {
        /// The program or library.
        file: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// The object with the probes does not load.
    #[error("cannot load the probes: {0}")]
    Load(#[from] EbpfError),
    /// A map cannot be read or written.
    #[error("cannot access the probes' maps: {0}")]
    Memory(#[from] MapError),
    /// The kernel does not stamp packets.
    #[error("cannot time-stamp arriving packets: {0}")]
    Stamps(io::Error),
    /// The reading thread cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
    /// The file of records cannot be written.
    #[error("{path}: {source}")]
    Records {
        /// Path of the file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl TraceError {
    /// Stable code of the error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Machine => "trace-machine",
            Self::NoBtf(_) => "trace-btf",
            Self::NoTracepoint(_) => "trace-tracepoint",
            Self::NotAllowed(_) => "trace-permission",
            Self::Probe { .. } | Self::Uprobe { .. } | Self::Load(_) | Self::Memory(_) => "trace-probe",
            Self::NoFunction { .. } => "trace-function",
            Self::Stamps(_) => "trace-stamps",
            Self::Thread(_) => "trace-thread",
            Self::Records { .. } => "trace-records",
        }
    }
}
