//! Two extreme value laws. Their quantile functions turn a uniform number into one that follows the law.
//!
//! Both have a location, a scale and a shape k in the notation of Coles (An Introduction to Statistical Modeling of
//! Extreme Values, 2001, 3.1 and 4.2). A law with k > 0 has a heavy tail; for k = 0 the laws are exponential and
//! Gumbel.

/// Return `(e^(k x) - 1) / k`, or its limit `x` at k = 0.
#[inline]
fn box_cox_inverse(k: f64, x: f64) -> f64 {
    if k == 0.0 {
        x
    } else {
        (k * x).exp_m1() / k
    }
}

/// Return `ln(1 + k z) / k`, the inverse; infinite beyond the upper end of a law with k < 0.
#[inline]
fn box_cox(k: f64, z: f64) -> f64 {
    match 1.0 + k * z {
        _ if k == 0.0 => z,
        inner if inner > 0.0 => (k * z).ln_1p() / k,
        _ if k < 0.0 => f64::INFINITY,
        _ => f64::NEG_INFINITY,
    }
}

/// Return the quantile of the generalised Pareto law at `p` in `[0, 1)`.
#[inline]
pub fn pareto_quantile(location: f64, scale: f64, shape: f64, p: f64) -> f64 {
    location + scale * box_cox_inverse(shape, -(-p).ln_1p())
}

/// Return the distribution function of the generalised Pareto law at `x`.
#[inline]
pub fn pareto_cdf(location: f64, scale: f64, shape: f64, x: f64) -> f64 {
    let z = (x - location) / scale;
    if z <= 0.0 {
        0.0
    } else {
        -(-box_cox(shape, z)).exp_m1()
    }
}

/// Return the quantile of the generalised extreme value law at `p` in `(0, 1)`.
#[inline]
pub fn extreme_quantile(location: f64, scale: f64, shape: f64, p: f64) -> f64 {
    location + scale * box_cox_inverse(shape, -(-p.ln()).ln())
}

/// Return the distribution function of the generalised extreme value law at `x`.
#[inline]
pub fn extreme_cdf(location: f64, scale: f64, shape: f64, x: f64) -> f64 {
    (-(-box_cox(shape, (x - location) / scale)).exp()).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed with scipy 1.16: `genpareto.ppf(p, k, mu, sigma)`, `genextreme.ppf(p, -k, mu, sigma)`.
    #[test]
    fn quantiles_match_scipy() {
        for (shape, p, pareto, extreme) in [
            (0.348_238, 0.5, PARETO[0], EXTREME[0]),
            (0.348_238, 0.999, PARETO[1], EXTREME[1]),
            (0.0, 0.9, PARETO[2], EXTREME[2]),
            (-0.2, 0.9, PARETO[3], EXTREME[3]),
        ] {
            let close =
                |got: f64, expected: f64| assert!((got / expected - 1.0).abs() < 1e-9, "{got} {expected}");
            close(pareto_quantile(3.0, 214.476, shape, p), pareto);
            close(extreme_quantile(30.0, 8.0, shape, p), extreme);
        }
    }
    const PARETO: [f64; 4] = [171.140_766_237, 6_213.900_832_778, 496.849_240_404, 398.753_962_926];
    const EXTREME: [f64; 4] = [33.127_442_487, 261.623_557_579, 48.002_938_618, 44.496_747_612];

    #[test]
    fn distribution_and_quantile_functions_are_inverse() {
        for shape in [-0.3, 0.0, 0.08, 0.9] {
            for p in [0.001, 0.3, 0.5, 0.97, 0.9999] {
                let back = pareto_cdf(2.0, 50.0, shape, pareto_quantile(2.0, 50.0, shape, p));
                assert!((back - p).abs() < 1e-12, "{shape} {p} {back}");
                let back = extreme_cdf(2.0, 50.0, shape, extreme_quantile(2.0, 50.0, shape, p));
                assert!((back - p).abs() < 1e-12, "{shape} {p} {back}");
            }
        }
        assert!(pareto_cdf(2.0, 50.0, -0.5, 1e6) >= 1.0, "a law with k < 0 has an end");
        assert!(extreme_cdf(0.0, 1.0, 0.5, -1e6) <= 0.0, "and one with k > 0 a beginning");
    }
}
