//! The daemon of `hindmost watch`: it samples an application and its host every second, and changes nothing.
//!
//! ```text
//!  /proc, cgroup, PSI ── collect (kept-open descriptors) ──┐
//!  probe or access log ── latency (histograms) ────────────┼── daemon ── ring file (fixed size)
//!  budget: expensive collectors are read less often ────────┘      └──── /metrics and a small page, on loopback
//! ```
//!
//! Each sample contains its own cost. A reader of the ring does not need the process that wrote it.

mod budget;
mod collect;
mod counters;
mod daemon;
mod error;
mod latency;
mod on_request;
mod ring;
mod serve;

pub use budget::Cost;
pub use counters::{Counter, Kind, COUNTERS};
pub use daemon::{watch, Summary, WatchRequest};
pub use error::NerveError;
pub use latency::{LatencyFrom, LogField, ProbeRequest, Unit};
pub use on_request::{HostSampler, Probe, ProbeReadings};
pub use ring::{read, Frames};
