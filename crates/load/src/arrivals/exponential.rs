use hindmost_clock::{Nanos, Rate};
use rand::Rng;

use super::Arrivals;
use crate::random::{unit, Random};

/// A Poisson process: independent exponential gaps, by inversion of the distribution function.
///
/// The sum is kept in f64 nanoseconds, exact to a nanosecond for 104 days, so rounding never
/// accumulates into the rate.
#[derive(Debug)]
pub struct Exponential {
    mean_gap_ns: f64,
    at_ns: f64,
    random: Random,
}

impl Exponential {
    /// A process of `rate`, drawn from `random`.
    pub fn new(rate: Rate, random: Random) -> Self {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{stream, Purpose};

    /// Kolmogorov distance between the gaps of a thinned superposition and the exponential law.
    #[test]
    fn superposed_parts_are_the_process_asked_for() {
        let rate = Rate::per_second(100_000.0).unwrap();
        let mut dues: Vec<u64> = (0..4)
            .flat_map(|i| {
                let mut part = Exponential::new(rate.share(4), stream(7, i, 0, Purpose::Arrivals));
                (0..50_000).map(move |_| part.next_due().0)
            })
            .collect();
        dues.sort_unstable();
        dues.truncate(150_000); // where all four parts still run
        let mut gaps: Vec<f64> = dues.windows(2).map(|w| (w[1] - w[0]) as f64).collect();
        gaps.sort_unstable_by(f64::total_cmp);
        let n = gaps.len() as f64;
        let distance = gaps.iter().enumerate().fold(0.0_f64, |worst, (i, gap)| {
            let law = 1.0 - (-gap / rate.mean_gap_ns()).exp();
            worst.max((law - i as f64 / n).abs()).max(((i + 1) as f64 / n - law).abs())
        });
        // 1.95 / sqrt(n) is Kolmogorov's 0.1 % critical value; the seed is fixed.
        assert!(distance < 1.95 / n.sqrt(), "distance {distance}");
    }
}
