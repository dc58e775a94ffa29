//! What is kept of requests: distributions, a sub-sample, the worst, and windows over time.
//!
//! All memory is allocated and touched before the first request; recording one costs a handful of
//! additions.

mod gaps;
mod recorder;
mod row;
mod series;
mod wire;

pub use gaps::{Dispersion, Gaps};
pub use recorder::{Connects, Counts, EndpointRecord, KindRecord, Recorder, SECTIONS};
pub use row::{Place, Row, Status};
pub use series::{Series, Window, WindowRecorder};
pub use wire::{StampCounts, Wire, WireRecord};
