//! Locks, stops and queues, compared with manual calculations. Times are in microseconds.
#![allow(clippy::float_cmp, reason = "whole microseconds")]
#![allow(clippy::needless_pass_by_value, reason = "documents are written inline")]

use crate::common::{queue, rows, run, trace};
use serde_json::{json, Value};

/// Create a document with a service of 100 us and a lock held for 10 us before it.
fn document(threads: u32, lock: Value) -> Value {
    let mut document = queue(json!({"kind": "deterministic", "us": 100}), threads);
    document["locks"] = json!([{"name": "receive", "hold": {"kind": "deterministic", "us": 10}}]);
    for (key, value) in lock.as_object().unwrap() {
        document["locks"][0][key] = value.clone();
    }
    document
}

fn with_stop(mut document: Value, scope: &str, at_us: f64, us: f64) -> Value {
    document["disturbances"] = json!([{"name": "stop", "scope": scope, "when": {"kind": "once", "at_us": [at_us]},
                                       "length": {"kind": "deterministic", "us": us}}]);
    document
}

/// Check `(start, finish, lock wait)` of each request, in the order of service start.
fn check(what: &str, document: &Value, arrivals: &[f64], expected: &[(f64, f64, f64)]) {
    let found: Vec<_> = rows(document, &trace(arrivals))
        .iter()
        .map(|row| (row.start_ns / 1e3, row.finish_ns / 1e3, row.lock_wait_ns / 1e3))
        .collect();
    assert_eq!(found, expected, "{what}");
}

#[test]
fn waiting_for_a_lock_follows_the_document() {
    let three = [0.0, 1.0, 2.0];
    check("alone", &document(1, json!({})), &[0.0, 5.0], &[(0.0, 110.0, 0.0), (110.0, 220.0, 0.0)]);
    let expected = [(0.0, 110.0, 0.0), (1.0, 120.0, 9.0), (2.0, 130.0, 18.0)];
    check("spinning", &document(3, json!({})), &three, &expected);
    let expected = [(0.0, 100.0, 0.0), (1.0, 101.0, 0.0), (2.0, 102.0, 0.0)];
    check("never taken", &document(3, json!({"share": 0.0})), &three, &expected);
    // The second spins until 6, sleeps, is woken at 10, and runs at 13; the third spins until 10 + 5, which is
    // too short.
    let sleepy = json!({"spin_us": 5, "wake_us": 3});
    let expected = [(0.0, 110.0, 0.0), (1.0, 123.0, 12.0), (2.0, 136.0, 24.0)];
    check("sleeping", &document(3, sleepy), &three, &expected);
}

#[test]
fn with_barging_an_awake_thread_goes_first() {
    // The second sleeps from 1 on and is woken at 10, to run at 40. The third comes at 12, takes the free lock,
    // and has it until 22. The fourth comes at 35 and has it until 45. The second finds it taken at 40, sleeps
    // again, is woken at 45 and has it from 75 on.
    let lock = json!({"spin_us": 0, "wake_us": 30});
    let expected = [(0.0, 110.0, 0.0), (1.0, 185.0, 74.0), (12.0, 122.0, 0.0), (35.0, 145.0, 0.0)];
    check("barging", &document(4, lock), &[0.0, 1.0, 12.0, 35.0], &expected);
}

#[test]
fn with_handoff_the_oldest_owns_the_lock_and_all_wait_for_it_to_wake() {
    // The second owns it from 10 on, runs at 40, and holds it until 50. The third comes at 12, sleeps, and has
    // it at 50 + 30.
    let lock = json!({"spin_us": 0, "wake_us": 30, "release": "handoff"});
    let expected = [(0.0, 110.0, 0.0), (1.0, 150.0, 39.0), (12.0, 190.0, 68.0)];
    check("hand-off", &document(3, lock), &[0.0, 1.0, 12.0], &expected);
    // A waiter that still spins gets it at once.
    let lock = json!({"spin_us": 20, "wake_us": 30, "release": "handoff"});
    let expected = [(0.0, 110.0, 0.0), (1.0, 120.0, 9.0), (12.0, 130.0, 8.0)];
    check("hand-off to one that spins", &document(3, lock), &[0.0, 1.0, 12.0], &expected);
}

#[test]
fn locks_after_the_service_are_taken_after_it() {
    let expected = [(0.0, 110.0, 0.0), (4.0, 120.0, 6.0)];
    check("after", &document(2, json!({"at": "after"})), &[0.0, 4.0], &expected);
}

#[test]
fn a_stopped_thread_keeps_its_lock() {
    // All threads are stopped from 5 to 25: the first holds the lock until 30 and has lost 20 us.
    let world = with_stop(document(2, json!({})), "server", 5.0, 20.0);
    check("holding", &world, &[0.0, 1.0], &[(0.0, 130.0, 0.0), (1.0, 140.0, 29.0)]);
    // With a sleeping lock: the waiter has spun until 6 by the clock, is stopped, and sleeps at 25; woken at 30,
    // it runs at 33.
    let world = with_stop(document(2, json!({"spin_us": 5, "wake_us": 3})), "server", 5.0, 20.0);
    check("spinning", &world, &[0.0, 1.0], &[(0.0, 130.0, 0.0), (1.0, 143.0, 32.0)]);
    // Released at 10, when all threads stop: the waiter gets it when it runs again.
    let world = with_stop(document(2, json!({})), "server", 10.0, 20.0);
    check("released", &world, &[0.0, 1.0], &[(0.0, 130.0, 0.0), (1.0, 140.0, 29.0)]);
}

#[test]
fn a_stopped_idle_thread_takes_no_request() {
    let world = with_stop(queue(json!({"kind": "deterministic", "us": 100}), 2), "server", 50.0, 200.0);
    let expected = [(250.0, 350.0, 0.0), (250.0, 350.0, 0.0), (350.0, 450.0, 0.0)];
    check("vacation", &world, &[60.0, 70.0, 80.0], &expected);
}

#[test]
fn threads_have_separate_queues_if_the_document_says_so() {
    let mut own = queue(json!({"kind": "deterministic", "us": 100}), 2);
    own["queue"] = json!("per_thread");
    let found = rows(&own, &trace(&[0.0; 8]));
    let last = found.iter().map(|row| row.finish_ns).fold(0.0, f64::max);
    // Eight arrive at once and are sent to two queues at random: with this seed, not four and four.
    assert!(last > 4e5 && last <= 8e5, "{last}");
}

#[test]
fn the_cost_of_locks_is_reported() {
    let found = run(&document(3, json!({"spin_us": 5, "wake_us": 3})), &trace(&[0.0, 1.0, 2.0]));
    let lock = &found.locks[0];
    assert_eq!((lock.name.as_str(), lock.taken), ("receive", 3));
    assert_eq!((lock.waited_share, lock.sleeps_per_taken), (2.0 / 3.0, 2.0 / 3.0));
    assert!((lock.mean_wait_us - 12.0).abs() < 1e-9);
    assert!((lock.held_share - 30.0 / 136.0).abs() < 1e-9);
}
