//! Scheduled, sent, completed: the loop's promises about time.

use hindmost_histogram::Histogram;
use serde_json::{json, Value};

use super::fake::{Answer, Fake, FIRST_PORT, HIT};
use super::{driven, every_ms, open, plan, END, MEASURE, MS};
use crate::record::Status;

/// Longer than any iteration of the loop under the fake clock, in nanoseconds.
const ROUND: u64 = 5_000;

#[test]
fn only_requests_scheduled_in_the_measurement_count() {
    let run = driven(&plan(1, &every_ms(), &Value::Null), Fake::new(1, 100_000));
    assert_eq!((run.counts.scheduled, run.counts.completed), (100, 100));
    let scheduled: Vec<u64> = run.rows.iter().map(|row| row.scheduled_ns).collect();
    assert_eq!(scheduled, (0..100).map(|i| MEASURE + i * MS).collect::<Vec<_>>());
    assert_eq!(run.fake.requests, 119, "the warm-up and the calibration send, too");
}

#[test]
fn late_sender_does_not_shorten_latency() {
    let mut fake = Fake::new(1, 100_000);
    fake.stall = Some((60 * MS, 5 * MS));
    let run = driven(&plan(1, &every_ms(), &Value::Null), fake);
    let late: Vec<_> = run.rows.iter().filter(|row| (60 * MS..65 * MS).contains(&row.scheduled_ns)).collect();
    assert_eq!(late.len(), 5);
    for row in &run.rows {
        assert!(
            (100_000..150_000).contains(&(row.completed_ns - row.sent_ns)),
            "the server was not slow: {row:?}"
        );
    }
    for row in late.iter().filter(|row| row.scheduled_ns > 60 * MS) {
        assert!(row.completed_ns >= 65 * MS, "{row:?}");
        assert!(row.sent_ns - row.scheduled_ns >= 65 * MS - row.scheduled_ns, "{row:?}");
    }
    assert!(run.recorder.kinds[0].send_delay.max().unwrap() >= 4 * MS);
}

#[test]
fn latency_starts_at_the_scheduled_time_while_the_server_is_frozen() {
    let mut fake = Fake::new(2, 100_000);
    fake.frozen = 50 * MS..70 * MS;
    let run = driven(&plan(2, &every_ms(), &Value::Null), fake);
    for row in &run.rows {
        let frozen = (50 * MS - 100_000..70 * MS).contains(&row.scheduled_ns);
        let expected = if frozen { (70 * MS - row.scheduled_ns).max(100_000) } else { 100_000 };
        let latency = row.completed_ns - row.scheduled_ns;
        assert!((expected..expected + 4 * ROUND).contains(&latency), "{row:?}: {latency} for {expected}");
        assert!(row.sent_ns - row.scheduled_ns < ROUND, "{row:?}");
    }
}

#[test]
fn sends_do_not_wait_for_replies() {
    let mut fake = Fake::new(1, 100_000);
    fake.frozen = 50 * MS..70 * MS;
    let run = driven(&plan(1, &every_ms(), &Value::Null), fake);
    let sent_while_frozen = run.fake.wire.iter().filter(|w| (50 * MS..70 * MS).contains(&w.at_ns)).count();
    assert_eq!(sent_while_frozen, 20);
}

#[test]
fn a_request_is_sent_on_schedule_whatever_is_outstanding() {
    let run = driven(&plan(4, &open(10_000), &Value::Null), Fake::new(4, 30 * MS));
    assert_eq!(run.counts.completed, 1000);
    assert!(run.recorder.kinds[0].send_delay.max().unwrap() < ROUND);
    let outstanding = &run.recorder.outstanding;
    assert_eq!(outstanding.count(), 1000);
    assert!((298..=301).contains(&outstanding.max().unwrap()), "{:?}", outstanding.max());
}

#[test]
fn a_sleeping_worker_is_as_punctual_as_a_spinning_one_when_sleeps_are_exact() {
    let run = driven(&plan(4, &open(2_000), &json!({"pacing": "sleep"})), Fake::new(4, 300_000));
    assert_eq!(run.counts.completed, 200);
    assert!(run.recorder.kinds[0].send_delay.max().unwrap() < ROUND);
}

