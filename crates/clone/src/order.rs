//! Correlation of successive service times: the part of a clone with a state.

use hindmost_random::{normal_cdf, normal_quantile, Draws};

use crate::{Order, Regime};

/// Gives each request, in the order of service, the uniform number for its service time and the factor of its regime.
/// Without autocorrelation and regimes it has no state.
#[derive(Clone, Debug)]
pub struct Sequence {
    rho: f64,
    fresh: f64,
    score: Option<f64>,
    regimes: Box<[Regime]>,
    regime: Option<usize>,
}

const VALUE: u32 = 1;
const LEAVE: u32 = 2;
const NEXT: u32 = 3;

impl Sequence {
    pub(crate) fn new(order: &Order) -> Self {
        Self {
            rho: order.autocorrelation,
            fresh: (1.0 - order.autocorrelation * order.autocorrelation).sqrt(),
            score: None,
            regimes: order.regimes.clone().into(),
            regime: None,
        }
    }

    /// Return the uniform number and the factor of the next request.
    #[inline]
    pub(crate) fn next(&mut self, draws: Draws) -> (f64, f64) {
        let u = draws.unit(VALUE);
        let u = if self.rho == 0.0 { u } else { self.correlate(u) };
        (u, if self.regimes.is_empty() { 1.0 } else { self.factor(draws) })
    }

    /// Apply a first-order autoregression to the normal scores (a Gaussian copula), which keeps the law of each time.
    fn correlate(&mut self, u: f64) -> f64 {
        let innovation = normal_quantile(u);
        let score = self.score.map_or(innovation, |last| self.rho * last + self.fresh * innovation);
        self.score = Some(score);
        normal_cdf(score).clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON)
    }

    fn factor(&mut self, draws: Draws) -> f64 {
        let n = self.regimes.len();
        let pick = |count: usize| ((draws.unit(NEXT) * count as f64) as usize).min(count - 1);
        let regime = match self.regime {
            // In the long run, a regime's share of the requests is proportional to its length.
            None => {
                let all: f64 = self.regimes.iter().map(|regime| regime.mean_requests).sum();
                let mut left = draws.unit(NEXT) * all;
                let is_reached = |regime: &Regime| {
                    left -= regime.mean_requests;
                    left < 0.0
                };
                self.regimes.iter().position(is_reached).unwrap_or(n - 1)
            }
            Some(old) if n > 1 && draws.unit(LEAVE) * self.regimes[old].mean_requests < 1.0 => {
                (old + 1 + pick(n - 1)) % n
            }
            Some(old) => old,
        };
        self.regime = Some(regime);
        self.regimes[regime].factor
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "factors are copied, not computed")]
mod tests {
    use super::*;

    #[test]
    fn scores_have_the_requested_correlation_and_stay_uniform() {
        let mut sequence = Sequence::new(&Order { autocorrelation: 0.6, regimes: vec![] });
        let u: Vec<f64> = (0..200_000).map(|i| sequence.next(Draws::new(1, i)).0).collect();
        let scores: Vec<f64> = u.iter().map(|&u| normal_quantile(u)).collect();
        let lag1 = scores.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / scores.len() as f64;
        assert!((lag1 - 0.6).abs() < 0.02, "{lag1}");
        let below = u.iter().filter(|&&u| u < 0.1).count() as f64 / u.len() as f64;
        assert!((below - 0.1).abs() < 0.005, "{below}");
    }

    #[test]
    fn regimes_have_the_requested_length() {
        let regimes =
            vec![Regime { factor: 1.0, mean_requests: 300.0 }, Regime { factor: 2.0, mean_requests: 100.0 }];
        let mut sequence = Sequence::new(&Order { autocorrelation: 0.0, regimes });
        let factors: Vec<f64> = (0..400_000).map(|i| sequence.next(Draws::new(1, i)).1).collect();
        let slow = factors.iter().filter(|&&f| f == 2.0).count() as f64 / factors.len() as f64;
        let changes = factors.windows(2).filter(|pair| pair[0] != pair[1]).count() as f64;
        // 2,000 changes are expected, with a standard deviation of about 45; shares of slow requests vary by 0.01.
        assert!((slow - 0.25).abs() < 0.05, "{slow}");
        assert!((changes - 2_000.0).abs() < 225.0, "{changes}");
    }
}
