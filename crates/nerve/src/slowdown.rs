//! A cheap check for a slowdown: it says when it is worth reading the whole ring to judge it.

use std::collections::VecDeque;

use hindmost_histogram::{Histogram, Quantile};

/// Blocks that are remembered: ten minutes of 30 s.
const KEPT_BLOCKS: usize = 20;
/// Blocks that must be known to call the next one slow.
const LEAST_BLOCKS: usize = 4;
/// Blocks in a row that must be slow: a judgement of the ring compares the last two.
const SLOW_BLOCKS: u32 = 2;
/// A slower block is slow.
const RATIO: f64 = 1.2;

pub(crate) struct Slowdown {
    block_ns: u64,
    ends: u64,
    block: Histogram,
    /// The 95th percentile of each block before.
    before: VecDeque<u64>,
    slow_blocks: u32,
}

impl Slowdown {
    pub(crate) fn new(now: u64, block_ns: u64) -> Self {
        let (block, before) = (Histogram::new(), VecDeque::new());
        Self { block_ns, ends: now + block_ns, block, before, slow_blocks: 0 }
    }

    /// Add the latencies until `now`. Return whether a block ended, and it and the one before were slow.
    pub(crate) fn add(&mut self, now: u64, latency: &Histogram, failed: u64) -> bool {
        self.block.merge(latency);
        self.block.add_censored(failed);
        if now < self.ends {
            return false;
        }
        self.ends = now + self.block_ns;
        let Some(value) = self.block.quantile(Quantile::P95) else { return false };
        self.block.clear();
        self.end_block(value.finite().unwrap_or(u64::MAX))
    }

    fn end_block(&mut self, value: u64) -> bool {
        let is_slow = self.usual().is_some_and(|usual| value as f64 > RATIO * usual as f64);
        self.slow_blocks = if is_slow { self.slow_blocks + 1 } else { 0 };
        self.before.push_back(value);
        if self.before.len() > KEPT_BLOCKS {
            self.before.pop_front();
        }
        self.slow_blocks >= SLOW_BLOCKS
    }

    /// Return the median of the blocks before, if there are enough.
    fn usual(&self) -> Option<u64> {
        let mut values: Vec<u64> = self.before.iter().copied().collect();
        values.sort_unstable();
        (values.len() >= LEAST_BLOCKS).then(|| values[values.len() / 2])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Return in which blocks of these latencies a slowdown is seen.
    fn slow_blocks(latencies: &[u64]) -> Vec<usize> {
        let mut slowdown = Slowdown::new(0, 10);
        let mut add = |(at, ns): (usize, &u64)| {
            let mut block = Histogram::new();
            block.record_n(*ns, 100);
            let end = 10 * (at as u64 + 1);
            assert!(!slowdown.add(end - 5, &block, 0));
            slowdown.add(end, &Histogram::new(), 0).then_some(at)
        };
        latencies.iter().enumerate().filter_map(&mut add).collect()
    }

    #[test]
    fn two_slow_blocks_in_a_row_are_a_slowdown() {
        assert_eq!(slow_blocks(&[100, 110, 100, 90, 300, 300, 300, 100, 300]), [5, 6]);
        assert!(slow_blocks(&[100, 110, 100, 90, 300, 100, 300, 100]).is_empty());
    }

    #[test]
    fn too_few_blocks_say_nothing() {
        assert!(slow_blocks(&[100, 100, 100, 300]).is_empty());
        assert!(slow_blocks(&[]).is_empty());
    }

    #[test]
    fn a_block_of_failed_requests_is_slow() {
        let mut slowdown = Slowdown::new(0, 10);
        let mut block = Histogram::new();
        block.record_n(100, 50);
        assert!((1..=4).all(|end| !slowdown.add(10 * end, &block, 0)));
        assert!(!slowdown.add(50, &Histogram::new(), 9));
        assert!(slowdown.add(60, &Histogram::new(), 9));
    }
}
