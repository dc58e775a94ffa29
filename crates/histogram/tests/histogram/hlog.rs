//! Interval logs survive a round trip, and damaged logs are refused with their line.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hindmost_histogram::hlog::{self, HlogError, Interval, LineFault, Log, Tag};
use hindmost_histogram::{Histogram, Quantile};
use proptest::collection::vec;
use proptest::prelude::*;

fn histogram_of(values: &[u64]) -> Histogram {
    values.iter().copied().collect()
}

fn start_time() -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(1_700_000_000_250)
}

fn interval<H>(tag: &str, start_s: f64, end_s: f64, histogram: H) -> Interval<H> {
    Interval { tag: Some(Tag::new(tag).unwrap()), start_s, end_s, histogram }
}

fn text_of(intervals: &[Interval]) -> String {
    let borrowed = intervals.iter().map(|interval| Interval {
        tag: interval.tag.clone(),
        start_s: interval.start_s,
        end_s: interval.end_s,
        histogram: &interval.histogram,
    });
    let mut bytes = Vec::new();
    hlog::write(&mut bytes, start_time(), borrowed).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn read(text: &str) -> Result<Log, HlogError> {
    hlog::read(text.as_bytes())
}

/// Return `text` without Hindmost comments, as another tool would have written it.
fn without_exact(text: &str) -> String {
    let mut rest: Vec<_> = text.lines().collect();
    rest.retain(|line| !line.starts_with("#[Hindmost: "));
    rest.join("\n")
}

#[test]
fn a_round_trip_keeps_intervals_and_their_order() {
    let mut lossy = histogram_of(&[5_000_000_000]);
    lossy.add_censored(3);
    let intervals = vec![
        interval("latency/get", 0.0, 1.0, histogram_of(&[20_113, 20_114, 913_022])),
        interval("send_delay/get", 0.0, 1.0, histogram_of(&[0, 55])),
        interval("latency/get", 1.0, 2.125, lossy),
        interval("latency/set", 1.0, 2.125, Histogram::new()),
    ];
    let log = read(&text_of(&intervals)).unwrap();
    assert_eq!(log.intervals, intervals);
    assert_eq!(log.started_s, Some(1_700_000_000.25));
}

#[test]
fn the_head_follows_the_format() {
    let text = text_of(&[interval("latency/get", 0.25, 10.25, histogram_of(&[913_022]))]);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(
        lines[..6],
        [
            "#[Histogram log format version 1.3]",
            "#[StartTime: 1700000000.250 (seconds since epoch)]",
            "#[BaseTime: 1700000000.250 (seconds since epoch)]",
            r#""StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram""#,
            "#[MaxValueDivisor: 1000000.000]",
            "#[Hindmost: censored=0 min=913022 max=913022 sum=913022]",
        ]
    );
    assert!(lines[6].starts_with("Tag=latency/get,0.250,10.000,0.913,HISTFAAA"), "{}", lines[6]);
}

#[test]
fn the_largest_values_survive_a_round_trip() {
    let intervals = [interval("top", 0.0, 1.0, histogram_of(&[0, i64::MAX as u64, 1 << 63, u64::MAX]))];
    let log = read(&text_of(&intervals)).unwrap();
    assert_eq!(log.intervals, intervals);
}

#[test]
fn a_log_without_our_comments_has_the_same_bins() {
    let histogram = histogram_of(&[20_113, 20_114, 913_022]);
    let text = without_exact(&text_of(&[interval("a", 0.0, 1.0, histogram.clone())]));
    let found = &read(&text).unwrap().intervals[0].histogram;
    assert!(found.bins().eq(histogram.bins()));
    assert_eq!(found.censored(), 0);
}

#[test]
fn adjacent_intervals_stay_adjacent_after_rounding_to_milliseconds() {
    let log = read(&text_of(&[
        interval("a", 0.000_4, 1.000_4, histogram_of(&[1])),
        interval("a", 1.000_4, 2.000_6, histogram_of(&[1])),
    ]));
    let log = log.unwrap();
    let times: Vec<_> = log.intervals.iter().map(|i| (i.start_s, i.end_s)).collect();
    assert_eq!(times, [(0.0, 1.0), (1.0, 2.001)]);
}

#[test]
fn invalid_times_are_refused() {
    let histogram = histogram_of(&[1]);
    for (start_s, end_s) in [(2.0, 1.0), (-1.0, 1.0), (f64::NAN, 1.0), (0.0, f64::INFINITY), (0.0, 1e300)] {
        let written = hlog::write(&mut Vec::new(), start_time(), [interval("a", start_s, end_s, &histogram)]);
        assert!(matches!(written, Err(HlogError::Times { .. })), "{start_s}..{end_s}");
    }
}

#[test]
fn a_count_beyond_the_format_is_an_error() {
    let mut histogram = Histogram::new();
    histogram.record_n(1, u64::MAX);
    let written = hlog::write(&mut Vec::new(), start_time(), [interval("a", 0.5, 1.0, &histogram)]);
    assert!(matches!(written, Err(HlogError::Encode { start_s: 0.5, .. })), "{written:?}");
}

#[test]
fn a_full_disk_is_reported() {
    let histogram = histogram_of(&[1]);
    let mut full: &mut [u8] = &mut [0; 200];
    let written = hlog::write(&mut full, start_time(), [interval("a", 0.0, 1.0, &histogram)]);
    assert!(matches!(written, Err(HlogError::Io(_))));
}

#[test]
fn damage_is_refused_with_its_line() {
    let text = text_of(&[interval("a", 0.0, 1.0, histogram_of(&[20_113, 913_022]))]);
    let payload = text.lines().nth(6).unwrap().rsplit(',').next().unwrap();
    let check = |damaged: String, line: usize, fault: fn(&LineFault) -> bool| match read(&damaged) {
        Err(HlogError::Line { line: l, fault: f }) if l == line && fault(&f) => {}
        other => panic!("{other:?} of\n{damaged}"),
    };
    check(text.replace("0.000,1.000", "zero,one"), 7, |f| matches!(f, LineFault::Unreadable));
    check("no log at all".into(), 1, |f| matches!(f, LineFault::Unreadable));
    check(text.replace(payload, &payload[..payload.len() - 3]), 7, |f| matches!(f, LineFault::Base64(_)));
    check(text.replace(payload, &payload[..payload.len() - 32]), 7, |f| matches!(f, LineFault::Decode(_)));
    check(text.replace(payload, "AAAA"), 7, |f| matches!(f, LineFault::Decode(_)));
    check(text.replace("Tag=a,", "Tag=a b,"), 7, |f| matches!(f, LineFault::Tag(_)));
    check(text.replace("sum=", "some="), 6, |f| matches!(f, LineFault::Exact));
    check(text.replace("max=913022", "max=99"), 7, |f| matches!(f, LineFault::Contradiction));
}

#[test]
fn blank_lines_and_windows_line_ends_are_accepted() {
    let intervals = [interval("a", 0.0, 1.0, histogram_of(&[20_113]))];
    let text = text_of(&intervals).replace('\n', "\r\n\r\n");
    assert_eq!(read(&text).unwrap().intervals, intervals);
}

#[test]
fn an_empty_file_is_an_empty_log() {
    assert_eq!(read("").unwrap().intervals, []);
}

/// Written by the Python package `hdrhistogram` 0.10.8 with `written-by-python.py`: an untagged interval with 1,000
/// i for i in 1..=1000, and a tagged one with 7 times one second.
#[test]
fn a_log_written_by_another_implementation_is_read() {
    let log = read(include_str!("../data/written-by-python.hlog")).unwrap();
    let [ramp, seconds] = &log.intervals[..] else {
        panic!("{log:?}");
    };
    let thousands: Vec<u64> = (1..=1000).map(|i| i * 1000).collect();
    assert_eq!(ramp.tag, None);
    assert_eq!((ramp.start_s, ramp.end_s), (0.0, 1.0));
    assert!(ramp.histogram.bins().eq(histogram_of(&thousands).bins()));
    let p99 = ramp.histogram.quantile(Quantile::P99).unwrap().finite().unwrap();
    assert!(p99.abs_diff(990_000) < 990, "{p99}");
    assert_eq!(seconds.tag, Some(Tag::new("service/set").unwrap()));
    assert_eq!((seconds.start_s, seconds.end_s), (1.0, 2.5));
    assert!(seconds.histogram.bins().eq(histogram_of(&[1_000_000_000; 7]).bins()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_written_interval_is_read_back_equal(
        values in vec((0_u32..64, any::<u64>()).prop_map(|(shift, bits)| bits >> shift), 0..200),
        censored in any::<u64>(),
        start_ms in 0_u32..1_000_000,
        length_ms in 0_u32..1_000_000,
    ) {
        let mut histogram = histogram_of(&values);
        histogram.add_censored(censored);
        let (start_s, length_s) = (f64::from(start_ms) / 1e3, f64::from(length_ms) / 1e3);
        let written = interval("a/b", start_s, start_s + length_s, histogram);
        let read = read(&text_of(std::slice::from_ref(&written))).unwrap().intervals.remove(0);
        prop_assert_eq!(&read.histogram, &written.histogram);
        prop_assert_eq!(&read.tag, &written.tag);
        prop_assert!((read.start_s - written.start_s).abs() < 1e-6);
        prop_assert!((read.end_s - written.end_s).abs() < 1e-6);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "(#|Tag=a,|0\\.5,|[ -~]|\n){0,60}") {
        let _ = read(&text);
    }
}

#[test]
fn a_payload_with_an_excessive_claim_is_refused_before_allocation() {
    // Found by fuzzing: these 46 bytes made the decoder allocate a gigabyte.
    for payload in [
        "HISTE0IAAAYAAAAAAAAAAwAAAAAAAAABAAADRjC4oAA/8AAAAAAAANFTBJlYAg==",
        "HISTFAAAACd4nJNpmSzsxMDAxgABzFCaEch0M9ixgMH+A0TgYjDLzAgmAHzLBq4=",
    ] {
        let line = format!("0.000,1.000,1.000,{payload}\n");
        let refused = read(&line).unwrap_err();
        let HlogError::Line { line: 1, fault: LineFault::Claim { claimed: 0x4200_0006, .. } } = refused
        else {
            panic!("{refused}")
        };
    }
}

#[test]
fn a_run_of_zeros_that_cannot_be_negated_is_refused() {
    // Found by fuzzing: the decoder overflows on it.
    let line = "0.000,1.000,1.000,HISTEwAAAAsAAAAAAAAAAwAAAAAAAAABAAADRjC4oAA/8AAAAAAAAAL///////////8C\n";
    let refused = read(line).unwrap_err();
    assert!(matches!(refused, HlogError::Line { line: 1, fault: LineFault::Decode(_) }), "{refused}");
}
