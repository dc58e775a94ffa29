//! Interruptions of the worker, detected by its own loop.

use serde_json::json;

use super::fake::Fake;
use super::{driven, every_ms, plan, Driven, MEASURE, MS};

const TICK: i64 = 500;

/// Send one request per millisecond, each answered after 100 µs.
fn run(load: &serde_json::Value, pacing: &str, script: impl FnOnce(&mut Fake)) -> Driven {
    let mut fake = Fake::new(2, 100_000);
    script(&mut fake);
    driven(&plan(2, load, &json!({"pacing": pacing})), fake)
}

#[test]
fn a_planted_gap_is_recorded_exactly_and_no_other() {
    // Between two requests, with nothing in flight.
    let from = 60 * MS + MS / 2;
    let seen = run(&every_ms(), "spin", |fake| fake.stall = Some((from, 3 * MS)));
    let [[on, off]] = seen.away.spans_ns[..] else { panic!("{:?}", seen.away.spans_ns) };
    let planted = (from - MEASURE) as i64;
    assert!((planted - TICK..=planted).contains(&on), "{on} for {planted}");
    assert_eq!(off - on, 3 * MS as i64 + TICK);
    assert_eq!(seen.away.missed, 0);
}

#[test]
fn a_gap_in_a_write_call_starts_at_its_send_time() {
    let seen = run(&every_ms(), "spin", |fake| fake.stall_writing = Some((60 * MS, 2 * MS)));
    let [[on, off]] = seen.away.spans_ns[..] else { panic!("{:?}", seen.away.spans_ns) };
    assert_eq!(off - on, 2 * MS as i64 + TICK);
    let sent = seen.rows.iter().filter(|row| row.sent_ns == on as u64 + MEASURE);
    assert_eq!(sent.count(), 1, "the gap starts at the clock reading before the call");
}

#[test]
fn sleep_the_warm_up_and_closed_loops_have_no_interruptions() {
    let none: [[i64; 2]; 0] = [];
    let early = run(&every_ms(), "spin", |fake| fake.stall = Some((5 * MS, 3 * MS)));
    assert_eq!(early.away.spans_ns, none);
    let asleep = run(&every_ms(), "sleep", |_| ());
    assert_eq!(asleep.away.spans_ns, none);
    let closed = run(&json!({"loop": "closed"}), "spin", |fake| fake.stall = Some((60 * MS, 3 * MS)));
    assert_eq!(closed.away.spans_ns, none);
}
