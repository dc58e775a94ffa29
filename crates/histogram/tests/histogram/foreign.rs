//! Reads our logs with another implementation: the Python package `hdrhistogram`.
//!
//! `PYTHON=/path/to/python cargo test -p hindmost-histogram --test foreign -- --ignored`

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, UNIX_EPOCH};

use hindmost_histogram::hlog::{self, Interval, Tag};
use hindmost_histogram::{Histogram, Quantile};

const PERCENTILES: [f64; 6] = [1.0, 50.0, 90.0, 99.0, 99.9, 99.99];

/// Prints, for each interval of a log: tag, count, start and end in milliseconds, then the percentiles.
const READER: &str = r"
import sys, tempfile
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
with tempfile.NamedTemporaryFile('w', suffix='.hlog') as file:
    file.write(sys.stdin.read())
    file.flush()
    log = HistogramLogReader(file.name, HdrHistogram(1, 3_600_000_000_000, 3))
    while (h := log.get_next_interval_histogram()) is not None:
        facts = [h.get_tag(), h.get_total_count(), h.get_start_time_stamp(), h.get_end_time_stamp()]
        print(*facts, *(h.get_value_at_percentile(float(p)) for p in sys.argv[1:]))
    log.close()
    total, log = HdrHistogram(1, 2**63 - 1, 3), HistogramLogReader(file.name, None)
    while log.add_next_interval_histogram(total) is not None:
        pass
    print(total.get_total_count())
";

fn python_reads(text: &[u8]) -> String {
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".into());
    let mut child = Command::new(python)
        .args(["-c", READER])
        .args(PERCENTILES.map(|p| p.to_string()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("Python starts");
    child.stdin.take().unwrap().write_all(text).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "the reader failed, see above");
    String::from_utf8(output.stdout).unwrap()
}

/// Return latencies from 20 us up to hours; longer ones are rarer.
fn latencies(count: u64) -> Histogram {
    (1..=count).map(|i| 20_000 * count / i * (1 + i % 7)).collect()
}

#[test]
#[ignore = "needs Python with the package hdrhistogram"]
fn another_implementation_reads_the_same_counts_and_quantiles() {
    let started = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let parts = [
        ("latency/get", 0, latencies(100_000)),
        ("latency/get", 1, latencies(3)),
        ("send_delay/get", 1, (0..5_000).collect()),
        ("edge", 1, [i64::MAX as u64].into_iter().collect()),
        ("nothing", 1, Histogram::new()),
    ];
    let intervals = parts.iter().map(|(tag, start, histogram)| Interval {
        tag: Some(Tag::new(*tag).unwrap()),
        start_s: f64::from(*start),
        end_s: f64::from(*start) + 1.5,
        histogram,
    });
    let mut text = Vec::new();
    hlog::write(&mut text, started, intervals).unwrap();

    let answer = python_reads(&text);
    let lines: Vec<Vec<_>> = answer.lines().map(|line| line.split(' ').collect()).collect();
    assert_eq!(lines.len(), parts.len() + 1, "{answer}");
    for ((tag, start, histogram), line) in parts.iter().zip(&lines) {
        assert_eq!(line[..2], [*tag, &histogram.count().to_string()]);
        let times = [line[2], line[3]].map(|t| t.parse::<f64>().unwrap() / 1e3 - 1.7e9);
        assert!((times[0] - f64::from(*start)).abs() < 1e-3, "{line:?}");
        assert!((times[1] - f64::from(*start) - 1.5).abs() < 1e-3, "{line:?}");
        for (percentile, theirs) in PERCENTILES.iter().zip(&line[4..]) {
            let quantile = Quantile::new(percentile / 100.0).unwrap();
            let Some(ours) = histogram.quantile(quantile) else {
                continue;
            };
            let ours = ours.finite().unwrap() as f64;
            let theirs: f64 = theirs.parse().unwrap();
            let difference = (ours - theirs).abs() / theirs.max(1.0);
            assert!(difference <= 0.001, "{tag} p{percentile}: {ours} and {theirs}");
        }
    }
    assert_eq!(lines[5], [parts.iter().map(|part| part.2.count()).sum::<u64>().to_string()]);
}
