use std::io;
use std::path::PathBuf;

use aya::maps::MapError;
use aya::programs::ProgramError;
use aya::{BtfError, EbpfError};

/// Why nothing can be traced.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The probes read system calls' arguments, which each machine keeps elsewhere.
    #[error("requests can be traced on x86-64 only, and this is {}", std::env::consts::ARCH)]
    Machine,
    /// The kernel does not describe its own types.
    #[error("the kernel's type information (/sys/kernel/btf/vmlinux) cannot be read: {0}")]
    NoBtf(BtfError),
    /// There is no such tracepoint, or none that probes can use.
    #[error("the kernel has no tracepoint {0}")]
    NoTracepoint(&'static str),
    /// Not allowed.
    #[error("the kernel lets this process load no probes ({0}): CAP_BPF and CAP_PERFMON are needed")]
    NotAllowed(io::Error),
    /// The kernel says no to a probe.
    #[error("probe {name}: {source}")]
    Probe {
        /// The probe.
        name: &'static str,
        /// What the kernel says.
        source: ProgramError,
    },
    /// The function that begins a request is not there.
    #[error("{file}: {why}")]
    NoFunction {
        /// Where it was looked for.
        file: PathBuf,
        /// What is the matter.
        why: String,
    },
    /// The kernel does not let the server's code be probed.
    #[error("{file} cannot be probed: {source}")]
    Uprobe {
        /// The program or library.
        file: PathBuf,
        /// What the kernel says.
        source: io::Error,
    },
    /// The object does not load.
    #[error("the probes do not load: {0}")]
    Load(#[from] EbpfError),
    /// A map cannot be read or written.
    #[error("the probes' memory: {0}")]
    Memory(#[from] MapError),
    /// The kernel stamps no packets.
    #[error("packets cannot be stamped on arrival: {0}")]
    Stamps(io::Error),
    /// No thread to read what the probes leave.
    #[error("a thread cannot be started: {0}")]
    Thread(io::Error),
    /// The file of records.
    #[error("{path}: {source}")]
    Records {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
}

impl TraceError {
    /// What programs can rely on.
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
