//! Distributions as quantile functions: a uniform number in, a time out. If a parameter changes while the uniform
//! number stays, only the time changes.

use hindmost_random::normal_quantile;
use statrs::distribution::{ContinuousCDF, Gamma};

use crate::knots::Knots;
use crate::Law;

/// A law compiled for drawing.
#[derive(Clone, Debug)]
pub struct Quantile {
    shape: Shape,
    /// Longer times are cut to this, in ns.
    cut_ns: f64,
}

#[derive(Clone, Debug)]
enum Shape {
    Constant(f64),
    Exponential { mean: f64 },
    Uniform { low: f64, width: f64 },
    Lognormal { log_median: f64, sigma: f64 },
    Geometric { step: f64, log_another: f64 },
    Pareto { least: f64, power: f64 },
    Knots(Knots),
}

const NS: f64 = 1e3;

impl Quantile {
    /// Compile a valid law.
    pub fn new(law: &Law) -> Self {
        let mut cut_ns = f64::INFINITY;
        let shape = match law {
            Law::Deterministic { us } => Shape::Constant(us * NS),
            Law::Exponential { mean_us } => Shape::Exponential { mean: mean_us * NS },
            Law::Uniform { low_us, high_us } => {
                Shape::Uniform { low: low_us * NS, width: (high_us - low_us) * NS }
            }
            Law::Lognormal { median_us, mean_us, sigma_log, at_most_us } => {
                cut_ns = at_most_us.map_or(cut_ns, |us| us * NS);
                let log_median = match (median_us, mean_us) {
                    (Some(median), _) => (median * NS).ln(),
                    (None, mean) => (mean.unwrap_or(f64::NAN) * NS).ln() - sigma_log * sigma_log / 2.0,
                };
                Shape::Lognormal { log_median, sigma: *sigma_log }
            }
            Law::Gamma { mean_us, shape } => Shape::Knots(gamma(mean_us * NS, *shape)),
            Law::Geometric { mean_us, step_us } => {
                Shape::Geometric { step: step_us * NS, log_another: (1.0 - step_us / mean_us).ln() }
            }
            Law::Pareto { least_us, shape, at_most_us } => {
                cut_ns = at_most_us.map_or(cut_ns, |us| us * NS);
                Shape::Pareto { least: least_us * NS, power: -1.0 / shape }
            }
            Law::Empirical { points } => {
                Shape::Knots(Knots::new(points.iter().map(|&(p, us)| (p, us * NS)).collect()))
            }
        };
        Self { shape, cut_ns }
    }

    /// Return the quantile `u` in `(0, 1)`, in nanoseconds.
    #[inline]
    pub fn value_at(&self, u: f64) -> f64 {
        let time = match &self.shape {
            Shape::Constant(time) => *time,
            // 1 - u is exact for numbers of `Draws`, so this is as exact as ln_1p(-u), and twice as fast.
            Shape::Exponential { mean } => -mean * (1.0 - u).ln(),
            Shape::Uniform { low, width } => low + width * u,
            Shape::Lognormal { log_median, sigma } => (log_median + sigma * normal_quantile(u)).exp(),
            Shape::Geometric { step, log_another } => {
                step * if *log_another == f64::NEG_INFINITY {
                    1.0
                } else {
                    ((-u).ln_1p() / log_another).ceil().max(1.0)
                }
            }
            Shape::Pareto { least, power } => least * (1.0 - u).powf(*power),
            Shape::Knots(knots) => knots.value_at(u),
        };
        time.min(self.cut_ns)
    }

    /// Return the mean (ns) and the second moment (ns^2), which is infinite for some laws.
    pub fn moments(&self) -> (f64, f64) {
        if self.cut_ns.is_finite() {
            return Knots::new(grid().map(|u| (u, self.value_at(u.clamp(1e-15, 1.0 - 1e-15)))).collect())
                .moments();
        }
        match &self.shape {
            Shape::Constant(time) => (*time, time * time),
            Shape::Exponential { mean } => (*mean, 2.0 * mean * mean),
            Shape::Uniform { low, width } => {
                let high = low + width;
                ((low + high) / 2.0, (low * low + low * high + high * high) / 3.0)
            }
            Shape::Lognormal { log_median, sigma } => {
                let variance = sigma * sigma;
                ((log_median + variance / 2.0).exp(), (2.0 * (log_median + variance)).exp())
            }
            Shape::Geometric { step, log_another } => {
                let another = log_another.exp();
                let stop = 1.0 - another;
                (step / stop, step * step * (1.0 + another) / (stop * stop))
            }
            Shape::Pareto { least, power } => {
                let index = -1.0 / power;
                let moment =
                    |k: f64| if index > k { index * least.powf(k) / (index - k) } else { f64::INFINITY };
                (moment(1.0), moment(2.0))
            }
            Shape::Knots(knots) => knots.moments(),
        }
    }
}

