use hindmost_clock::{Nanos, Rate};
use hindmost_random::{unit, Random};
use rand::Rng;

use crate::{Arrivals, Entry, Gaps, Part};

/// Parts of a Poisson process are independent Poisson processes, each of its share of the rate.
pub const LAW: Entry = Entry {
    part: |rate: Rate, part: Part, random| Box::new(Exponential::new(rate.share(part.of), random)),
    dispersion: 1.0,
    gaps: Some(Gaps { below: |x| -(-x).exp_m1(), log_above: |x| -x }),
};

/// A Poisson process: independent exponential gaps, by inversion of the distribution function.
///
/// The sum is kept in f64 nanoseconds, exact to a nanosecond for 104 days, so rounding never
/// accumulates into the rate.
#[derive(Debug)]
struct Exponential {
    mean_gap_ns: f64,
    at_ns: f64,
    random: Random,
}

impl Exponential {
    /// A process of `rate`, drawn from `random`.
    fn new(rate: Rate, random: Random) -> Self {
        Self { mean_gap_ns: rate.mean_gap_ns(), at_ns: 0.0, random }
    }
}

impl Arrivals for Exponential {
    #[inline]
    fn next_due(&mut self) -> Nanos {
        // 1 - u lies in (0, 1], so the logarithm is finite.
        self.at_ns -= (1.0 - unit(self.random.next_u64())).ln() * self.mean_gap_ns;
        Nanos(self.at_ns as u64)
    }
}
