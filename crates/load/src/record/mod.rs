//! What is kept of requests: distributions, a sub-sample, the worst, and windows over time.
//!
//! All memory is allocated and touched before the first request; recording one costs a handful of
//! additions.

mod counts;
mod gaps;
mod kept;
mod recorder;
mod row;
mod series;
#[cfg(test)]
mod tests;
mod wire;

pub use counts::{Connects, Counts};
pub use gaps::{Dispersion, Gaps};
pub use kept::{EndpointRecord, KindRecord, SECTIONS};
pub use recorder::Recorder;
pub use row::{Place, Row, Status};
pub use series::{Series, Window, WindowRecorder};
pub use wire::{StampCounts, Wire, WireRecord};
