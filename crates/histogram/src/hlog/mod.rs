//! Interval logs of `HdrHistogram` (`.hlog`): the file in which latency distributions are kept, and
//! which the viewers and libraries of that family read.
//!
//! ```text
//! #[Histogram log format version 1.3]
//! #[StartTime: 1700000000.250 (seconds since epoch)]
//! #[BaseTime: 1700000000.250 (seconds since epoch)]
//! "StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"
//! #[MaxValueDivisor: 1000000.000]
//! #[Hindmost: censored=2 min=20113 max=913022 sum=4711040013]
//! Tag=latency/get,0.000,10.000,0.913,HISTFAAA...
//! ```
//!
//! - Values are nanoseconds. The third column, for people, is the largest value in milliseconds.
//! - Times are seconds since the log's start, kept to the millisecond.
//! - A payload is V2 with deflate, unit 1, 3 significant digits: our bins, count for count.
//! - What bins cannot say stands in the comment before the interval, which other readers skip: the
//!   censored values and the exact extremes and sum. With it a histogram comes back equal;
//!   without it (a log of another tool) they are what the bins allow.
//! - Other implementations use signed integers and cannot read an interval that holds a value of
//!   2^63 ns (292 years) or more. We write and read these too.
//!
//! Format history: 1, this one.

mod error;
mod exact;
mod read;
mod tag;
mod write;

pub use error::{HlogError, LineFault};
pub use read::read;
pub use tag::{Tag, TagError};
pub use write::write;

use crate::Histogram;

/// What was recorded of one kind between two moments.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval<H = Histogram> {
    /// Of what: `latency/get`, `slip/set`. Logs of other tools often have no tags.
    pub tag: Option<Tag>,
    /// When it started, in seconds since the start of the log.
    pub start_s: f64,
    /// When it ended, in seconds since the start of the log.
    pub end_s: f64,
    /// The values: owned where an interval was read, borrowed where it is written.
    pub histogram: H,
}

/// A log that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Log {
    /// When the log started, in seconds since the epoch, if the log says so. If it does not, the
    /// times of the intervals are as they stand in the file.
    pub started_s: Option<f64>,
    /// The intervals, in the order of the file.
    pub intervals: Vec<Interval>,
}
