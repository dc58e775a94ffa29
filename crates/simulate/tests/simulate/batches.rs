//! Batches give the same results on one core and on many, and can be interrupted.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::common::queue;
use hindmost_simulate::{run_batch, Batch, SimulateError};
use serde_json::{json, Value};

fn batch(points: &[Value]) -> Batch {
    let design = json!({"arrivals": {"kind": "exponential"}, "requests": 5000, "warmup": 500, "sections": 5,
        "quantiles": [0.5, 0.99], "points": points});
    Batch::from_json(&design.to_string()).unwrap()
}

fn document() -> Value {
    queue(json!({"kind": "exponential", "mean_us": 100.0}), 2)
}

/// Create a point at a fraction of the capacity: 10,000 requests/s per thread of the point.
fn point(share: f64, seed: u32) -> Value {
    let threads = 1 + seed % 3;
    json!({"load": {"rate_per_s": share * 10_000.0 * f64::from(threads)}, "seed": seed, "set": {"/threads": threads}})
}

fn on(threads: usize, batch: &Batch) -> String {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let done = AtomicUsize::new(0);
    let answers = pool.install(|| run_batch(&document(), batch, &AtomicBool::new(false), &done)).unwrap();
    assert_eq!(done.load(Ordering::Relaxed), batch.points.len());
    serde_json::to_string(&answers).unwrap()
}

#[test]
fn answers_are_identical_for_any_number_of_threads() {
    // Some points share a document and its capacity; one point exceeds it.
    let points = (0..24_u32).map(|at| point(0.3 + 0.1 * f64::from(at % 9), at / 4));
    let batch = batch(&points.collect::<Vec<_>>());
    let alone = on(1, &batch);
    assert!(alone.contains("above_capacity"), "a point above capacity");
    for threads in [2, 3, 8] {
        assert_eq!(on(threads, &batch), alone, "{threads} threads");
    }
}

#[test]
fn a_stopped_batch_reports_the_interruption() {
    let (stop, done) = (AtomicBool::new(true), AtomicUsize::new(0));
    let ended = run_batch(&document(), &batch(&vec![point(0.5, 1); 4]), &stop, &done);
    assert!(matches!(ended, Err(SimulateError::Interrupted)));
    assert_eq!(done.load(Ordering::Relaxed), 0);
}
