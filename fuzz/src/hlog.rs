//! Interval logs: an accepted log survives writing and reading again.
//!
//! An input that starts like a V2 payload (plain or compressed) is put into a line of a log: base64 would hide its
//! bytes from the fuzzer.

use std::time::{Duration, UNIX_EPOCH};

use base64::prelude::{Engine as _, BASE64_STANDARD};
use hindmost_histogram::hlog::{read, write, HlogError, Interval};

/// The first three bytes of every V2 payload.
const COOKIE: &[u8] = &[0x1c, 0x84, 0x93];

/// Check any text as a log.
pub fn any_log(bytes: &[u8]) {
    if bytes.starts_with(COOKIE) {
        return any_text(format!("0.000,1.000,1.000,{}\n", BASE64_STANDARD.encode(bytes)).as_bytes());
    }
    any_text(bytes);
}

fn any_text(bytes: &[u8]) {
    let Ok(log) = read(bytes) else { return };
    let borrowed = log.intervals.iter().map(|one| Interval {
        tag: one.tag.clone(),
        start_s: one.start_s,
        end_s: one.end_s,
        histogram: &one.histogram,
    });
    let started = log.started_s.unwrap_or(0.0).min(1e12);
    let mut text = Vec::new();
    match write(&mut text, UNIX_EPOCH + Duration::from_secs_f64(started), borrowed) {
        Ok(()) => {}
        // Another tool's log may have intervals before its start, and counts whose sum exceeds the signed
        // integers of the format.
        Err(HlogError::Times { .. } | HlogError::Encode { .. }) => return,
        Err(e) => panic!("{e}"),
    }
    let again = read(&text[..]).unwrap_or_else(|e| panic!("what was written is refused: {e}"));
    assert_eq!(again.intervals.len(), log.intervals.len());
    for (before, after) in log.intervals.iter().zip(&again.intervals) {
        assert_eq!(before.tag, after.tag);
        assert_eq!(before.histogram, after.histogram);
        for (then, now) in [(before.start_s, after.start_s), (before.end_s, after.end_s)] {
            // Times are kept to the millisecond, and seconds since 1970 in an f64 are not finer than
            // that.
            assert!((then - now).abs() <= 2e-3 + then.abs() * 1e-9, "{then} became {now}");
        }
    }
}
