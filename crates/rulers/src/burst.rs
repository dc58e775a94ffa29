//! Bursts: short stretches of work, timed in ticks of the core's true clock, of which only clean ones count.
//!
//! ```text
//!   chain | what is measured | chain        switches of the thread, before and after
//! ```
//! The chain's rate before and after gives the clock, whatever the boost: a rate per tick of the counter of
//! time stamps would be 42 % off on the machine where this was first tried (3.69 GHz against 2.596).

use hindmost_clock::{Clock, MonotonicClock};
use hindmost_sys::this_thread::switches;
use serde::Serialize;

use crate::stream::Stream;
use crate::RulerError;

/// How far the clock may differ before and after: more is a change of frequency, or a hypervisor's theft.
const SAME_CLOCK: f64 = 0.02;
/// Ticks that a chain lasts: 60 us at 3.5 GHz, a thousand times what reading the clock costs.
const CHAIN_ROUNDS: u64 = 350;
/// Attempts for each burst that is wanted: on a machine with four busy programs a processor 45 % are clean.
const ATTEMPTS: usize = 12;

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
}

impl CoreClock {
    /// Makes the chain and warms it up.
    pub fn new() -> Result<Self, RulerError> {
        let mut chain = Stream::chain()?;
        chain.run(CHAIN_ROUNDS);
        Ok(Self { chain, clock: MonotonicClock })
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

    /// Ticks that `work` takes, and the clock; none where something took the processor away meanwhile.
    pub fn burst(&mut self, work: &mut dyn FnMut()) -> Option<(f64, f64)> {
        let taken = switches().involuntary;
        let before = self.ghz();
        let begun = self.clock.now();
        work();
        let lasted = (self.clock.now().0 - begun.0) as f64;
        let after = self.ghz();
        let clean = switches().involuntary == taken && (before - after).abs() <= SAME_CLOCK * before;
        let ghz = f64::midpoint(before, after);
        clean.then_some((lasted * ghz, ghz))
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
        while ticks.len() < wanted && tried < wanted * ATTEMPTS {
            tried += 1;
            if let Some((taken, ghz)) = self.burst(work) {
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
