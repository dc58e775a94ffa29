//! When the worker's processor was away, told by its own loop.

use serde_json::json;

use super::fake::Fake;
use super::{driven, every_ms, plan, Driven, MEASURE, MS};

const TICK: i64 = 500;

/// One request a millisecond, answered after 100 us.
fn run(load: &serde_json::Value, pacing: &str, script: impl FnOnce(&mut Fake)) -> Driven {
    let mut fake = Fake::new(2, 100_000);
    script(&mut fake);
    driven(&plan(2, load, &json!({"pacing": pacing})), fake)
}

#[test]
fn a_planted_gap_is_recorded_exactly_and_none_else() {
    // Half-way between two requests, when nothing is in flight.
    let from = 60 * MS + MS / 2;
    let seen = run(&every_ms(), "spin", |fake| fake.stall = Some((from, 3 * MS)));
    let [[on, off]] = seen.away.spans_ns[..] else { panic!("{:?}", seen.away.spans_ns) };
    let planted = (from - MEASURE) as i64;
    assert!((planted - TICK..=planted).contains(&on), "{on} for {planted}");
    assert_eq!(off - on, 3 * MS as i64 + TICK);
    assert_eq!(seen.away.missed, 0);
}

#[test]
fn a_gap_within_a_write_call_is_recorded_from_its_stamp_on() {
    let seen = run(&every_ms(), "spin", |fake| fake.stall_writing = Some((60 * MS, 2 * MS)));
    let [[on, off]] = seen.away.spans_ns[..] else { panic!("{:?}", seen.away.spans_ns) };
    assert_eq!(off - on, 2 * MS as i64 + TICK);
    let sent = seen.rows.iter().filter(|row| row.sent_ns == on as u64 + MEASURE);
    assert_eq!(sent.count(), 1, "the stamp before the call is the last sign of life");
}

#[test]
fn nothing_is_recorded_before_the_calibration_nor_of_a_sleep_nor_in_a_closed_loop() {
    let none: [[i64; 2]; 0] = [];
    let early = run(&every_ms(), "spin", |fake| fake.stall = Some((5 * MS, 3 * MS)));
    assert_eq!(early.away.spans_ns, none);
    let asleep = run(&every_ms(), "sleep", |_| ());
    assert_eq!(asleep.away.spans_ns, none);
    let closed = run(&json!({"loop": "closed"}), "spin", |fake| fake.stall = Some((60 * MS, 3 * MS)));
    assert_eq!(closed.away.spans_ns, none);
}
