//! Random numbers of one trial.

use hindmost_random::{below, normal_quantile, stream, unit, Purpose, Random};
use rand::Rng;

/// The random numbers of a trial.
pub(crate) struct Draws(Random);

impl Draws {
    /// Create the numbers of trial `trial` of cell `cell`.
    pub(crate) fn new(seed: u64, cell: u32, trial: u32) -> Self {
        Self(stream(seed, cell, trial, Purpose::Contents))
    }

    /// Return a number in [0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        unit(self.0.next_u64())
    }

    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Return a standard normal number.
    pub(crate) fn normal(&mut self) -> f64 {
        normal_quantile(self.unit().max(f64::EPSILON))
    }

    /// Return a standard exponential number.
    pub(crate) fn exponential(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }

    /// Return a number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        below(self.0.next_u64(), n as u32) as usize
    }

    pub(crate) fn sign(&mut self) -> f64 {
        if self.unit() < 0.5 {
            -1.0
        } else {
            1.0
        }
    }

    /// Return `count` different numbers below `n`.
    pub(crate) fn some_of(&mut self, n: usize, count: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..n).collect();
        for at in 0..count {
            let other = at + self.below(n - at);
            all.swap(at, other);
        }
        all.truncate(count);
        all
    }
}
