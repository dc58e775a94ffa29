//! Requests that are batched by an interval.

use hindmost_histogram::Histogram;
use serde_json::{json, Value};

use super::fake::Fake;
use super::faults::announcing;
use super::{driven, open, plan, Driven, MEASURE, MS};

const US: u64 = 1_000;

fn every(seconds: f64) -> Value {
    json!({"batching": {"interval": {"seconds": seconds}}})
}

fn send_delay(run: &Driven) -> &Histogram {
    &run.recorder.kinds[0].send_delay
}

#[test]
fn requests_of_one_interval_share_a_write_and_latency_includes_the_wait() {
    let run = driven(&plan(1, &open(5_000), &every(1e-3)), Fake::new(1, 100 * US));
    assert_eq!((run.counts.scheduled, run.counts.completed), (500, 500));
    let writes = &run.recorder.writes;
    // The last batch holds the remaining requests.
    assert_eq!((writes.max(), writes.count()), (Some(5), 100));
    let times: Vec<u64> = run.fake.wire.iter().map(|one| one.at_ns).filter(|&at| at > MEASURE).collect();
    assert!(times.windows(2).all(|two| (990 * US..1_010 * US).contains(&(two[1] - two[0]))), "{times:?}");
    // The first of five requests waits for 0 or 800 µs, depending on the phase of the batches.
    let held = &run.recorder.held;
    assert_eq!(held.count(), 500);
    assert!((700 * US..1_000 * US).contains(&held.max().unwrap()), "{:?}", held.max());
    assert!(
        send_delay(&run).max().unwrap() < 20 * US,
        "time held for a batch is not send delay: {:?}",
        send_delay(&run).max()
    );
    for row in &run.rows {
        assert!(
            row.sent_ns <= row.scheduled_ns + MS && row.completed_ns >= row.sent_ns + 100 * US,
            "{row:?}"
        );
    }
    let waits: u64 = run.rows.iter().map(|row| row.completed_ns - row.scheduled_ns).max().unwrap();
    assert!(waits > 800 * US, "latency counts the wait: {waits}");
}

#[test]
fn a_stalled_loop_has_send_delay_besides_the_time_held_by_design() {
    let mut fake = Fake::new(1, 100 * US);
    fake.stall = Some((50 * MS, 5 * MS));
    let run = driven(&plan(1, &open(5_000), &every(1e-3)), fake);
    let late = send_delay(&run).max().unwrap();
    assert!((3 * MS..6 * MS).contains(&late), "{late}");
    assert!(run.recorder.held.max().unwrap() <= MS);
}

#[test]
fn a_sleeping_worker_wakes_for_a_batch_without_a_scheduled_request() {
    // Each request waits some milliseconds for its batch, and the next one is scheduled milliseconds later.
    let mut changes = every(13e-3);
    changes["pacing"] = json!("sleep");
    let run = driven(&plan(1, &open(100), &changes), Fake::new(1, 100 * US));
    assert!(run.recorder.held.max().unwrap() > MS, "{:?}", run.recorder.held.max());
    assert!(send_delay(&run).max().unwrap() < 20 * US, "{:?}", send_delay(&run).max());
}

#[test]
fn without_batches_each_request_has_its_own_write_and_is_not_held() {
    let run = driven(&plan(1, &open(5_000), &Value::Null), Fake::new(1, 100 * US));
    let writes = &run.recorder.writes;
    assert_eq!((writes.max(), writes.count(), run.recorder.held.count()), (Some(1), 500, 0));
}

#[test]
fn counts_balance_when_connections_break_with_open_batches() {
    let mut fake = Fake::new(3, 2 * MS);
    fake.breaks = (0..30_u32).rev().map(|i| ((30 + 3 * u64::from(i)) * MS, i % 3)).collect();
    let run = driven(&plan(3, &open(5_000), &every(4e-3)), fake);
    assert_eq!((run.counts.scheduled, run.reconnects), (500, 30));
    assert!(run.counts.lost > 30 && run.counts.errors == run.counts.lost, "{:?}", run.counts);
    assert!(run.rows.iter().all(|row| row.sent_ns >= row.scheduled_ns), "each request counts as handed over");
}

#[test]
fn batched_requests_behind_an_announced_close_are_resent_on_the_next_connection() {
    let changes = json!({
        "target": {"protocol": "http", "address": "127.0.0.1:1"}, "workload": {"kind": "http", "paths": ["/a"]},
        "batching": {"interval": {"seconds": 4e-3}},
    });
    let run = driven(&plan(3, &open(5_000), &changes), announcing(3, 2 * MS, |n| n % 50 == 49));
    assert_eq!((run.counts.scheduled, run.counts.completed), (500, 500), "{:?}", run.counts);
    assert!(run.resent > 30, "{}", run.resent);
}
