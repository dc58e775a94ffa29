//! Stages of a request in an unmodified server, traced by eBPF on an unmodified kernel.
//!
//! The probes (`bpf/`) follow requests by their positions in the byte streams of TCP connections, and sum moments in
//! the kernel. This crate loads the probes, reads the sums by block, and writes sampled requests in full.
//! `hindmost.stats.stages` (Python) computes where the time goes from the moments.
//!
//! `bpf/stages.bpf.o` is built from the sources next to it (`setup/bpf.sh`), and a test checks that.

mod counts;
mod delays;
mod error;
mod framing;
mod latency_log;
mod layout;
mod moments;
mod probes;
mod profile;
mod records;
mod request_name;
mod request_start;
mod tracer;
mod usdt;

pub use counts::Counts;
pub use delays::Delays;
pub use error::TraceError;
pub use framing::{Framing, LengthField};
pub use moments::{Block, Kind, STAGES};
pub use profile::ProfileSummary;
pub use request_start::{ProbeSite, RequestStart};
pub use tracer::{Cost, ProbeCost, TraceRequest, TraceSummary, Tracer};

/// Return why tracing is not possible here, if so. This loads the probes without attaching them.
pub fn check_support() -> Option<TraceError> {
    probes::Probes::load(probes::ProbeConfig {
        port: 0,
        framing: Framing::Exchange,
        one_connection_in: 1,
        handover: true,
        follow_scheduler: true,
        keep_heads: true,
        request_start: None,
    })
    .err()
}
