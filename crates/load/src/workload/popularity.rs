use hindmost_arrivals::Part;
use hindmost_plan::{Extreme, Size};
use rand::Rng;
use rand_distr::weighted::WeightedAliasIndex;
use rand_distr::{Distribution, Zipf};

use super::SizeLaw;
use crate::random::{below, unit, Random};

/// The popularity law of items.
pub enum Popularity {
    /// Equal popularity.
    Uniform(u32),
    /// Zipf's law over ranks, drawn by rejection-inversion (Hoermann and Derflinger 1996).
    Zipf(Zipf<f64>),
    /// Ranks drawn from a law of integers.
    Ranks(SizeLaw),
    /// The first keys are requested more often than the others.
    HotSet {
        /// Number of hot keys.
        hot: u32,
        /// Number of keys.
        keys: u32,
        /// Fraction of requests for hot keys.
        requests: f64,
    },
    /// Round-robin over all workers: each worker takes its own share of the keys.
    Sequential {
        /// The next item, before the modulo.
        next: u64,
        /// Number of workers.
        step: u64,
        /// Number of keys.
        keys: u64,
    },
    /// Weighted choice (Walker's alias method).
    Weights(WeightedAliasIndex<f64>),
}

impl Popularity {
    /// Create the law of the plan over `items` items, for worker `part` of all workers.
    pub fn new(law: &hindmost_plan::Popularity, items: u32, part: Part) -> Self {
        use hindmost_plan::Popularity as Law;
        match law {
            Law::Uniform => Self::uniform(items),
            // The plan has checked the parameters. A law that cannot be built becomes uniform.
            Law::Zipf(s) => Zipf::new(f64::from(items), *s).map_or(Self::uniform(items), Self::Zipf),
            Law::Weights(weights) => {
                WeightedAliasIndex::new(weights.clone()).map_or(Self::uniform(items), Self::Weights)
            }
            Law::GeneralisedPareto(ranks) => Self::Ranks(SizeLaw::new(&Size::GeneralisedPareto(Extreme {
                location: 0.0,
                scale: ranks.scale,
                shape: ranks.shape,
                least: 0,
                most: items - 1,
            }))),
            Law::HotSet(set) => Self::HotSet { hot: set.hot(items), keys: items, requests: set.requests },
            Law::Sequential => Self::Sequential {
                next: u64::from(part.index),
                step: u64::from(part.of.max(1)),
                keys: u64::from(items),
            },
        }
    }

    /// Create a law of equal popularity.
    pub fn uniform(items: u32) -> Self {
        Self::Uniform(items)
    }

    /// Draw the number of the next item. Item 0 is the most popular unless all are equal.
    #[inline]
    pub fn draw(&mut self, random: &mut Random) -> u32 {
        match self {
            Self::Uniform(items) => below(random.next_u64(), *items),
            Self::Zipf(law) => law.sample(random) as u32 - 1,
            Self::Ranks(law) => law.quantile(unit(random.next_u64())),
            Self::HotSet { hot, keys, requests } => {
                if *hot == *keys || unit(random.next_u64()) < *requests {
                    below(random.next_u64(), *hot)
                } else {
                    *hot + below(random.next_u64(), *keys - *hot)
                }
            }
            Self::Sequential { next, step, keys } => {
                let at = *next % *keys;
                *next += *step;
                at as u32
            }
            Self::Weights(law) => law.sample(random) as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use hindmost_plan::{HotSet, Popularity as Law, Ranks};

    use super::*;
    use crate::random::{stream, Purpose};

    /// Return how often each of 1000 keys was drawn, in 400,000 requests of four workers.
    fn count_draws(law: &Law) -> Vec<f64> {
        let mut seen = vec![0.0; 1000];
        for index in 0..4 {
            let mut popularity = Popularity::new(law, 1000, Part { index, of: 4 });
            let mut random = stream(11, 0, index, Purpose::Contents);
            for _ in 0..100_000 {
                seen[popularity.draw(&mut random) as usize] += 1.0;
            }
        }
        seen
    }

    /// Check Pearson's chi-square over the keys expected at least ten times, with the others as one cell,
    /// against its 1e-6 quantile (Wilson and Hilferty). The seed fixes the draws, so the result never
    /// changes.
    fn check(law: &Law, shares: impl Fn(usize) -> f64) {
        let seen = count_draws(law);
        let (mut chi, mut cells, mut rest) = (0.0, 0.0, (0.0, 0.0));
        let mut add = |seen: f64, expected: f64| {
            chi += (seen - expected).powi(2) / expected;
            cells += 1.0;
        };
        for (rank, &seen) in seen.iter().enumerate() {
            let expected = 400_000.0 * shares(rank);
            if expected >= 10.0 {
                add(seen, expected);
            } else {
                rest = (rest.0 + seen, rest.1 + expected);
            }
        }
        if rest.1 >= 10.0 {
            add(rest.0, rest.1);
        }
        let (n, z) = (cells - 1.0, 4.753);
        let most = n * (1.0 - 2.0 / (9.0 * n) + z * f64::sqrt(2.0 / (9.0 * n))).powi(3);
        assert!(chi < most, "{law:?}: chi-square {chi} with {n} degrees of freedom, at most {most}");
    }

    #[test]
    fn every_law_gives_each_key_its_share_over_all_workers() {
        check(&Law::Uniform, |_| 1e-3);
        for s in [0.7, 1.0, 1.3] {
            let harmonic: f64 = (1..=1000).map(|r| f64::from(r).powf(-s)).sum();
            check(&Law::Zipf(s), |rank| (rank as f64 + 1.0).powf(-s) / harmonic);
        }
        check(&Law::HotSet(HotSet { keys: 0.1, requests: 0.8 }), |rank| {
            if rank < 100 {
                0.8 / 100.0
            } else {
                0.2 / 900.0
            }
        });
        let weights: Vec<f64> = (0..1000).map(|rank| f64::from(rank % 7)).collect();
        let sum: f64 = weights.iter().sum();
        check(&Law::Weights(weights.clone()), |rank| weights[rank] / sum);
        let ranks = Ranks { scale: 60.0, shape: 0.35 };
        let up_to = |n: f64| 1.0 - (1.0 + 0.35 * n.max(0.0) / 60.0).powf(-1.0 / 0.35);
        let all = up_to(999.5);
        check(&Law::GeneralisedPareto(ranks), |rank| {
            (up_to(rank as f64 + 0.5) - up_to(rank as f64 - 0.5)) / all
        });
    }

    #[test]
    fn sequential_keys_are_split_over_workers_and_requested_equally_often() {
        assert!(count_draws(&Law::Sequential).iter().all(|times| (times - 400.0).abs() < 0.5));
        let mut second = Popularity::new(&Law::Sequential, 5, Part { index: 1, of: 2 });
        let mut random = stream(1, 0, 0, Purpose::Contents);
        let mut next = || second.draw(&mut random);
        assert_eq!([next(), next(), next(), next()], [1, 3, 0, 2]);
    }
}
