//! Interval logs of `HdrHistogram` (`.hlog`): the files that store latency distributions, readable by the viewers
//! and libraries of that family.
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
//! - Values are in nanoseconds. The third column, for readers, is the largest value in milliseconds.
//! - Times are in seconds since the start of the log, rounded to the millisecond.
//! - A payload is V2 with deflate, unit 1, 3 significant digits: exactly the bins and counts of [`Histogram`].
//! - A comment before the interval, which other readers skip, has the censored values and the exact
//!   extremes and sum. With it, a histogram is restored exactly; without it (in a log of another
//!   tool), they are derived from the bins.
//! - Other implementations use signed integers and cannot read an interval with a value of 2^63 ns
//!   (292 years) or more. This crate writes and reads these, too.
//!
//! Format history: 1, the current version.

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

/// The values of one series between two moments.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval<H = Histogram> {
    /// Name of the series: `latency/get`, `send_delay/set`. Logs of other tools often have no tags.
    pub tag: Option<Tag>,
    /// Start, in seconds since the start of the log.
    pub start_s: f64,
    /// End, in seconds since the start of the log.
    pub end_s: f64,
    /// The values: owned if the interval was read, borrowed if it is written.
    pub histogram: H,
}

/// The content of a log file.
#[derive(Clone, Debug, PartialEq)]
pub struct Log {
    /// Start of the log, in seconds since the epoch, if the log states it. Otherwise the times of the intervals
    /// are unchanged from the file.
    pub started_s: Option<f64>,
    /// The intervals, in the order of the file.
    pub intervals: Vec<Interval>,
}
