use hindmost_plan::Size;

/// Continuous laws over fewer integers than this become a table, because a search is faster than their
/// quantile function.
const TABLE: u32 = 4096;

/// A distribution of integers, drawn by inversion of a number in `[0, 1)`.
#[derive(Clone, Debug)]
pub enum SizeLaw {
    /// A constant.
    Fixed(u32),
    /// Uniform, including both ends.
    Uniform(u32, u32),
    /// `(cumulative weight, number)`; the last weight is 1.
    Choice(Vec<(f64, u32)>),
    /// A truncated continuous law, rounded.
    Rounded {
        /// The law before truncation.
        law: Size,
        /// Its probability below the least number.
        from: f64,
        /// Its probability up to the greatest number.
        to: f64,
    },
    /// `(cumulative weight, law)`; the last weight is 1.
    Mixture(Vec<(f64, SizeLaw)>),
}

/// Normalise weights and return their cumulative sums.
fn cumulative<T>(weighted: impl Iterator<Item = (T, f64)> + Clone) -> Vec<(f64, T)> {
    let total: f64 = weighted.clone().map(|(_, w)| w).sum();
    let mut sum = 0.0;
    weighted
        .map(|(what, w)| {
            sum += w / total;
            (sum, what)
        })
        .collect()
}

impl SizeLaw {
    /// Create the law of the plan.
    pub fn new(size: &Size) -> Self {
        match size {
            Size::Fixed(n) => Self::Fixed(*n),
            Size::Uniform(low, high) => Self::Uniform(*low, *high),
            Size::Choice(options) => Self::Choice(cumulative(options.iter().copied())),
            Size::Mixture(laws) => {
                Self::Mixture(cumulative(laws.iter().map(|(law, w)| (Self::new(law), *w))))
            }
            law => Self::continuous(law),
        }
    }

    fn continuous(law: &Size) -> Self {
        let ((least, most), (from, to)) = (law.bounds(), law.cdf_at_bounds());
        if most - least >= TABLE {
            return Self::Rounded { law: law.clone(), from, to };
        }
        let up_to = |n: u32| law.cdf(f64::from(n) + 0.5);
        Self::Choice((least..=most).map(|n| ((up_to(n) - from) / (to - from), n)).collect())
    }

    /// Return the number at probability `u` in `[0, 1)`.
    #[inline]
    pub fn quantile(&self, u: f64) -> u32 {
        match self {
            Self::Fixed(n) => *n,
            Self::Uniform(low, high) => low + (u * f64::from(high - low + 1)) as u32,
            Self::Choice(options) => options[place(options, u)].1,
            Self::Rounded { law, from, to } => {
                let (least, most) = law.bounds();
                (law.quantile(from + u * (to - from)).round() as u32).clamp(least, most)
            }
            Self::Mixture(laws) => {
                let i = place(laws, u);
                let before = if i == 0 { 0.0 } else { laws[i - 1].0 };
                // The remainder of `u` within its law is uniform too.
                laws[i].1.quantile(((u - before) / (laws[i].0 - before)).clamp(0.0, 1.0 - f64::EPSILON))
            }
        }
    }
}

#[inline]
fn place<T>(options: &[(f64, T)], u: f64) -> usize {
    options.partition_point(|&(cumulative, _)| cumulative <= u).min(options.len() - 1)
}

#[cfg(test)]
mod tests {
    use hindmost_plan::{Extreme, Lognormal, Normal};

    use super::*;

    #[test]
    fn inversion_reaches_both_ends_and_every_choice() {
        let uniform = SizeLaw::new(&Size::Uniform(3, 5));
        assert_eq!([0.0, 0.34, 0.999_999].map(|u| uniform.quantile(u)), [3, 4, 5]);
        let choice = SizeLaw::new(&Size::Choice(vec![(10, 1.0), (20, 3.0)]));
        assert_eq!([0.0, 0.249, 0.25, 0.999_999].map(|u| choice.quantile(u)), [10, 10, 20, 20]);
        let mixture = SizeLaw::new(&Size::Mixture(vec![(Size::Fixed(7), 1.0), (Size::Uniform(20, 29), 3.0)]));
        assert_eq!([0.0, 0.249, 0.25, 0.625, 0.999_999].map(|u| mixture.quantile(u)), [7, 7, 20, 25, 29]);
    }

    /// Return the mean of `n` numbers at evenly spaced probabilities.
    fn mean(size: &Size) -> f64 {
        let law = SizeLaw::new(size);
        let n = 1_000_000;
        (0..n).map(|i| f64::from(law.quantile((f64::from(i) + 0.5) / f64::from(n)))).sum::<f64>()
            / f64::from(n)
    }

    #[test]
    fn continuous_laws_have_their_textbook_means() {
        let (least, most) = (1, 1_000_000);
        let pareto = Extreme { location: 15.0, scale: 214.476, shape: 0.2, least, most };
        let extreme = Extreme { location: 30.7984, scale: 8.20449, shape: 0.078_688, least, most: 250 };
        for (size, expected) in [
            (Size::Normal(Normal { mean: 200.0, deviation: 20.0, least, most }), 200.0),
            (Size::Lognormal(Lognormal { median: 100.0, sigma: 0.5, least, most }), 100.0 * 0.125f64.exp()),
            (Size::GeneralisedPareto(pareto), 15.0 + 214.476 / 0.8),
            // Location + scale (Gamma(1 - k) - 1) / k; Gamma(0.921312) = 1.052027.
            (Size::GeneralisedExtremeValue(extreme), 30.7984 + 8.20449 * (1.052_027 - 1.0) / 0.078_688),
        ] {
            let got = mean(&size);
            assert!((got / expected - 1.0).abs() < 1e-3, "{size:?}: {got} for {expected}");
        }
    }

    #[test]
    fn truncation_redistributes_mass_instead_of_piling_it_up() {
        for most in [150, 100_000] {
            let cut = Size::Normal(Normal { mean: 100.0, deviation: 60.0, least: 50, most });
            let law = SizeLaw::new(&cut);
            let all: Vec<u32> = (0..100_000).map(|i| law.quantile(f64::from(i) / 1e5)).collect();
            assert_eq!((*all.iter().min().unwrap(), all.iter().all(|&n| n <= most)), (50, true));
            let (from, to) = cut.cdf_at_bounds();
            for n in [50, 51, 120, 149] {
                let share = (cut.cdf(f64::from(n) + 0.5) - cut.cdf(f64::from(n) - 0.5)) / (to - from);
                let seen = all.iter().filter(|&&m| m == n).count() as f64 / 1e5;
                assert!((seen - share).abs() < 2e-5, "{most} {n}: {seen} for {share}");
            }
        }
    }
}
