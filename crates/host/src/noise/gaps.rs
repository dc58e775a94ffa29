use hindmost_clock::Nanos;
use schemars::JsonSchema;
use serde::Serialize;

/// Statistics of the gaps of one spin.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "NoiseGaps")]
pub struct Gaps {
    /// Gaps above 5 us: longer than a single interrupt, usually another thread's time slice.
    pub over_5us: u64,
    /// Gaps above 50 us: as long as an in-memory server takes to answer.
    pub over_50us: u64,
    /// Gaps above 1 ms: a time slice of another thread or virtual machine.
    pub over_1ms: u64,
    /// Longest gap in nanoseconds.
    pub largest_ns: u64,
    /// Sum of all gaps in nanoseconds.
    pub stolen_ns: u64,
    /// Sum of all gaps as a fraction of the spin, 0 to 1: the fraction of requests that fall into a gap.
    pub stolen_share: f64,
    /// Delay in nanoseconds that gaps alone add to requests scheduled at random moments, at p99 ...
    pub delay_p99_ns: u64,
    /// ... and at p99.9.
    pub delay_p999_ns: u64,
}

impl Gaps {
    /// Summarise `gaps` (in any order) of a spin that took `elapsed`.
    pub(super) fn new(mut gaps: Vec<Nanos>, elapsed: Nanos) -> Self {
        gaps.sort_unstable();
        let over = |limit: Nanos| gaps.iter().filter(|&&gap| gap > limit).count() as u64;
        let stolen_ns = gaps.iter().map(|gap| gap.0).sum();
        Self {
            over_5us: over(Nanos::from_micros(5)),
            over_50us: over(Nanos::from_micros(50)),
            over_1ms: over(Nanos::from_millis(1)),
            largest_ns: gaps.last().map_or(0, |gap| gap.0),
            stolen_ns,
            stolen_share: if elapsed.0 == 0 { 0.0 } else { stolen_ns as f64 / elapsed.0 as f64 },
            delay_p99_ns: delay(&gaps, elapsed, 0.01),
            delay_p999_ns: delay(&gaps, elapsed, 0.001),
        }
    }
}

/// Return the delay that the fraction `beyond` of random moments exceeds because of a gap.
///
/// A moment in a gap of length g waits for its remainder, which is uniform on (0, g), and Poisson arrivals see time
/// averages (Wolff 1982): P(delay > x) = sum of (g - x) over the gaps longer than x, / elapsed. This function is
/// linear between two gap lengths, so it is inverted exactly, from the longest gap down.
fn delay(sorted: &[Nanos], elapsed: Nanos, beyond: f64) -> u64 {
    let wanted = beyond * elapsed.0 as f64;
    let mut longer_sum = 0.0;
    let mut longer_count = 0.0;
    for (i, gap) in sorted.iter().enumerate().rev() {
        longer_sum += gap.0 as f64;
        longer_count += 1.0;
        let next = if i == 0 { 0.0 } else { sorted[i - 1].0 as f64 };
        if longer_sum - longer_count * next >= wanted {
            return ((longer_sum - wanted) / longer_count) as u64;
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanos = Nanos(1_000_000_000);

    #[test]
    fn a_gap_delays_moments_in_it_by_its_remainder() {
        let check = |gaps: &[u64], p99: u64, p999: u64| {
            let gaps = Gaps::new(gaps.iter().map(|&us| Nanos::from_micros(us)).collect(), SECOND);
            assert_eq!((gaps.delay_p99_ns / 1_000, gaps.delay_p999_ns / 1_000), (p99, p999));
        };
        check(&[], 0, 0);
        // A gap of 100 ms: the worst 1 % of moments are in its first 10 ms and wait for 90 ms or more.
        check(&[100_000], 90_000, 99_000);
        // The gap is shorter than a thousandth of the spin, so it affects neither percentile.
        check(&[900], 0, 0);
        // Ten gaps of 2 ms are 2 % of the time; half of the moments in them wait for more than half a gap.
        check(&[2_000; 10], 1_000, 1_900);
        // The long gap alone determines the worst 0.1 %, both kinds the worst 1 %: 5 ms + 9 ms - 10 x = 10
        // ms.
        check(&[5_000, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000], 400, 4_000);
    }

    #[test]
    fn the_exact_delay_agrees_with_enumerated_moments() {
        let lengths = [7, 120, 33, 950, 60, 60, 4_000, 18];
        let gaps: Vec<Nanos> = lengths.iter().map(|&us| Nanos::from_micros(us)).collect();
        let span = Nanos::from_millis(100);
        // One moment per microsecond; moments outside the gaps do not wait.
        let mut waits: Vec<u64> = lengths.iter().flat_map(|&us| 1..=us).collect();
        waits.sort_unstable_by(|a, b| b.cmp(a));
        let enumerated = |beyond: f64| waits[(100_000.0 * beyond) as usize];
        let exact = Gaps::new(gaps, span);
        assert!(enumerated(0.01).abs_diff(exact.delay_p99_ns / 1_000) <= 1);
        assert!(enumerated(0.001).abs_diff(exact.delay_p999_ns / 1_000) <= 1);
    }

    #[test]
    fn each_gap_counts_in_every_class_that_it_exceeds() {
        let gaps = [2, 6, 51, 1_001, 30_000].map(Nanos::from_micros).to_vec();
        let gaps = Gaps::new(gaps, SECOND);
        assert_eq!((gaps.over_5us, gaps.over_50us, gaps.over_1ms), (4, 3, 2));
        assert_eq!(gaps.largest_ns, 30_000_000);
        assert!((gaps.stolen_share - 0.031_06).abs() < 1e-12);
        assert_eq!(Gaps::new(Vec::new(), Nanos::ZERO), Gaps::default());
    }
}
