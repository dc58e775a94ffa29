//! Bursts: short stretches of work, timed in ticks of the core's true clock, of which only clean ones count.
//!
//! ```text
//!   chain, additions | what is measured | additions, chain        switches of the thread, before and after
//! ```
//! The chain's rate before and after gives the clock, whatever the boost: a rate per tick of the counter of
//! time stamps would be 42 % off on the machine where this was first tried (3.69 GHz against 2.596).

use std::collections::VecDeque;

use hindmost_clock::{Clock, MonotonicClock};
use hindmost_sys::this_thread::switches;
use serde::Serialize;

use crate::stream::Stream;
use crate::stream::ROUND;
use crate::{Class, RulerError};

/// How far the clock may differ before and after: more is a change of frequency, or a hypervisor's theft.
const SAME_CLOCK: f64 = 0.02;
/// Ticks that a chain lasts: 60 us at 3.5 GHz, a thousand times what reading the clock costs.
const CHAIN_ROUNDS: u64 = 350;
/// Attempts for each burst that is wanted: on a machine with four busy programs a processor 45 % are clean.
const ATTEMPTS: usize = 12;

/// Additions before and after a burst, 13,000 ticks at four a tick.
const DENSE_ROUNDS: u64 = 90;
/// How much longer these may take than they do undisturbed: another guest of the host on the core's other thread takes
/// up to half of all ports, which the chain, one addition a tick, does not feel.
const SHARED: f64 = 1.04;
/// How long a core that is shared is waited for, for each figure: such phases take from milliseconds to seconds.
const PATIENCE_NS: u64 = 300_000_000;

/// What clean bursts took.
#[derive(Clone, Debug, Serialize)]
pub struct Bursts {
    /// Ticks of the core for one repetition, the median.
    pub ticks: f64,
    /// The quartiles.
    pub quartiles: [f64; 2],
    /// Bursts that were clean.
    pub clean: usize,
    /// Bursts made.
    pub tried: usize,
    /// The core's clock in GHz, the median.
    pub ghz: f64,
}

/// The core's clock, by a chain of dependent additions.
pub struct CoreClock {
    chain: Stream,
    clock: MonotonicClock,
    dense: Option<Dense>,
}

/// Independent additions, as many a tick as the core has units for: they feel who shares it.
struct Dense {
    stream: Stream,
    /// Ticks that they took lately.
    seen: VecDeque<f64>,
}

impl Dense {
    const KEPT: usize = 100;

    fn new() -> Result<Self, RulerError> {
        Ok(Self { stream: Stream::of(Class::IntAdd, ROUND)?, seen: VecDeque::new() })
    }

    fn ns(&mut self, clock: MonotonicClock) -> f64 {
        let begun = clock.now();
        self.stream.run(DENSE_ROUNDS);
        (clock.now().0 - begun.0) as f64
    }

    /// Whether additions that took so many ticks had the core to themselves: they took hardly more than the shorter
    /// ones of late. (The very least may come of a clock that was disturbed.)
    fn alone(&mut self, ticks: f64) -> bool {
        self.seen.push_back(ticks);
        if self.seen.len() > Self::KEPT {
            self.seen.pop_front();
        }
        let mut ranked: Vec<f64> = self.seen.iter().copied().collect();
        ticks <= SHARED * quantile(&mut ranked, 0.2)
    }
}

impl CoreClock {
    /// Makes the chain and warms it up.
    pub fn new() -> Result<Self, RulerError> {
        let mut chain = Stream::chain()?;
        chain.run(CHAIN_ROUNDS);
        Ok(Self { chain, clock: MonotonicClock, dense: None })
    }

    /// Ticks in a nanosecond, now.
    pub fn ghz(&mut self) -> f64 {
        let ticks = (CHAIN_ROUNDS * self.chain.units() as u64) as f64;
        let begun = self.clock.now();
        self.chain.run(CHAIN_ROUNDS);
        ticks / (self.clock.now().0 - begun.0) as f64
    }

    /// Ticks in a nanosecond, the most of three chains: what takes the processor away only makes them longer.
    pub fn calm_ghz(&mut self) -> f64 {
        (0..3).map(|_| self.ghz()).fold(0.0, f64::max)
    }

    /// Ticks that `work` takes, and the clock; none where something took the processor away meanwhile, or a part of it.
    pub fn burst(&mut self, work: &mut dyn FnMut()) -> Result<Option<(f64, f64)>, RulerError> {
        let clock = self.clock;
        let mut dense = match self.dense.take() {
            Some(dense) => dense,
            None => Dense::new()?,
        };
        let taken = switches().involuntary;
        let before = self.ghz();
        let first = dense.ns(clock);
        let begun = clock.now();
        work();
        let lasted = (clock.now().0 - begun.0) as f64;
        let last = dense.ns(clock);
        let after = self.ghz();
        // A chain that was disturbed shows a clock too slow.
        let quicker = before.max(after);
        let same = switches().involuntary == taken && (before - after).abs() <= SAME_CLOCK * before;
        let alone = same && [first, last].map(|ns| dense.alone(ns * quicker)) == [true; 2];
        self.dense = Some(dense);
        let ghz = f64::midpoint(before, after);
        Ok(alone.then_some((lasted * ghz, ghz)))
    }

    /// `wanted` clean bursts of `work`, which makes `repetitions` of what is asked about.
    pub fn bursts(
        &mut self,
        what: &str,
        wanted: usize,
        repetitions: f64,
        work: &mut dyn FnMut(),
    ) -> Result<Bursts, RulerError> {
        let (mut ticks, mut clocks, mut tried) = (Vec::new(), Vec::new(), 0);
        work();
        let begun = self.clock.now().0;
        while ticks.len() < wanted && (tried < wanted * ATTEMPTS || self.clock.now().0 - begun < PATIENCE_NS)
        {
            tried += 1;
            if let Some((taken, ghz)) = self.burst(work)? {
                ticks.push(taken / repetitions);
                clocks.push(ghz);
            }
        }
        if ticks.is_empty() {
            return Err(RulerError::Busy { tried, what: what.to_owned() });
        }
        let clean = ticks.len();
        Ok(Bursts {
            ticks: quantile(&mut ticks, 0.5),
            quartiles: [quantile(&mut ticks, 0.25), quantile(&mut ticks, 0.75)],
            clean,
            tried,
            ghz: quantile(&mut clocks, 0.5),
        })
    }
}

/// A quantile of values, between neighbours by position.
pub fn quantile(values: &mut [f64], p: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = p * (values.len() - 1) as f64;
    let (low, high) = (values[at.floor() as usize], values[at.ceil() as usize]);
    low + (high - low) * at.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn additions_that_share_their_core_are_told_and_one_disturbed_clock_spoils_nothing() {
        let mut dense = Dense::new().unwrap();
        for ticks in [100.0, 101.0, 60.0, 150.0, 101.0, 150.0, 100.0, 102.0, 150.0, 101.0] {
            dense.alone(ticks);
        }
        assert_eq!([101.0, 103.0, 106.0, 150.0].map(|ticks| dense.alone(ticks)), [true, true, false, false]);
    }
}
