//! The daemon of `hindmost watch`: it looks at an application and its host every second, and touches nothing.
//!
//! ```text
//!  /proc, cgroup, PSI ── collect (kept-open descriptors) ──┐
//!  probe or access log ── latency (histograms) ────────────┼── daemon ── ring file (fixed size)
//!  budget: what costs too much is read less often ─────────┘      └──── /metrics and a small page, on loopback
//! ```
//!
//! What a sample costs stands in the sample. Who reads the ring afterwards needs nothing of the process that wrote it.

mod budget;
mod collect;
mod counters;
mod daemon;
mod error;
mod latency;
mod look;
mod ring;
mod serve;

pub use budget::Cost;
pub use counters::{Counter, Kind, COUNTERS};
pub use daemon::{watch, Asked, Summary};
pub use error::NerveError;
pub use latency::{LatencyFrom, ProbeRequest, Unit, Where};
pub use look::{Look, Probe, Seen};
pub use ring::{read, Frames};
