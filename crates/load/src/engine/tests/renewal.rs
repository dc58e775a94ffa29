//! Connections with a fixed number of requests set by the plan, in a protocol whose servers keep connections
//! open.

use hindmost_histogram::Quantile;
use serde_json::{json, Value};

use super::fake::{Answer, Fake, HANDSHAKE_NS, HIT};
use super::{driven, open, plan, Driven, MS};
use crate::record::Row;

const QUIT: &[u8] = b"quit\r\n";

/// Create a server that answers after 0.2 ms, and closes on request if it `obeys`.
fn server(slots: u32, obeys: bool) -> Fake {
    let mut fake = Fake::new(slots, 0);
    fake.behaviour = Box::new(move |_, request| match request {
        QUIT => Answer { pieces: Vec::new(), ends: obeys, ..Answer::after(0, b"") },
        set if set.starts_with(b"set") => Answer::after(MS / 5, b"STORED\r\n"),
        _ => Answer::after(MS / 5, HIT),
    });
    fake
}

fn run(load: &Value, carried: Option<u32>, fake: Fake) -> Driven {
    let mix =
        json!({"kind": "key-value", "get_ratio": 0.5, "keys": 100, "value_bytes": {"uniform": [1, 900]}});
    driven(&plan(3, load, &json!({"workload": mix, "requests_per_connection": carried})), fake)
}

#[test]
fn a_connection_carries_the_planned_requests_and_then_the_server_is_asked_to_close_it() {
    for (carried, obeys) in [(1, true), (4, true), (4, false)] {
        let run = run(&open(1_000), Some(carried), server(3, obeys));
        assert_eq!((run.counts.completed, run.counts.errors), (100, 0), "{carried}: {:?}", run.counts);
        let made = run.recorder.connects.made;
        let fair = u64::from(100 / carried);
        assert!((fair - 3..=fair + 3).contains(&made), "{carried}: {made}");
        let quits = run.fake.wire.iter().filter(|one| one.bytes == QUIT).count() as u64;
        assert!(quits + 4 >= run.recorder.connects.all - 3, "{quits} of {}", run.recorder.connects.all);
        assert_eq!((run.reconnects, run.by_turns), (0, false), "the client closes, not the server");
        for slot in 0..3 {
            let wire: Vec<_> = run.fake.wire.iter().filter(|one| one.slot == slot).collect();
            let between = wire.split(|one| one.bytes == QUIT).map(<[_]>::len);
            let whole: Vec<usize> = between.clone().take(between.count() - 1).collect();
            assert!(whole.iter().all(|&n| n == carried as usize), "{carried}: {whole:?}");
        }
    }
}

#[test]
fn the_time_to_connect_counts_as_latency_and_is_recorded_separately() {
    let run = run(&open(1_000), Some(4), server(3, true));
    let latency = |row: &Row| row.completed_ns - row.scheduled_ns;
    let waited = run.rows.iter().filter(|row| latency(row) >= MS / 5 + HANDSHAKE_NS).count() as u64;
    assert!(waited.abs_diff(run.recorder.connects.made) <= 1, "{waited}");
    let quick = run.rows.iter().map(latency).min().unwrap();
    assert!((MS / 5..MS / 5 + HANDSHAKE_NS).contains(&quick), "{quick}");
    let connect = run.recorder.connect.quantile(Quantile::P50).unwrap().finite().unwrap();
    assert!((HANDSHAKE_NS as f64 * 0.99..HANDSHAKE_NS as f64 + 5e3).contains(&(connect as f64)), "{connect}");
}

#[test]
fn values_stored_over_renewed_connections_have_the_drawn_sizes() {
    let sets = |carried| -> Vec<Vec<u8>> {
        let run = run(&open(1_000), carried, server(3, true));
        let mut written: Vec<_> = run.fake.wire.into_iter().map(|one| one.bytes).collect();
        written.retain(|bytes| bytes.starts_with(b"set"));
        written
    };
    let (kept, renewed) = (sets(None), sets(Some(2)));
    assert!(kept.len() > 30 && kept == renewed, "{} and {}", kept.len(), renewed.len());
}

#[test]
fn a_closed_loop_renews_its_connections_too() {
    let run = run(&json!({"loop": "closed"}), Some(5), server(3, true));
    let (done, made) = (run.counts.completed, run.recorder.connects.made);
    assert!(done > 500 && made.abs_diff(done / 5) <= 4, "{made} for {done}");
}

#[test]
fn each_connection_is_opened_for_its_first_request() {
    let run = run(&open(1_000), Some(1000), server(3, true));
    assert_eq!(run.recorder.connects.all, 6, "connections opened before the load are not reused");
}

#[test]
fn a_request_on_a_broken_connection_is_lost_unless_servers_may_close() {
    let mut fake = server(3, true);
    fake.breaks =
        (0..6_u64).rev().flat_map(|i| (0..3).map(move |slot| ((50 + 5 * i) * MS + MS / 10, slot))).collect();
    let run = run(&open(1_000), Some(1000), fake);
    assert_eq!((run.resent, run.counts.completed + run.counts.errors), (0, 100), "{:?}", run.counts);
    assert!((1..=6).contains(&run.counts.lost), "{:?}", run.counts);
}
