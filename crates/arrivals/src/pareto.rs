use hindmost_random::{unit, Random};
use rand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::law::ArrivalLaw;
use crate::process::{Draw, EveryNth, PartSpec};
use crate::{Cumulants, ParameterError, Process, TraceError};

/// Gaps with a bounded Pareto law: a power law between a shortest and a longest gap. C^2 determines its exponent, and
/// the rate its scale. Default: C^2 = 20 between 5 us and 100 ms, a ratio of 20,000 (WWW 2019, section 6.1).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pareto {
    /// Squared coefficient of variation of the gaps.
    #[serde(default = "published_c2")]
    pub c2: f64,
    /// Longest gap divided by the shortest.
    #[serde(default = "published_ratio")]
    pub ratio: f64,
}

fn published_c2() -> f64 {
    20.0
}

fn published_ratio() -> f64 {
    20_000.0
}

/// Range of exponents to search: from 1 on, C^2 decreases with the exponent.
const EXPONENTS: (f64, f64) = (1.0, 200.0);

impl Pareto {
    /// Return the moment of order `j` about zero for gaps between 1 and `ratio`.
    fn moment(self, alpha: f64, j: f64) -> f64 {
        let norm = -(-alpha * self.ratio.ln()).exp_m1();
        let order = j - alpha;
        let integral =
            if order.abs() < 1e-9 { self.ratio.ln() } else { (order * self.ratio.ln()).exp_m1() / order };
        alpha * integral / norm
    }

    fn scv(self, alpha: f64) -> f64 {
        self.moment(alpha, 2.0) / self.moment(alpha, 1.0).powi(2) - 1.0
    }

    /// Find the exponent by bisection, which is deterministic to the bit.
    fn alpha(self) -> f64 {
        let (mut low, mut high) = EXPONENTS;
        for _ in 0..200 {
            let middle = f64::midpoint(low, high);
            if self.scv(middle) > self.c2 {
                low = middle;
            } else {
                high = middle;
            }
        }
        f64::midpoint(low, high)
    }

    fn inverse(self) -> Inverse {
        let alpha = self.alpha();
        let tail = -(-alpha * self.ratio.ln()).exp_m1();
        Inverse { shortest: 1.0 / self.moment(alpha, 1.0), tail, power: -1.0 / alpha }
    }
}

impl ArrivalLaw for Pareto {
    fn check(&self) -> Result<(), ParameterError> {
        ParameterError::check_range("ratio", self.ratio, 2.0, 1e9)?;
        ParameterError::check_range("c2", self.c2, 0.0, f64::MAX)?;
        let (largest, least) = (self.scv(EXPONENTS.0), self.scv(EXPONENTS.1));
        if (least..=largest).contains(&self.c2) {
            return Ok(());
        }
        let must = format!("between {least:.3} and {largest:.1} for a ratio of {}", self.ratio);
        Err(ParameterError { field: "c2", value: self.c2.to_string(), must })
    }

    fn process(&self, spec: &PartSpec) -> Result<Box<dyn Process>, TraceError> {
        Ok(EveryNth::new_process(self.inverse(), spec))
    }

    fn cumulants(&self) -> Option<Cumulants> {
        let alpha = self.alpha();
        let moments = [1.0, 2.0, 3.0, 4.0].map(|j| self.moment(alpha, j));
        Some(Cumulants::from_moments(moments))
    }
}

/// The quantile function.
struct Inverse {
    shortest: f64,
    tail: f64,
    power: f64,
}

impl Draw for Inverse {
    #[inline]
    fn gap(&mut self, random: &mut Random) -> f64 {
        self.shortest * (1.0 - unit(random.next_u64()) * self.tail).powf(self.power)
    }
}

#[cfg(test)]
mod tests {
    use hindmost_random::{stream, Purpose};

    use super::*;

    #[test]
    fn the_published_law_has_its_c2_and_bounds() {
        let law = Pareto { c2: published_c2(), ratio: published_ratio() };
        let alpha = law.alpha();
        assert!((law.scv(alpha) - 20.0).abs() < 1e-9, "{alpha}");
        assert!((1.5..1.7).contains(&alpha), "a heavy tail with a mean: {alpha}");
        let mean_us = 5.0 * law.moment(alpha, 1.0);
        assert!((10.0..20.0).contains(&mean_us), "of gaps between 5 us and 100 ms: {mean_us}");
    }

    #[test]
    fn gaps_follow_the_power_law_within_their_bounds() {
        let law = Pareto { c2: published_c2(), ratio: published_ratio() };
        let (alpha, n) = (law.alpha(), 1_000_000);
        let mut draw = law.inverse();
        let shortest = draw.shortest;
        let mut random = stream(3, 0, 0, Purpose::SharedArrivals);
        let mut gaps: Vec<f64> = (0..n).map(|_| draw.gap(&mut random) / shortest).collect();
        gaps.sort_unstable_by(f64::total_cmp);
        assert!(gaps[0] >= 1.0 && gaps[n - 1] <= law.ratio);
        for x in [1.5_f64, 3.0, 10.0, 100.0, 1_000.0] {
            let above = (x.powf(-alpha) - law.ratio.powf(-alpha)) / (1.0 - law.ratio.powf(-alpha));
            let found = (n - gaps.partition_point(|&gap| gap <= x)) as f64 / n as f64;
            assert!(
                (found - above).abs() < 5.0 * (above / n as f64).sqrt(),
                "above {x}: {found}, not {above}"
            );
        }
    }

    #[test]
    fn unreachable_c2_and_invalid_ratios_are_refused() {
        for (c2, ratio) in [(500.0, 20_000.0), (20.0, 10.0), (f64::NAN, 20_000.0), (1.0, 1.5)] {
            assert!(Pareto { c2, ratio }.check().is_err(), "{c2} {ratio}");
        }
    }
}
