use std::io::Write;
use std::time::{Duration, SystemTime};

use hdrhistogram::serialization::interval_log::{
    IntervalLogWriterBuilder, IntervalLogWriterError, Tag as WireTag,
};
use hdrhistogram::serialization::V2DeflateSerializer;

use super::exact::Exact;
use super::{HlogError, Interval, Tag};
use crate::Histogram;

const FORMAT: &str = "[Histogram log format version 1.3]";
const LEGEND: &str = r#""StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram""#;

/// The third column is in milliseconds, as in the logs that `HdrHistogram` writes for nanoseconds.
const NANOS_OF_THE_MAXIMUM: f64 = 1e6;

/// Smallest range that a payload declares. Readers allocate this much, and some refuse to add up histograms with
/// different ranges; one hour covers nearly all latencies.
const USUAL_RANGE_NS: u64 = 3_600_000_000_000;

/// Write a log to `out` that started at `started`, with `intervals` in their order.
///
/// An interval that cannot be written is not written in part.
pub fn write<'h, W: Write>(
    out: &mut W,
    started: SystemTime,
    intervals: impl IntoIterator<Item = Interval<&'h Histogram>>,
) -> Result<(), HlogError> {
    let mut serializer = V2DeflateSerializer::new();
    IntervalLogWriterBuilder::new()
        .add_comment(FORMAT)
        .with_start_time(started)
        .with_base_time(started)
        .begin_log_with(out, &mut serializer)?;
    writeln!(out, "{LEGEND}")?;

    // `IntervalLogWriter` writes no legend and only one head, so the other lines are written here.
    let mut log = IntervalLogWriterBuilder::new()
        .with_max_value_divisor(NANOS_OF_THE_MAXIMUM)
        .begin_log_with(out, &mut serializer)?;
    for interval in intervals {
        let (start, length) = span(&interval)?;
        let tag = interval.tag.as_ref().map(Tag::as_str).and_then(WireTag::new);
        log.write_comment(&Exact::new(interval.histogram).to_string())?;
        log.write_histogram(&to_wire(interval.histogram), start, length, tag).map_err(
            |error| match error {
                IntervalLogWriterError::IoError(error) => HlogError::Io(error),
                IntervalLogWriterError::SerializeError(source) => {
                    HlogError::Encode { start_s: interval.start_s, source }
                }
            },
        )?;
    }
    out.flush()?;
    Ok(())
}

/// Return start and length of `interval`. The end is rounded instead of the length, so that adjacent intervals stay
/// adjacent after rounding to milliseconds.
fn span(interval: &Interval<&Histogram>) -> Result<(Duration, Duration), HlogError> {
    let (start_s, end_s) = (interval.start_s, interval.end_s);
    let to_millis = |seconds: f64| Duration::try_from_secs_f64((seconds * 1e3).round() / 1e3);
    match (to_millis(start_s), to_millis(end_s)) {
        (Ok(start), Ok(end)) if start_s <= end_s => Ok((start, end.saturating_sub(start))),
        _ => Err(HlogError::Times { start_s, end_s }),
    }
}

/// Convert to the type that knows the wire format and has the same bins.
fn to_wire(histogram: &Histogram) -> hdrhistogram::Histogram<u64> {
    let high = histogram.max().unwrap_or(0).max(USUAL_RANGE_NS);
    let mut wire = hdrhistogram::Histogram::new_with_bounds(1, high, 3)
        .expect("1 to an hour or more at 3 digits is a valid range");
    for bin in histogram.bins() {
        wire.record_n(bin.low, bin.count).expect("the range reaches up to the largest value");
    }
    wire
}
