/// With fewer batches, the truncation rule is meaningless.
const LEAST_BATCHES: usize = 4;

/// Apply MSER-5 (White 1997; White, Cobb, Spratt 2000): return the number of leading observations to cut off
/// so that the mean of the rest has the smallest standard error, in batches of five.
///
/// Returns `None` if there are too few observations, or if the best cut lies in the second half. The latter
/// is the rule's own sign that the series has not settled yet.
pub fn mser5(series: &[f64]) -> Option<usize> {
    let batches: Vec<f64> = series.chunks_exact(5).map(|five| five.iter().sum::<f64>() / 5.0).collect();
    let n = batches.len();
    if n < LEAST_BATCHES {
        return None;
    }
    // From the back, so that the sums of each cut follow from the previous cut.
    let (mut sum, mut squares) = (0.0, 0.0);
    let (mut best, mut least) = (n, f64::INFINITY);
    for (cut, &x) in batches.iter().enumerate().rev() {
        sum += x;
        squares += x * x;
        let left = (n - cut) as f64;
        // Two remaining batches would always look steady.
        if n - cut < 3 {
            continue;
        }
        let error = (squares - sum * sum / left).max(0.0) / (left * left);
        if error <= least {
            (best, least) = (cut, error);
        }
    }
    (best <= n / 2).then_some(best * 5)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(i: usize) -> f64 {
        ((i * 7919) % 101) as f64 / 101.0
    }

    #[test]
    fn a_transient_is_cut_and_nothing_more() {
        let series: Vec<f64> =
            (0..200).map(|i| noise(i) + if i < 40 { 20.0 - i as f64 / 2.0 } else { 0.0 }).collect();
        let cut = mser5(&series).unwrap();
        assert!((30..=60).contains(&cut), "{cut}");
        assert!(mser5(&(0..200).map(noise).collect::<Vec<_>>()).unwrap() <= 100);
    }

    #[test]
    fn a_series_that_still_falls_is_not_steady() {
        let falling: Vec<f64> = (0..60).map(|i| 100.0 - i as f64 + noise(i)).collect();
        assert_eq!(mser5(&falling), None);
        assert_eq!(mser5(&[1.0; 10]), None);
    }
}
