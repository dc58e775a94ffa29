//! What is drawn for arrivals: the same in the simulator and in the server that makes its own.

use hindmost_random::Draws;

// Purposes of draws; those up to 23 belong to requests and windows.
const GAP: u32 = 24;
const ROUTE: u32 = 25;

/// Time from the arrival before to this one, where arrivals are random: exponential, of this mean, ns.
#[inline]
pub fn gap_ns(draws: Draws, mean_ns: f64) -> f64 {
    -mean_ns * draws.unit(GAP).ln()
}

/// Which of `n` queues a request joins.
#[inline]
pub fn route(draws: Draws, n: usize) -> usize {
    ((draws.unit(ROUTE) * n as f64) as usize).min(n - 1)
}
