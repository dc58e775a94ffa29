use hindmost_clock::Nanos;
use hindmost_histogram::{Histogram, Quantile, Value};
use hindmost_plan::Keep;

use super::*;
use crate::random::{stream, Purpose};
use crate::workload::Kind;

fn recorder() -> Recorder {
    let mut recorder = Recorder::new(2, Keep { samples: 10, worst: 2 }, stream(1, 0, 0, Purpose::Sampling));
    recorder.set_measurement(Nanos(1000), Nanos(2000));
    recorder
}

pub(super) fn row(scheduled_ns: u64, latency_ns: u64, status: Status) -> Row {
    let completed_ns = scheduled_ns + latency_ns;
    Row {
        scheduled_ns,
        sent_ns: scheduled_ns + 1,
        wire_out_ns: 0,
        wire_in_ns: 0,
        card_wire_ns: 0,
        completed_ns,
        place: Place::default(),
        kind: Kind::GET,
        status,
        has_message: false,
        connection: 0,
        endpoint: 0,
        thread: 0,
    }
}

#[test]
fn the_scheduled_time_determines_the_phase_of_a_request() {
    let mut recorder = recorder();
    for scheduled in [999, 1000, 1999, 2000] {
        recorder.record(row(scheduled, 5000, Status::Hit));
    }
    let record = &recorder.kinds[0];
    assert_eq!(record.counts.scheduled, 2);
    assert_eq!((record.latency[0].count(), record.latency[9].count()), (1, 1));
}

#[test]
fn counts_balance_for_all_outcomes() {
    let mut recorder = recorder();
    let all = [Status::Hit, Status::Miss, Status::Error, Status::Lost, Status::Timeout, Status::Unsent];
    for (i, status) in all.into_iter().cycle().take(600).enumerate() {
        recorder.record(row(1000 + i as u64, 10, status));
    }
    let counts = recorder.kinds[0].counts;
    assert!(counts.is_balanced(), "{counts:?}");
    assert_eq!((counts.scheduled, counts.completed, counts.misses, counts.errors), (600, 200, 100, 200));
    assert_eq!(recorder.sample.len(), 10);
}

#[test]
fn a_stamped_request_that_timed_out_is_censored_in_wire_latency() {
    let mut recorder = recorder();
    recorder.record_stamped(row(999, 50, Status::Hit), Wire::Known { ns: 40, shared: false }, true);
    recorder.record_stamped(row(1000, 50, Status::Hit), Wire::Known { ns: 40, shared: false }, true);
    recorder.record_stamped(row(1001, 50, Status::Miss), Wire::WithoutOut, true);
    recorder.record_stamped(row(1002, 50, Status::Error), Wire::Known { ns: 40, shared: false }, true);
    recorder.record_stamped(row(1003, 0, Status::Timeout), Wire::WithoutIn, true);
    recorder.record_stamped(row(1004, 0, Status::Timeout), Wire::WithoutOut, false);
    let record = &recorder.kinds[0];
    assert!(record.counts.is_balanced() && record.counts.scheduled == 5);
    assert_eq!((recorder.stamps.requested, recorder.stamps.received), (2, 1), "answered and measured");
    let WireRecord { wire, overhead } = &record.stamped;
    assert_eq!((wire.count(), wire.censored(), wire.min()), (2, 1, Some(40)));
    assert_eq!((overhead.count(), overhead.min()), (1, Some(9)));
}

#[test]
fn requests_without_an_answer_have_infinite_latency() {
    let mut recorder = recorder();
    for i in 0..98 {
        recorder.record(row(1000 + i, 100 + i, Status::Hit));
    }
    recorder.record(row(1100, 0, Status::Timeout));
    recorder.record(row(1101, 0, Status::Unsent));
    let mut whole = Histogram::new();
    recorder.kinds[0].latency.iter().for_each(|section| whole.merge(section));
    let quantile = |q| whole.quantile(Quantile::new(q).unwrap()).unwrap();
    assert!(matches!(quantile(0.98), Value::Finite(_)));
    assert_eq!(quantile(0.99), Value::Infinite);
    let worst: Vec<Status> = recorder.worst.into_vec().iter().map(|row| row.status).collect();
    assert!(worst.contains(&Status::Timeout) && worst.contains(&Status::Unsent));
}