#[test]
fn closed_loop_never_has_more_than_one_outstanding_per_connection() {
    for load in [json!({"loop": "closed"}), json!({"loop": "closed", "rate_per_s": 20_000.0})] {
        let mut fake = Fake::new(3, 1);
        // Some replies arrive in pieces, and some connections break.
        fake.behaviour = Box::new(|n, _| Answer {
            delay_ns: 200_000 + 1_000 * (n % 7),
            pieces: vec![HIT[..9].to_vec(), HIT[9..].to_vec()],
            gap_ns: 1_000,
            ends: n % 50 == 49,
        });
        let run = driven(&plan(3, &load, &Value::Null), fake);
        assert_eq!(run.fake.deepest, 1, "{load}");
        assert!(run.reconnects > 10);
        // Three connections with a round trip of slightly more than 205 µs, for 100 ms.
        assert!((1_000..1_500).contains(&run.counts.completed), "{:?}", run.counts);
    }
}

#[test]
fn the_open_loop_ignores_the_number_of_outstanding_requests() {
    let run = driven(&plan(1, &open(10_000), &Value::Null), Fake::new(1, 5 * MS));
    assert!(run.fake.deepest >= 49, "{}", run.fake.deepest);
}

#[test]
fn a_late_reply_is_a_timeout_and_later_replies_match_their_requests() {
    let mut fake = Fake::new(1, 0);
    fake.behaviour = Box::new(|n, _| Answer::after(if n == 20 { 80 * MS } else { 100_000 }, HIT));
    let run = driven(&plan(1, &open(500), &json!({"timeout_s": 0.04})), fake);
    // Request 20 is answered 80 ms late, and the requests behind it wait for the remaining time.
    assert_eq!(run.counts.scheduled, 50);
    assert!(run.counts.timeouts > 0 && run.counts.completed > 0, "{:?}", run.counts);
    for row in &run.rows {
        let late = row.completed_ns - row.scheduled_ns > 40 * MS;
        assert_eq!(row.status == Status::Timeout, late, "{row:?}");
    }
}

#[test]
fn a_row_has_the_stream_offsets_of_its_bytes() {
    let mut fake = Fake::new(3, 0);
    // Replies overtake sends and arrive in pieces, and writes are partial.
    fake.takes = 20;
    fake.behaviour = Box::new(|n, _| Answer {
        delay_ns: 100_000 + 700_000 * (n % 3),
        pieces: vec![HIT[..9].to_vec(), HIT[9..].to_vec()],
        gap_ns: 1_000,
        ends: false,
    });
    let run = driven(&plan(3, &open(5000), &Value::Null), fake);
    let request = b"get ".len() + 30 + b"\r\n".len();
    assert_eq!(run.rows.len(), 500);
    for row in &run.rows {
        let nth = row.place.request_end / request as u64;
        assert_eq!(
            (row.place.request_end, row.place.reply_end),
            (nth * request as u64, nth * HIT.len() as u64)
        );
        assert_eq!(u32::from(row.place.port), u32::from(FIRST_PORT) + row.connection);
        let mut written = 0;
        let mine = run.fake.wire.iter().filter(|one| one.slot == row.connection);
        let carried = mine.skip_while(|one| {
            written += one.bytes.len() as u64;
            written < row.place.request_end
        });
        let at_ns = carried.map(|one| one.at_ns).next().unwrap();
        assert!((row.sent_ns..row.completed_ns).contains(&at_ns), "{row:?}: {at_ns}");
    }
}

#[test]
fn only_requests_of_captured_connections_are_sampled_but_all_are_counted() {
    let run = driven(&plan(4, &open(5000), &json!({"witnessed": 1})), Fake::new(4, 100_000));
    assert_eq!(run.counts.completed, 500);
    assert!((80..170).contains(&run.rows.len()), "a quarter of them: {}", run.rows.len());
    assert!(run.rows.iter().all(|row| row.connection == 0));
}

#[test]
fn same_seed_same_bytes_on_the_wire() {
    let mixed = |seed: u64| {
        let changes = json!({
            "seed": seed,
            "workload": {"kind": "key-value", "get_ratio": 0.5, "keys": 100, "value_bytes": {"uniform": [1, 50]}},
        });
        let load = json!({"loop": "open", "rate_per_s": 5000.0});
        driven(&plan(4, &load, &changes), Fake::new(4, 100_000)).fake.wire
    };
    assert_eq!(mixed(3), mixed(3));
    assert_ne!(mixed(3), mixed(4));
}

#[test]
fn the_load_ends_with_its_last_reply() {
    let run = driven(&plan(1, &every_ms(), &Value::Null), Fake::new(1, 100_000));
    assert!((END - MS..END + MS).contains(&run.ended.0), "{}", run.ended);
    let mut whole = Histogram::new();
    run.recorder.kinds[0].latency.iter().for_each(|section| whole.merge(section));
    assert_eq!((whole.count(), whole.censored()), (100, 0));
}
