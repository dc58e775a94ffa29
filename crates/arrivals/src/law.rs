use hindmost_clock::Rate;
use hindmost_random::Random;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{deterministic, exponential, Arrivals, Part};

/// All that is known of a law of arrivals.
#[derive(Clone, Copy)]
pub struct Entry {
    /// A worker's part of the process with that rate over all workers.
    pub part: fn(Rate, Part, Random) -> Box<dyn Arrivals>,
    /// Index of dispersion of the counts of one part: their variance over their mean, in spans much longer than a gap.
    pub dispersion: f64,
    /// The law of the gaps of one part, where they have a density to be compared with.
    pub gaps: Option<Gaps>,
}

/// The law of gaps, in units of the mean gap.
#[derive(Clone, Copy)]
pub struct Gaps {
    /// The share of gaps below `x`, exact where it is small.
    pub below: fn(f64) -> f64,
    /// The logarithm of the share of gaps above `x`, exact however small that is.
    pub log_above: fn(f64) -> f64,
}

/// Declares [`Law`]; a law's text stands in the plan's schema.
macro_rules! laws {
    ($( $(#[doc = $doc:literal])+ $name:ident = $entry:expr; )+) => {
        /// The law of the gaps between due times.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[schemars(rename = "Arrivals")]
        #[serde(rename_all = "lowercase")]
        pub enum Law {
            #[default]
            $( $(#[doc = $doc])+ $name, )+
        }

        impl Law {
            /// All of them, the usual one first.
            pub const ALL: &'static [Self] = &[$( Self::$name ),+];

            /// What is known of it.
            pub const fn entry(self) -> &'static Entry {
                match self {
                    $( Self::$name => { const ENTRY: Entry = $entry; &ENTRY } )+
                }
            }
        }
    };
}

laws! {
    /// Exponential gaps: a Poisson process.
    Exponential = exponential::LAW;
    /// Equal gaps.
    Deterministic = deterministic::LAW;
}

#[cfg(test)]
mod tests {
    use hindmost_random::{stream, Purpose};

    use super::*;

    const WORKERS: u32 = 4;
    const RATE: f64 = 100_000.0;

    /// Gaps between the due times of all workers together, sorted, where all of them still run.
    fn gaps_of(law: Law) -> Vec<f64> {
        let rate = Rate::per_second(RATE).unwrap();
        let parts = (0..WORKERS).map(|index| {
            let random = stream(7, index, 0, Purpose::Arrivals);
            let mut part = (law.entry().part)(rate, Part { index, of: WORKERS }, random);
            (0..50_000).map(|_| part.next_due().0).collect::<Vec<u64>>()
        });
        let mut due: Vec<u64> = parts.flatten().collect();
        due.sort_unstable();
        due.truncate(150_000);
        due.windows(2).map(|two| (two[1] - two[0]) as f64).collect()
    }

    #[test]
    fn every_law_has_a_name_of_its_own_and_the_first_is_the_usual_one() {
        let name = |law| serde_json::to_string(law).unwrap();
        let names: std::collections::BTreeSet<String> = Law::ALL.iter().map(name).collect();
        assert_eq!(names.len(), Law::ALL.len());
        assert_eq!(Law::ALL[0], Law::default());
    }

    #[test]
    fn the_parts_of_all_workers_together_have_the_rate_asked_for() {
        for &law in Law::ALL {
            let gaps = gaps_of(law);
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            // Five standard errors of the mean of 150,000 gaps that vary as much as exponential ones: 1.3 %.
            assert!((mean * RATE / 1e9 - 1.0).abs() < 0.013, "{law:?}: {mean}");
        }
    }

    /// Kolmogorov distance between the gaps of the superposed parts and the law.
    #[test]
    fn superposed_parts_have_the_gaps_that_the_law_states() {
        for &law in Law::ALL {
            let Some(stated) = law.entry().gaps else { continue };
            let mut gaps = gaps_of(law);
            gaps.sort_unstable_by(f64::total_cmp);
            let n = gaps.len() as f64;
            let distance = gaps.iter().enumerate().fold(0.0_f64, |worst, (i, gap)| {
                let below = (stated.below)(gap * RATE / 1e9);
                worst.max((below - i as f64 / n).abs()).max(((i + 1) as f64 / n - below).abs())
            });
            // 1.95 / sqrt(n) is Kolmogorov's 0.1 % critical value; the seed is fixed.
            assert!(distance < 1.95 / n.sqrt(), "{law:?}: {distance}");
        }
    }

    #[test]
    fn a_stated_law_is_a_distribution() {
        for gaps in Law::ALL.iter().filter_map(|law| law.entry().gaps) {
            let below: Vec<f64> = (0..60).map(|i| (gaps.below)(f64::from(i) / 2.0)).collect();
            assert!(
                below[0] == 0.0 && below[59] > 1.0 - 1e-9 && below.windows(2).all(|two| two[0] <= two[1])
            );
            for x in [0.1, 1.0, 5.0] {
                assert!(((gaps.below)(x) + (gaps.log_above)(x).exp() - 1.0).abs() < 1e-12);
            }
            assert!((gaps.log_above)(1e4).is_finite(), "a gap of a stalled sender has a place, too");
        }
    }

    /// Variance over mean of counts in spans of a hundred gaps of one part.
    #[test]
    fn the_counts_of_a_part_scatter_as_the_law_states() {
        for &law in Law::ALL {
            let rate = Rate::per_second(RATE).unwrap();
            let random = stream(3, 1, 0, Purpose::Arrivals);
            let mut part = (law.entry().part)(rate, Part { index: 1, of: WORKERS }, random);
            let span_ns = (100.0 * 1e9 / RATE * f64::from(WORKERS)) as u64;
            let mut counts = vec![0.0_f64; 4_000];
            loop {
                let at = (part.next_due().0 / span_ns) as usize;
                let Some(count) = counts.get_mut(at) else { break };
                *count += 1.0;
            }
            let n = counts.len() as f64;
            let mean = counts.iter().sum::<f64>() / n;
            let variance = counts.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / (n - 1.0);
            // Five standard errors of a variance over 4,000 spans: 5 * sqrt(2 / 4000) = 0.11.
            let stated = law.entry().dispersion;
            assert!((variance / mean - stated).abs() < 0.11 * stated + 0.01, "{law:?}: {}", variance / mean);
        }
    }
}
