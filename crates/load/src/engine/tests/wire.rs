//! Kernel time stamps: which requests have them, and the effect of clock steps.

use serde_json::{json, Value};

use super::fake::{Answer, Fake, HIT};
use super::{driven, open, plan, Driven, END, MEASURE, MS};
use crate::record::Row;
use crate::transport::{Source, Stamper};

/// Longer than any iteration of the loop under the fake clock, in nanoseconds.
const ROUND: u64 = 5_000;

fn stamping_server(slots: u32, delay_ns: u64, source: Source) -> Fake {
    let mut fake = Fake::new(slots, delay_ns);
    fake.stamper = Stamper::with_source(source);
    fake
}

/// Run a load whose requests are all stamped, unless `changes` say otherwise.
fn run_stamped(rate: u32, fake: Fake, slots: u32, changes: &Value) -> Driven {
    let mut all = json!({"stamp_every": 1});
    for (key, value) in changes.as_object().into_iter().flatten() {
        all[key] = value.clone();
    }
    driven(&plan(slots, &open(rate), &all), fake)
}

fn wire(row: &Row) -> Option<u64> {
    (row.wire_out_ns != 0).then(|| row.wire_in_ns - row.wire_out_ns)
}

fn in_order(row: &Row) -> bool {
    row.sent_ns <= row.wire_out_ns && row.wire_out_ns <= row.wire_in_ns && row.wire_in_ns <= row.completed_ns
}

#[test]
fn wire_latency_is_the_time_between_the_stamps() {
    let run = run_stamped(1000, stamping_server(2, 100_000, Source::Software), 2, &Value::Null);
    assert_eq!((run.recorder.stamps.requested, run.recorder.stamps.received), (100, 100));
    for row in &run.rows {
        assert_eq!(wire(row), Some(100_000), "{row:?}");
        assert!(in_order(row), "on our clock: {row:?}");
        assert_eq!(row.card_wire_ns, 0);
    }
    assert_eq!(run.recorder.kinds[0].stamped.overhead.count(), 100);
    assert_eq!(run.stamps.source, Some(Source::Software));
}

#[test]
fn every_nth_request_is_stamped_and_stamping_changes_no_byte() {
    let run = run_stamped(1000, stamping_server(4, 100_000, Source::Software), 4, &json!({"stamp_every": 8}));
    let known = run.rows.iter().filter(|row| wire(row).is_some()).count() as u64;
    assert!((12..=13).contains(&known), "{known}");
    assert_eq!(run.recorder.stamps.received, known);
    let without = run_stamped(1000, Fake::new(4, 100_000), 4, &json!({"stamp_every": 0}));
    assert_eq!(run.fake.wire, without.fake.wire);
    assert_eq!(without.stamps.source, None);
}

#[test]
fn only_requests_of_captured_connections_are_stamped() {
    let run = run_stamped(1000, stamping_server(4, 100_000, Source::Software), 4, &json!({"witnessed": 1}));
    assert_eq!(run.counts.completed, 100);
    assert!((10..45).contains(&run.rows.len()), "a quarter of them: {}", run.rows.len());
    assert!(run.rows.iter().all(|row| row.connection == 0 && wire(row) == Some(100_000)));
    assert_eq!(run.recorder.stamps.requested, run.rows.len() as u64);
}

#[test]
fn replies_read_together_keep_their_own_stamps() {
    // Five requests are outstanding on one connection when a stall ends, so all replies are read at once.
    let mut fake = stamping_server(1, 500_000, Source::Software);
    fake.stall = Some((60 * MS, 3 * MS));
    let run = run_stamped(10_000, fake, 1, &Value::Null);
    assert!(run.fake.peeks > 100);
    let together = run.rows.windows(2).filter(|two| two[0].completed_ns == two[1].completed_ns).count();
    assert!(together >= 4, "{together}");
    // The requests of the stall share a write. Each is answered 0.5 ms later, in order.
    assert_eq!(run.recorder.stamps.received, run.counts.completed);
    for row in &run.rows {
        assert!((500_000..500_000 + ROUND).contains(&wire(row).unwrap()), "{row:?}");
        assert!(in_order(row), "{row:?}");
    }
}

#[test]
fn replies_in_pieces_end_with_their_last_piece() {
    let mut fake = stamping_server(1, 0, Source::Software);
    fake.behaviour = Box::new(|_, _| Answer {
        delay_ns: 150_000,
        pieces: vec![HIT[..5].to_vec(), HIT[5..20].to_vec(), HIT[20..].to_vec()],
        gap_ns: 1_000,
        ends: false,
    });
    let run = run_stamped(10_000, fake, 1, &Value::Null);
    assert_eq!(run.recorder.stamps.received, run.counts.completed);
    assert!(run.rows.iter().all(|row| wire(row) == Some(152_000)), "{:?}", run.rows[0]);
}

