//! Measures the cost of recording one value, compared with the `hdrhistogram` crate with the same bins: `cargo
//! bench -p hindmost-histogram --bench record`. Compare the ratio; the nanoseconds depend on the machine.
#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]

use std::hint::black_box;
use std::time::Instant;

use hindmost_histogram::Histogram;

const VALUES: usize = 1 << 16;
const PASSES: usize = 64;
const ROUNDS: usize = 9;

/// Typical server latencies: about 30 us, occasionally ten to a hundred times as long. A linear congruential
/// generator is sufficient, because the values need only be repeatable.
fn latencies() -> Vec<u64> {
    let mut state = 1u64;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let scale = |draw: u64| if draw % 100 < 98 { 1 } else { 10 + draw % 90 };
    (0..VALUES).map(|_| (20_000 + draw() % 20_000) * scale(draw())).collect()
}

/// Return the nanoseconds per value.
fn cost(values: &[u64], mut record: impl FnMut(u64)) -> f64 {
    let began = Instant::now();
    for _ in 0..PASSES {
        for &value in values {
            record(black_box(value));
        }
    }
    began.elapsed().as_nanos() as f64 / (PASSES * values.len()) as f64
}

fn sort(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

fn main() {
    let values = latencies();
    let mut ours = Histogram::new();
    ours.prefault();
    let mut theirs = hdrhistogram::Histogram::<u64>::new_with_bounds(1, u64::MAX / 2, 3).unwrap();
    let (mut our_cost, mut their_cost, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let one = cost(&values, |value| ours.record(value));
        let other = cost(&values, |value| theirs.record(value).unwrap());
        our_cost.push(one);
        their_cost.push(other);
        ratios.push(other / one);
    }
    assert_eq!(ours.count(), theirs.len());
    let (our_cost, their_cost, ratios) = (sort(our_cost), sort(their_cost), sort(ratios));
    let middle = ROUNDS / 2;
    println!("record one value, median of {ROUNDS} alternating rounds [least, most]");
    println!("  hindmost-histogram   {:>6.2} ns", our_cost[middle]);
    println!(
        "  hdrhistogram crate   {:>6.2} ns   {:.2} times as long [{:.2}, {:.2}]",
        their_cost[middle],
        ratios[middle],
        ratios[0],
        ratios[ROUNDS - 1]
    );
}
