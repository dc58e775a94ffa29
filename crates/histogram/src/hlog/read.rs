use std::io::{self, BufRead, Read};
use std::time::Duration;

use base64::prelude::{Engine, BASE64_STANDARD};
use flate2::read::ZlibDecoder;
use hdrhistogram::serialization::interval_log::{
    IntervalLogHistogram, IntervalLogIterator, LogEntry, Tag as WireTag,
};
use hdrhistogram::serialization::{DeserializeError, Deserializer};

use super::exact::Exact;
use super::{HlogError, Interval, LineFault, Log, Tag};
use crate::Histogram;

/// Longest line in bytes: an interval with all bins takes a fraction of it.
const LONGEST_LINE: u64 = 1 << 24;

/// Read a log that [`super::write`] or another tool wrote.
///
/// Payloads may be plain or compressed V2 of any unit and precision; counts of coarser bins are placed at the
/// middle of the bin. Values are interpreted as nanoseconds.
pub fn read(text: impl BufRead) -> Result<Log, HlogError> {
    let mut clock = LogClock::default();
    let mut intervals = Vec::new();
    let mut exact = None;
    let mut text = text;
    for index in 0.. {
        let mut bytes = Vec::new();
        if text.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut bytes)? == 0 {
            break;
        }
        let mut line = String::from_utf8(bytes).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
        if line.len() as u64 == LONGEST_LINE {
            return Err(HlogError::Line { line: index + 1, fault: LineFault::Unreadable });
        }
        line.truncate(line.trim_end_matches(['\n', '\r']).len());
        let error_here = |fault| HlogError::Line { line: index + 1, fault };
        if Exact::is_in(&line) {
            exact = Some(Exact::parse(&line).ok_or_else(|| error_here(LineFault::Exact))?);
            continue;
        }
        if line.trim().is_empty() {
            continue;
        }
        line.push('\n');
        match IntervalLogIterator::new(line.as_bytes()).next() {
            None => {} // another comment, or the legend
            Some(Ok(LogEntry::StartTime(moment))) => clock.start = Some(moment),
            Some(Ok(LogEntry::BaseTime(moment))) => clock.base = Some(moment),
            Some(Ok(LogEntry::Interval(entry))) => {
                intervals.push(interval(&entry, exact.take(), clock).map_err(error_here)?);
            }
            Some(Err(_)) => return Err(error_here(LineFault::Unreadable)),
        }
    }
    Ok(Log { started_s: clock.start.map(|moment| moment.as_secs_f64()), intervals })
}

fn interval(
    entry: &IntervalLogHistogram<'_>,
    exact: Option<Exact>,
    clock: LogClock,
) -> Result<Interval, LineFault> {
    let name = entry.tag().as_ref().map(WireTag::as_str);
    let mut histogram = decode(entry.encoded_histogram())?;
    if exact.is_some_and(|exact| !exact.restore(&mut histogram)) {
        return Err(LineFault::Contradiction);
    }
    Ok(Interval {
        tag: name.map(Tag::new).transpose()?,
        start_s: clock.since_start(entry.start_timestamp()),
        end_s: clock.since_start(entry.start_timestamp().saturating_add(entry.duration())),
        histogram,
    })
}

fn decode(payload: &str) -> Result<Histogram, LineFault> {
    let bytes = BASE64_STANDARD.decode(payload)?;
    let bytes = inflate(bytes)?;
    check_counts(&bytes)?;
    let wire: hdrhistogram::Histogram<u64> = Deserializer::new().deserialize(&mut &bytes[..])?;
    let mut histogram = Histogram::new();
    for bin in wire.iter_recorded() {
        let middle = wire.median_equivalent(bin.value_iterated_to());
        histogram.record_n(middle, bin.count_at_value());
    }
    Ok(histogram)
}

/// First words of a plain V2 payload and of a compressed one.
const PLAIN: u32 = 0x1c84_9313;
const COMPRESSED: u32 = 0x1c84_9314;
/// Bytes of a plain payload before its counts.
const HEAD: usize = 40;

fn read_u32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Inflate a compressed payload, to at most 1032 times its length; return any other unchanged.
fn inflate(bytes: Vec<u8>) -> Result<Vec<u8>, LineFault> {
    let (Some(COMPRESSED), Some(length)) = (read_u32(&bytes, 0), read_u32(&bytes, 4)) else {
        return Ok(bytes);
    };
    let mut plain = Vec::new();
    let mut packed = ZlibDecoder::new(bytes[8..].take(u64::from(length)));
    packed.read_to_end(&mut plain).map_err(DeserializeError::from)?;
    if read_u32(&plain, 0) != Some(PLAIN) {
        return Err(DeserializeError::InvalidCookie.into());
    }
    Ok(plain)
}

/// Check what the decoder does not. It would allocate memory, up to 4 GiB, for the claimed number of bytes before
/// it reads them; and it negates the length of runs of zeros, which overflows for the longest.
fn check_counts(plain: &[u8]) -> Result<(), LineFault> {
    // The decoder itself reports any other error.
    let (Some(PLAIN), Some(claimed)) = (read_u32(plain, 0), read_u32(plain, 4)) else { return Ok(()) };
    let mut counts = plain.get(HEAD..).unwrap_or_default();
    if claimed as usize > counts.len() {
        return Err(LineFault::Claim { claimed: claimed.into(), held: counts.len() as u64 });
    }
    while !counts.is_empty() {
        // LEB128 in at most nine bytes, of which the last uses all bits; all ones are -2^63 in zigzag.
        let length = counts.iter().take(8).position(|byte| byte & 0x80 == 0).map_or(9, |last| last + 1);
        let (number, rest) = counts.split_at(length.min(counts.len()));
        if number == [0xff; 9] {
            return Err(DeserializeError::EncodedArrayTooLong.into());
        }
        counts = rest;
    }
    Ok(())
}

/// The reference of the times in a log.
#[derive(Clone, Copy, Debug, Default)]
struct LogClock {
    start: Option<Duration>,
    base: Option<Duration>,
}

impl LogClock {
    /// Return the seconds from the start of the log to `stamp`. Stamps count from the base time. If a log
    /// states none, a stamp more than a year before the start counts from the start, and a later one from the
    /// epoch (the rule of `HdrHistogram`'s log reader).
    fn since_start(self, stamp: Duration) -> f64 {
        const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
        let start = self.start.unwrap_or_default();
        let base =
            self.base.unwrap_or(if stamp.saturating_add(YEAR) < start { start } else { Duration::ZERO });
        let moment = base.saturating_add(stamp);
        moment.saturating_sub(start).as_secs_f64() - start.saturating_sub(moment).as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_count_from_the_base_the_start_or_the_epoch() {
        let seconds = Duration::from_secs;
        for (start, base, stamp, since_start) in [
            (None, None, 5, 5.0),
            (Some(1_700_000_000), None, 5, 5.0),
            (Some(1_700_000_000), None, 1_700_000_005, 5.0),
            (Some(1_700_000_000), Some(1_700_000_000), 5, 5.0),
            (Some(1_700_000_000), Some(0), 1_700_000_005, 5.0),
            (Some(1_700_000_000), Some(1_699_999_990), 5, -5.0),
        ] {
            let clock = LogClock { start: start.map(seconds), base: base.map(seconds) };
            let found = clock.since_start(seconds(stamp));
            assert!((found - since_start).abs() < 1e-9, "{clock:?} {stamp}: {found}");
        }
    }
}
