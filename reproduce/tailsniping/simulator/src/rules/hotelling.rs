//! The paper's rule (section 6.2.3.2): a candidate whose experiment is indistinguishable from the anomaly is the
//! cause.
//!
//! The rule is inverted: few seconds accept every candidate, many reject the true cause. It is here for comparison
//! only, once with the correct Hotelling test, once as equations 6.4 and 6.5 are printed.

use statrs::function::beta::beta_reg;

use crate::metrics::ALL;
use crate::series::Window;

/// Reading of equations 6.4 and 6.5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Pooled covariance matrix, `F = (n - k - 1) T^2 / (k (n - 2))`.
    Right,
    /// As printed: pooled standard deviations, read as a diagonal; `F = (n + k) T^2 / (k n)`.
    Printed,
}

/// Return p of Hotelling's two-sample test; `None` if there are too few samples.
pub(crate) fn p_value(one: &Window, other: &Window, seconds: usize, form: Form) -> Option<f64> {
    let (n, k) = (2.0 * seconds as f64, ALL as f64);
    let freedom = n - k - 1.0;
    if freedom <= 0.0 {
        return None;
    }
    let means = one.mean(seconds).into_iter().zip(other.mean(seconds));
    let difference: Vec<f64> = means.map(|(mine, theirs)| mine - theirs).collect();
    let scale = 2.0 / seconds as f64;
    let (t2, factor) = match form {
        Form::Right => {
            let t2 = quadratic(covariance(one, other, seconds), &difference)? / scale;
            (t2, freedom / (k * (n - 2.0)))
        }
        Form::Printed => {
            let variances = one.variances(seconds).into_iter().zip(other.variances(seconds));
            let pooled = variances.map(|(mine, theirs)| f64::midpoint(mine.sqrt(), theirs.sqrt()));
            let t2: f64 = difference.iter().zip(pooled).map(|(gap, sd)| gap * gap / (sd * scale)).sum();
            (t2, (n + k) / (k * n))
        }
    };
    Some(beta_reg(freedom / 2.0, k / 2.0, freedom / (freedom + k * t2 * factor)))
}

/// Return whether the rule accepts a candidate as the cause, and how strongly.
pub(crate) fn accepts(
    anomaly: &Window,
    under: &Window,
    seconds: usize,
    form: Form,
    alpha: f64,
) -> Option<f64> {
    p_value(anomaly, under, seconds, form).filter(|p| *p >= alpha)
}

fn covariance(x: &Window, y: &Window, seconds: usize) -> Vec<Vec<f64>> {
    let mut pooled = vec![vec![0.0; ALL]; ALL];
    for window in [x, y] {
        let mean = window.mean(seconds);
        for row in window.rows(seconds) {
            for i in 0..ALL {
                for j in 0..=i {
                    pooled[i][j] += (row[i] - mean[i]) * (row[j] - mean[j]);
                }
            }
        }
    }
    let freedom = 2.0 * (seconds as f64 - 1.0);
    pooled.iter_mut().flatten().for_each(|value| *value /= freedom);
    pooled
}

/// Return `d' S^-1 d` by the Cholesky factors of the lower triangle of S.
fn quadratic(mut s: Vec<Vec<f64>>, d: &[f64]) -> Option<f64> {
    let mut solved = Vec::with_capacity(d.len());
    for i in 0..d.len() {
        for j in 0..=i {
            let below: f64 = (0..j).map(|k| s[i][k] * s[j][k]).sum();
            let rest = s[i][j] - below;
            s[i][j] = if i == j { (rest > 1e-12).then(|| rest.sqrt())? } else { rest / s[j][j] };
        }
        let below: f64 = (0..i).map(|k| s[i][k] * solved[k]).sum();
        solved.push((d[i] - below) / s[i][i]);
    }
    Some(solved.iter().map(|x: &f64| x * x).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draws::Draws;
    use crate::metrics::Point;

    fn noise(seconds: usize, draws: &mut Draws) -> Window {
        let row = |draws: &mut Draws| -> Point { std::array::from_fn(|_| draws.normal()) };
        Window::new((0..seconds).map(|_| row(draws)).collect())
    }

    #[test]
    fn the_quadratic_form_uses_the_inverse() {
        let s = vec![vec![4.0, 0.0], vec![2.0, 3.0]];
        // The inverse of [[4, 2], [2, 3]] is [[3, -2], [-2, 4]] / 8.
        assert!((quadratic(s, &[1.0, 2.0]).unwrap() - (3.0 - 8.0 + 16.0) / 8.0).abs() < 1e-12);
        assert!(quadratic(vec![vec![1.0, 0.0], vec![1.0, 1.0]], &[1.0, 2.0]).is_none());
    }

    #[test]
    fn the_right_form_holds_its_level_for_independent_samples_and_the_printed_one_does_not() {
        let mut draws = Draws::new(2, 0, 0);
        let mut below = [0, 0];
        for _ in 0..400 {
            let (x, y) = (noise(30, &mut draws), noise(30, &mut draws));
            for (count, form) in below.iter_mut().zip([Form::Right, Form::Printed]) {
                *count += usize::from(p_value(&x, &y, 30, form).unwrap() < 0.05);
            }
        }
        // Binomial(400, 0.05): mean 20, standard deviation 4.4; the printed form rejects more than twice as
        // often.
        assert!((7..=33).contains(&below[0]), "{below:?}");
        assert!(below[1] > 40, "{below:?}");
    }

    #[test]
    fn too_few_seconds_have_no_p() {
        let mut draws = Draws::new(2, 0, 1);
        let (x, y) = (noise(13, &mut draws), noise(13, &mut draws));
        assert_eq!(p_value(&x, &y, 13, Form::Right), None);
    }
}
