//! Measures the cost of simulating one request: `cargo bench -p hindmost-simulate --bench queue`. It prints
//! requests/s per core; `benches/simulators.py` has the ratios to other simulators.
#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use hindmost_clone::{Document, Program};
use hindmost_simulate::{simulate, Arrivals, Design, Load};
use serde_json::{json, Value};

const REQUESTS: u64 = 5_000_000;
const ROUNDS: usize = 5;

/// Return the median of the rounds in millions of requests/s.
fn speed(document: &Value, event_by_event: bool) -> f64 {
    let program =
        Program::new(&Document::from_json(&document.to_string()).expect("a document")).expect("checked");
    let design = Design {
        load: Some(Load::Utilisation(0.7)),
        arrivals: Arrivals::default(),
        requests: REQUESTS,
        warmup: 0,
        sections: 20,
        seed: 1,
        quantiles: vec![0.5, 0.95, 0.99, 0.999],
        backlog: false,
        event_by_event,
    };
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let began = Instant::now();
            simulate(&program, &design, &AtomicBool::new(false)).expect("the rate is below the capacity");
            REQUESTS as f64 / 1e6 / began.elapsed().as_secs_f64()
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    rounds[ROUNDS / 2]
}

fn main() {
    let queue = |law: Value, threads: u32| json!({"schema": "hindmost.clone/1", "name": "queue", "threads": threads, "service": [{"law": law}]});
    let exponential = json!({"kind": "exponential", "mean_us": 100});
    let lognormal = json!({"kind": "lognormal", "median_us": 100, "sigma_log": 0.5});
    let mut locks = queue(lognormal.clone(), 4);
    locks["locks"] = json!([{"name": "receive", "hold": {"kind": "deterministic", "us": 5}, "spin_us": 2, "wake_us": 5},
                            {"name": "send", "at": "after", "hold": {"kind": "deterministic", "us": 5}}]);
    let mut stops = queue(exponential.clone(), 4);
    stops["disturbances"] = json!([{"name": "gc", "scope": "server", "length": {"kind": "deterministic", "us": 1000},
                                    "when": {"kind": "periodic", "every_us": 100_000}}]);
    println!("{:<46}{:>20}", "one core, 70 % load, histograms and intervals", "million requests/s");
    for (name, document, events) in [
        ("M/M/1", queue(exponential.clone(), 1), false),
        ("M/M/4", queue(exponential.clone(), 4), false),
        ("M/lognormal/1", queue(lognormal.clone(), 1), false),
        ("M/M/1, event by event", queue(exponential.clone(), 1), true),
        ("M/M/4, event by event", queue(exponential, 4), true),
        ("4 threads, two locks", locks, false),
        ("4 threads, timed stops", stops, false),
    ] {
        println!("{name:<46}{:>20.1}", speed(&document, events));
    }
}
