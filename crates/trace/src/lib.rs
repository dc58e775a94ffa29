//! Stages of a request in an unmodified server, by eBPF on an unmodified kernel.
//!
//! The probes (`bpf/`) follow requests by their positions in the byte streams of TCP connections, and keep sums of
//! moments in the kernel; this crate loads them, reads the sums block by block, and writes sampled requests in full.
//! Where a request's time goes follows from the moments: see `hindmost.stats.stages` in Python.
//!
//! `bpf/stages.bpf.o` is the build of the sources beside it (`setup/bpf.sh`), and a test proves it.

mod begun;
mod counts;
mod error;
mod framing;
mod latency_log;
mod layout;
mod moments;
mod probes;
mod records;
mod tracer;
mod usdt;
mod who;

pub use begun::{Begun, Place};
pub use counts::Counts;
pub use error::TraceError;
pub use framing::{Framing, LengthField};
pub use moments::{Block, Kind, STAGES};
/// Why nothing can be traced here, if so: the probes are loaded for it, and not attached.
pub fn fault() -> Option<TraceError> {
    probes::Probes::load(probes::Followed {
        port: 0,
        framing: Framing::Exchange,
        one_connection_in: 1,
        handover: true,
        who: true,
        begun: None,
    })
    .err()
}

pub use tracer::{Asked, Cost, Traced, Tracer};
pub use who::Who;
