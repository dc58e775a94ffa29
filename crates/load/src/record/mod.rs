//! Records of requests: distributions, a sample, the slowest requests, and windows over time.
//!
//! All memory is allocated and mapped before the first request. Recording a request costs a few additions.

mod counts;
mod gaps;
mod live;
mod messages;
mod recorder;
mod records;
mod row;
mod series;
mod sessions;
#[cfg(test)]
mod tests;
mod wire;

pub use counts::{Connects, Counts};
pub use gaps::{Dispersion, Gaps};
pub use live::{LiveCounters, LiveReader, LiveSpan};
pub use messages::{MessageCounts, MessageRecord, Messages};
pub use recorder::Recorder;
pub use records::{EndpointRecord, KindRecord, SECTIONS};
pub use row::{Place, Row, Status};
pub use series::{Series, Window, WindowRecorder};
pub use sessions::{SessionCounts, SessionRecord};
pub use wire::{StampCounts, Wire, WireRecord};
