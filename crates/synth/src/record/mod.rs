//! The server's own figures, against which a client's figures can be checked.

mod counters;
mod distribution;
mod host;
mod live;
mod log;
mod recorder;
mod summary;
mod totals;

pub use distribution::TimeDistribution;
pub use host::{Gaps, ThreadHost};
pub use live::LiveTotals;
pub use log::LogSummary;
pub use summary::ServerSummary;
pub use totals::ServedTotals;

pub(crate) use counters::{RequestCounters, ServedRequest};
pub(crate) use log::{Log, LogFile};
pub(crate) use recorder::{ThreadRecord, ThreadRecorder};
pub(crate) use summary::ServerRecorder;
