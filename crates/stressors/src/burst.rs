//! Bursts: short stretches of work, timed in ticks of the core's true clock. Only undisturbed bursts count.
//!
//! ```text
//!   chain, additions | measured work | additions, chain        thread switches, before and after
//! ```
//! The rate of the chain before and after gives the clock at the present boost frequency. The time stamp counter
//! would be wrong by 42 % on the machine of the first trials (3.69 GHz instead of 2.596).

use std::collections::VecDeque;

use hindmost_clock::{Clock, MonotonicClock};
use hindmost_sys::this_thread::switches;
use serde::Serialize;

use crate::stream::Stream;
use crate::stream::ROUND;
use crate::{Class, StressorError};

/// Largest relative change of the clock during a burst; more is a change of frequency, or interference by the
/// hypervisor.
const SAME_CLOCK: f64 = 0.02;
/// Rounds of the chain: 60 us at 3.5 GHz, a thousand times the cost of reading the clock.
const CHAIN_ROUNDS: u64 = 350;
/// Attempts per wanted burst: with four busy programs per CPU, 45 % of the bursts are undisturbed.
const ATTEMPTS: usize = 12;

/// Additions before and after a burst: 13,000 ticks at four per tick.
const DENSE_ROUNDS: u64 = 90;
/// Limit of the slowdown of these additions. Another guest on the core's other thread takes up to half of all
/// ports, which does not slow the chain of one addition per tick.
const SHARED: f64 = 1.04;
/// How long to wait for an unshared core, per figure: shared phases last from milliseconds to seconds.
const PATIENCE_NS: u64 = 300_000_000;

/// Results of the undisturbed bursts.
#[derive(Clone, Debug, Serialize)]
pub struct Bursts {
    /// Median time of one repetition, in ticks of the core.
    pub ticks: f64,
    /// Quartiles of that time.
    pub quartiles: [f64; 2],
    /// Number of undisturbed bursts.
    pub clean: usize,
    /// Number of all bursts.
    pub tried: usize,
    /// Median clock of the core in GHz.
    pub ghz: f64,
}

/// Measures the core's clock by a chain of dependent additions.
pub struct CoreClock {
    chain: Stream,
    clock: MonotonicClock,
    dense: Option<Dense>,
}

/// Independent additions that use all units of the core: sharing the core slows them.
struct Dense {
    stream: Stream,
    /// Recent times in ticks.
    seen: VecDeque<f64>,
}

impl Dense {
    const MAX_SEEN: usize = 100;

    fn new() -> Result<Self, StressorError> {
        Ok(Self { stream: Stream::of_class(Class::IntAdd, ROUND)?, seen: VecDeque::new() })
    }

    fn ns(&mut self, clock: MonotonicClock) -> f64 {
        let begun = clock.now();
        self.stream.run(DENSE_ROUNDS);
        (clock.now().0 - begun.0) as f64
    }

    /// Whether additions that took this many ticks had the core to themselves: their time is close to the
    /// shorter recent ones. (The minimum may come from a disturbed clock.)
    fn is_undisturbed(&mut self, ticks: f64) -> bool {
        self.seen.push_back(ticks);
        if self.seen.len() > Self::MAX_SEEN {
            self.seen.pop_front();
        }
        let mut ranked: Vec<f64> = self.seen.iter().copied().collect();
        ticks <= SHARED * quantile(&mut ranked, 0.2)
    }
}

impl CoreClock {
    /// Create the chain and warm it up.
    pub fn new() -> Result<Self, StressorError> {
        let mut chain = Stream::chain()?;
        chain.run(CHAIN_ROUNDS);
        Ok(Self { chain, clock: MonotonicClock, dense: None })
    }

    /// Return the present clock in ticks per nanosecond.
    pub fn ghz(&mut self) -> f64 {
        let ticks = (CHAIN_ROUNDS * self.chain.units() as u64) as f64;
        let begun = self.clock.now();
        self.chain.run(CHAIN_ROUNDS);
        ticks / (self.clock.now().0 - begun.0) as f64
    }

    /// Return the clock in ticks per nanosecond as the maximum of three chains: interference only makes a chain
    /// longer.
    pub fn isolated_ghz(&mut self) -> f64 {
        (0..3).map(|_| self.ghz()).fold(0.0, f64::max)
    }

    /// Return the time of `work` in ticks, and the clock; `None` if the CPU, or a part of it, was taken away
    /// meanwhile.
    pub fn burst(&mut self, work: &mut dyn FnMut()) -> Result<Option<(f64, f64)>, StressorError> {
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
        // A disturbed chain gives too slow a clock.
        let quicker = before.max(after);
        let same = switches().involuntary == taken && (before - after).abs() <= SAME_CLOCK * before;
        let is_undisturbed = same && [first, last].map(|ns| dense.is_undisturbed(ns * quicker)) == [true; 2];
        self.dense = Some(dense);
        let ghz = f64::midpoint(before, after);
        Ok(is_undisturbed.then_some((lasted * ghz, ghz)))
    }

    /// Return the statistics of `wanted` undisturbed bursts of `work`, which executes `repetitions` of the
    /// measured operation.
    pub fn bursts(
        &mut self,
        what: &str,
        wanted: usize,
        repetitions: f64,
        work: &mut dyn FnMut(),
    ) -> Result<Bursts, StressorError> {
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
            return Err(StressorError::Busy { tried, what: what.to_owned() });
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

/// Return a quantile of values, interpolated between neighbours.
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
    fn shared_cores_are_detected_despite_a_disturbed_clock() {
        let mut dense = Dense::new().unwrap();
        for ticks in [100.0, 101.0, 60.0, 150.0, 101.0, 150.0, 100.0, 102.0, 150.0, 101.0] {
            dense.is_undisturbed(ticks);
        }
        assert_eq!(
            [101.0, 103.0, 106.0, 150.0].map(|ticks| dense.is_undisturbed(ticks)),
            [true, true, false, false]
        );
    }
}
