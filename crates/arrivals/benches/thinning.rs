//! Cost of the next scheduled time for a worker that takes every n-th arrival of the whole process: `cargo bench -p
//! hindmost-arrivals --bench thinning`. Compare the ratios; the nanoseconds depend on the machine.
#![allow(clippy::print_stdout, reason = "a benchmark is there to print")]

use std::hint::black_box;
use std::time::Instant;

use hindmost_arrivals::{Law, Part, Seeds};
use hindmost_clock::Rate;

const TIMES: usize = 20_000;
const ROUNDS: usize = 9;
const WORKERS: [u32; 4] = [1, 4, 16, 64];
const LAWS: [&str; 7] = [
    r#""exponential""#,
    r#""deterministic""#,
    r#"{"kind": "uniform"}"#,
    r#"{"kind": "gamma", "shape": 2}"#,
    r#"{"kind": "hyperexponential", "c2": 20}"#,
    r#"{"kind": "pareto"}"#,
    r#"{"kind": "bursts", "ratio": 10}"#,
];

/// Return the nanoseconds per scheduled time of one of `of` workers.
fn cost(law: &Law, of: u32) -> f64 {
    let rate = Rate::per_second(1e6).expect("a rate");
    let seeds = Seeds { seed: 1, client: 0, thread: 0 };
    let mut arrivals = law.part(rate, Part { index: 0, of }, seeds).expect("a law without a file");
    let start = Instant::now();
    for _ in 0..TIMES {
        black_box(arrivals.next_scheduled());
    }
    start.elapsed().as_nanos() as f64 / TIMES as f64
}

fn main() {
    println!("ns per scheduled time of a worker, median of {ROUNDS} rounds (ratio to one worker)");
    println!("{:<40}{}", "law", WORKERS.map(|n| format!("{n:>7} worker(s)")).join(""));
    for text in LAWS {
        let law: Law = serde_json::from_str(text).expect("a law");
        let costs = WORKERS.map(|of| {
            let mut rounds: Vec<f64> = (0..ROUNDS).map(|_| cost(&law, of)).collect();
            rounds.sort_by(f64::total_cmp);
            rounds[ROUNDS / 2]
        });
        let columns = costs.map(|ns| format!("{ns:>9.1} ({:>4.1})", ns / costs[0])).join(" ");
        println!("{text:<40}{columns}");
    }
}