#[test]
fn late_stamps_of_a_nic_are_waited_for() {
    for (tells, came, span) in [(0, true, 0), (1_000_000, true, 1), (u64::MAX, false, 0)] {
        let mut fake = stamping_server(2, 100_000, Source::Hardware);
        fake.card_tells_ns = tells;
        let run = run_stamped(2000, fake, 2, &Value::Null);
        assert_eq!((run.counts.scheduled, run.counts.completed), (200, 200), "{tells}");
        let by_card = run.rows.iter().filter(|row| row.card_wire_ns == 100_000).count();
        assert_eq!(by_card == 200, came, "{tells}: {by_card}");
        let source = if came { Source::Hardware } else { Source::Software };
        assert_eq!((run.stamps.source, run.stamps.card_failed.is_some()), (Some(source), !came));
        assert_eq!(run.recorder.stamps.received, 200, "by the card or, as it fails, by the kernel");
        assert!(run.rows.iter().all(|row| wire(row) == Some(100_000)), "our columns stay the kernel's");
        assert!(run.ended.0 < END + (2 + span) * MS, "nothing waits for stamps at the end");
    }
}

#[test]
fn a_clock_step_affects_only_requests_that_straddle_it() {
    for by in [-3_600_000_000_000, -20_000, 20_000, 3_600_000_000_000] {
        let mut fake = stamping_server(2, 100_000, Source::Software);
        let at = MEASURE + 50 * MS + 40_000;
        fake.steps = vec![(at, by)];
        let run = run_stamped(1000, fake, 2, &Value::Null);
        assert_eq!(run.counts.completed, 100);
        let stamps = run.recorder.stamps;
        // After a backward step shorter than the wire latency the stamps stay in order: one request looks
        // faster.
        let hidden = (-100_000..0).contains(&by);
        let lost = u64::from(!hidden);
        assert_eq!((stamps.requested, stamps.received, stamps.implausible), (100, 100 - lost, lost), "{by}");
        let time = run.stamps.time_of_day;
        assert_eq!((time.steps, time.largest_ns), (1, by.unsigned_abs()), "{by}");
        for row in &run.rows {
            let straddles = row.sent_ns < at && row.completed_ns > at;
            let expected = match (straddles, hidden) {
                (false, _) => Some(100_000),
                (true, true) => Some(100_000 - by.unsigned_abs()),
                (true, false) => None,
            };
            assert_eq!(wire(row), expected, "{by}: {row:?}");
            assert!(straddles || in_order(row), "{by}: {row:?}");
        }
    }
}

#[test]
fn a_small_clock_step_is_reported_by_the_end() {
    let mut fake = stamping_server(2, 100_000, Source::Software);
    // Too small to be detected by stamps outside a request.
    fake.steps = vec![(MEASURE + 50 * MS + 500_000, -2_500)];
    let run = run_stamped(1000, fake, 2, &Value::Null);
    assert_eq!(run.stamps.time_of_day.steps, 1);
    assert_eq!(run.recorder.stamps.received, 100, "no request straddles it");
    let mut early = stamping_server(2, 100_000, Source::Software);
    early.steps = vec![(5 * MS, 9_000_000)];
    let run = run_stamped(1000, early, 2, &Value::Null);
    assert_eq!((run.stamps.time_of_day.steps, run.recorder.stamps.received), (0, 100), "in the warm-up");
}

#[test]
fn a_connection_that_breaks_leaves_no_stamp_behind() {
    let mut fake = stamping_server(2, 300_000, Source::Hardware);
    fake.card_tells_ns = 2_000_000;
    fake.breaks = vec![(MEASURE + 60 * MS, 1), (MEASURE + 30 * MS, 0)];
    let run = run_stamped(5000, fake, 2, &Value::Null);
    assert_eq!(run.counts.scheduled, 500);
    assert!(run.counts.lost > 0);
    assert_eq!(run.recorder.stamps.requested, run.counts.completed);
    assert!(run.recorder.stamps.received > 450);
}

#[test]
fn a_timeout_is_censored_in_wire_latency() {
    let mut fake = stamping_server(1, 0, Source::Software);
    fake.behaviour = Box::new(|n, _| Answer::after(if n == 20 { 80 * MS } else { 100_000 }, HIT));
    let run = run_stamped(500, fake, 1, &json!({"timeout_s": 0.04}));
    let record = &run.recorder.kinds[0];
    assert!(run.counts.timeouts > 0);
    assert_eq!(record.stamped.wire.censored(), run.counts.timeouts);
    assert_eq!(record.stamped.wire.count() - record.stamped.wire.censored(), run.counts.completed);
}
