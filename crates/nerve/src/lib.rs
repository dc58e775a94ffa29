//! The daemon of `hindmost watch`: it samples applications and their host every second, and changes nothing.
//!
//! ```text
//!  host: /proc, PSI ── sampler ────────────────────────┐
//!                                                      ├── daemon ── /metrics and a small page, on loopback
//!  each service: /proc, cgroup ── sampler ──┐          │
//!                probe or access log ───────┼── service┘
//!                ring file (fixed size) ────┘
//! ```
//!
//! A sampler has a budget: expensive collectors are read less often. All files stay open.
//!
//! Each sample contains its own cost. A reader of the ring does not need the process that wrote it.

mod budget;
mod collect;
mod counters;
mod daemon;
mod error;
mod events;
mod latency;
mod on_request;
mod page;
mod ring;
mod sampler;
mod serve;
mod service;
mod slowdown;

pub use budget::Cost;
pub use counters::{Counter, Kind, COUNTERS};
pub use daemon::{watch, Callbacks, Summary, WatchRequest};
pub use error::NerveError;
pub use events::{describe, Inbox};
pub use latency::{LatencyFrom, LogField, ProbeRequest, Unit};
pub use on_request::{HostSampler, Probe, ProbeReadings};
pub use ring::{read, Frames};
pub use service::ServiceRequest;