/// Return 4,001 probabilities from 0 to 1, dense near both ends: neighbours differ by 1.4 % of their distance to the
/// end.
fn grid() -> impl Iterator<Item = f64> {
    const HALF: i32 = 2_000;
    (-HALF..=HALF).map(|i| {
        let distance = 0.5 * (f64::from(-i.abs()) * 28.0 / f64::from(HALF)).exp();
        match i {
            _ if i == -HALF => 0.0,
            _ if i == HALF => 1.0,
            ..=0 => distance,
            _ => 1.0 - distance,
        }
    })
}

/// Return the gamma law's quantile function, which has no closed form: it is inverted once on the grid.
fn gamma(mean: f64, shape: f64) -> Knots {
    let law = Gamma::new(shape, shape / mean).expect("checked: shape and mean are positive");
    let mut highest = 0.0_f64;
    Knots::new(
        grid()
            .map(|u| {
                if u > 0.0 {
                    highest = highest.max(law.inverse_cdf(u.min(1.0 - 1e-13)));
                }
                (u, highest)
            })
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use hindmost_random::Draws;

    use super::*;

    fn check(law: &Law, mean_us: f64, quantiles: &[(f64, f64)]) {
        let quantile = Quantile::new(law);
        let (mean, second) = quantile.moments();
        assert!((mean / (mean_us * 1e3) - 1.0).abs() < 1e-3, "{law:?}: mean {mean}");
        for &(u, us) in quantiles {
            assert!(
                (quantile.value_at(u) / (us * 1e3) - 1.0).abs() < 1e-3,
                "{law:?}: {u}: {}",
                quantile.value_at(u)
            );
        }
        let n = 400_000_u64;
        let times = (0..n).map(|i| quantile.value_at(Draws::new(1, i).unit(0)));
        let (sum, squares) = times.fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
        let drawn = sum / n as f64;
        if second.is_finite() {
            // Five standard errors of the mean; 3 % for the second moment, which is enough for the light-tailed laws
            // here.
            let error = ((second - mean * mean).max(0.0) / n as f64).sqrt();
            assert!((drawn - mean).abs() <= 5.0 * error + 1e-6 * mean, "{law:?}: drew {drawn}, {mean}");
            assert!((squares / n as f64 / second - 1.0).abs() < 0.03, "{law:?}");
        }
    }

    #[test]
    fn every_law_has_its_mean_quantiles_and_second_moment() {
        check(&Law::Deterministic { us: 12.5 }, 12.5, &[(0.1, 12.5)]);
        check(&Law::Exponential { mean_us: 200.0 }, 200.0, &[(0.99, 921.034)]);
        check(&Law::Uniform { low_us: 10.0, high_us: 30.0 }, 20.0, &[(0.25, 15.0)]);
        let lognormal =
            |median_us, mean_us| Law::Lognormal { median_us, mean_us, sigma_log: 0.3, at_most_us: None };
        check(&lognormal(Some(532.0), None), 532.0 * 0.045_f64.exp(), &[(0.5, 532.0), (0.975, 957.86)]);
        check(&lognormal(None, Some(532.0)), 532.0, &[(0.5, 532.0 * (-0.045_f64).exp())]);
        // R: qgamma(c(.01, .5, .999), shape = 2.5, scale = 40)
        check(
            &Law::Gamma { mean_us: 100.0, shape: 2.5 },
            100.0,
            &[(0.01, 11.085_96), (0.5, 87.029_22), (0.999, 410.300_1)],
        );
        check(&Law::Geometric { mean_us: 30.0, step_us: 10.0 }, 30.0, &[(0.3, 10.0), (0.5, 20.0)]);
        check(&Law::Geometric { mean_us: 10.0, step_us: 10.0 }, 10.0, &[(0.999, 10.0)]);
        check(&Law::Pareto { least_us: 10.0, shape: 5.0, at_most_us: None }, 12.5, &[(0.5, 11.487)]);
        check(
            &Law::Empirical { points: vec![(0.0, 10.0), (0.9, 20.0), (1.0, 120.0)] },
            20.5,
            &[(0.95, 70.0)],
        );
    }

    #[test]
    fn a_cut_law_has_the_moments_of_its_draws() {
        let law = Law::Pareto { least_us: 10.0, shape: 1.5, at_most_us: Some(1_000.0) };
        // E min(X, c) = least a/(a-1) - (least/c)^(a-1) least/(a-1)
        check(&law, 30.0 - 2.0, &[(0.9999, 1_000.0)]);
    }
}
