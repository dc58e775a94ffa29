//! The same cluster if some anomalies come in batches: arrivals are drawn, machines serve them in order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::draws::Draws;

/// The arrival process of anomalies.
pub(super) struct Arrivals {
    pub(super) a_day: f64,
    /// Fraction of them that come in batches.
    pub(super) in_batches: f64,
    /// Anomalies per batch.
    pub(super) batch: f64,
    /// Seconds over which a batch arrives.
    pub(super) over_s: f64,
    pub(super) days: f64,
}

/// Most simulated arrivals: a large fleet has this many in a few days.
const MOST: f64 = 2e6;
const DAY_S: f64 = 86_400.0;

impl Arrivals {
    /// Return arrival times in seconds, ascending.
    pub(super) fn draw(&self, seed: u64, size: u32) -> Vec<f64> {
        let draws = &mut Draws::new(seed, size, 0);
        let until = self.days.min(MOST / self.a_day) * DAY_S;
        let mut moments = Vec::new();
        let mut poisson = |a_day: f64, each: &mut dyn FnMut(f64, &mut Draws)| {
            // With a rate of zero, the first arrival is at infinity.
            let mut at = draws.exponential() / a_day * DAY_S;
            while at <= until {
                each(at, draws);
                at += draws.exponential() / a_day * DAY_S;
            }
        };
        poisson(self.a_day * (1.0 - self.in_batches), &mut |at, _| moments.push(at));
        poisson(self.a_day * self.in_batches / self.batch, &mut |at, draws| {
            moments.extend((0..self.batch as u64).map(|_| at + draws.unit() * self.over_s));
        });
        moments.sort_unstable_by(f64::total_cmp);
        moments
    }
}

/// Waits of the arrivals.
pub(super) struct Queue {
    /// Fraction of the arrivals that waited.
    pub(super) waits: f64,
    pub(super) p95_wait_s: f64,
}

impl Queue {
    /// Simulate first come, first served on this many machines with exponential times, as in M/M/c.
    pub(super) fn run(moments: &[f64], machines: u64, mean_s: f64, seed: u64) -> Self {
        let draws = &mut Draws::new(seed, u32::MAX, 0);
        // Times at which machines become free, in nanoseconds: integers have a total order.
        let ns = |seconds: f64| (seconds * 1e9) as u64;
        let mut free: BinaryHeap<Reverse<u64>> = (0..machines).map(|_| Reverse(0)).collect();
        let mut waits: Vec<f64> = Vec::with_capacity(moments.len());
        for moment in moments {
            let Some(Reverse(at)) = free.pop() else { break };
            let begin = at.max(ns(*moment));
            waits.push((begin - ns(*moment)) as f64 / 1e9);
            free.push(Reverse(begin + ns(draws.exponential() * mean_s)));
        }
        let share = waits.iter().filter(|wait| **wait > 0.0).count() as f64 / waits.len().max(1) as f64;
        waits.sort_unstable_by(f64::total_cmp);
        let p95 = waits.get((waits.len() as f64 * 0.95) as usize).copied().unwrap_or(0.0);
        Self { waits: share, p95_wait_s: p95 }
    }
}
