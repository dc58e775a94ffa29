//! The cost of arrivals at a busy server, compared with manual calculations and a closed form. Times are in
//! microseconds.
#![allow(clippy::float_cmp, reason = "whole microseconds")]

use crate::common::{design, queue, rows, run, trace};
use hindmost_simulate::{Arrivals, Design, Load};
use serde_json::{json, Value};

fn document(threads: u32) -> Value {
    let mut document = queue(json!({"kind": "deterministic", "us": 100}), threads);
    document["arrival_us"] = json!(20);
    document["wake_us"] = json!(30);
    document
}

/// Check `(start, finish)` of each request, in the order of service start.
fn check(what: &str, threads: u32, arrivals: &[f64], expected: &[(f64, f64)]) {
    let found: Vec<_> = rows(&document(threads), &trace(arrivals))
        .iter()
        .map(|row| (row.start_ns / 1e3, row.finish_ns / 1e3))
        .collect();
    assert_eq!(found, expected, "{what}");
}

#[test]
fn arrivals_interrupt_a_service() {
    check("it wakes up", 1, &[0.0, 500.0], &[(0.0, 130.0), (500.0, 630.0)]);
    check("while it wakes up", 1, &[0.0, 29.0], &[(0.0, 130.0), (130.0, 230.0)]);
    check("in the service", 1, &[0.0, 50.0], &[(0.0, 150.0), (150.0, 250.0)]);
    check("together with another", 1, &[0.0, 50.0, 69.0], &[(0.0, 150.0), (150.0, 250.0), (250.0, 350.0)]);
    check("after another", 1, &[0.0, 50.0, 70.0], &[(0.0, 170.0), (170.0, 270.0), (270.0, 370.0)]);
    check(
        "while it takes in at the end",
        1,
        &[0.0, 129.0, 149.0],
        &[(0.0, 170.0), (170.0, 270.0), (270.0, 370.0)],
    );
    check("another is idle", 2, &[0.0, 50.0], &[(0.0, 130.0), (50.0, 180.0)]);
    check("none is idle", 2, &[0.0, 50.0, 90.0], &[(0.0, 150.0), (50.0, 180.0), (150.0, 250.0)]);
}

/// In overload every arrival finds the thread busy; of a Poisson process, 1 / (1 + rate * 20 us) of them interrupt.
#[test]
fn the_capacity_is_the_sustained_rate() {
    let mut document = document(1);
    document["service"][0]["law"] = json!({"kind": "exponential", "mean_us": 100});
    let at = |rate: f64| {
        let way = design(Some(Load::RatePerS(rate)), Arrivals::default(), 200_000);
        run(&document, &Design { backlog: true, ..way })
    };
    let capacity = at(1_000.0).capacity_per_s.unwrap();
    let by_hand = capacity * 100e-6 + capacity * 20e-6 / (1.0 + capacity * 20e-6);
    assert!((by_hand - 1.0).abs() < 1e-9, "{by_hand}");
    // 1 % of the mean of 200,000 services and intervals is more than four standard errors.
    let full = at(capacity * 1.01);
    assert!(full.busy_share > 0.99, "{}", full.busy_share);
    assert!((full.throughput_per_s.unwrap() / capacity - 1.0).abs() < 0.01, "{:?}", full.throughput_per_s);
    let below = at(capacity * 0.9);
    assert!((below.throughput_per_s.unwrap() / capacity - 0.9).abs() < 0.005, "{:?}", below.throughput_per_s);
}
