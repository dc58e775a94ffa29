use hindmost_clock::Nanos;

use super::{mser5, Ended, Stop};
use crate::record::Window;

/// Ends the warm-up when the windowed median and 99th percentile are both steady by MSER-5 (attribution
/// notes, section 4) on a logarithmic scale, because latencies are skewed. The mean of the last quarter must
/// also be near the mean of the quarter before it: MSER alone accepts a slow, even drift.
#[derive(Clone, Copy, Debug)]
pub struct Steady {
    least: Nanos,
    most: Nanos,
    seen: usize,
}

/// Largest relative difference of the last two quarters' medians that counts as steady. The resolution of the
/// windows (3 %) and their sampling noise together stay below it.
const DRIFT: f64 = 0.10;

impl Steady {
    /// Create a rule that ends the warm-up between `least` and `most`.
    pub fn new(least: Nanos, most: Nanos) -> Self {
        Self { least, most, seen: 0 }
    }

    fn is_steady(windows: &[Window]) -> bool {
        let logs = |pick: fn(&Window) -> u64| -> Vec<f64> {
            windows.iter().filter(|w| w.count > 0).map(|w| (pick(w).max(1) as f64).ln()).collect()
        };
        let p50 = logs(|w| w.p50_ns);
        let p99 = logs(|w| w.p99_ns);
        mser5(&p50).is_some() && mser5(&p99).is_some() && drift(&p50) < DRIFT
    }
}

/// Return the absolute difference of the means of the last two quarters of a logarithmic series.
fn drift(logs: &[f64]) -> f64 {
    let quarter = (logs.len() / 4).max(1);
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let n = logs.len();
    if n < 2 * quarter {
        return f64::INFINITY;
    }
    (mean(&logs[n - quarter..]) - mean(&logs[n - 2 * quarter..n - quarter])).abs()
}

impl Stop for Steady {
    fn decide(&mut self, elapsed: Nanos, windows: &[Window]) -> Option<Ended> {
        if elapsed >= self.most {
            return Some(if Self::is_steady(windows) { Ended::Steady } else { Ended::NeverSteady });
        }
        // One test per batch of five windows: more tests of the same data only add false alarms.
        if elapsed < self.least || windows.len() < self.seen + 5 {
            return None;
        }
        self.seen = windows.len();
        Self::is_steady(windows).then_some(Ended::Steady)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(n: usize, median_us: impl Fn(usize) -> f64) -> Vec<Window> {
        (0..n)
            .map(|i| {
                let wobble = 1.0 + 0.02 * ((i * 31 % 7) as f64 - 3.0) / 3.0;
                let p50_ns = (median_us(i) * wobble * 1e3) as u64;
                Window { at_ns: i as u64, count: 100, p50_ns, p99_ns: p50_ns * 4 }
            })
            .collect()
    }

    fn decide(elapsed_s: f64, windows: &[Window]) -> Option<Ended> {
        let rule = Steady::new(Nanos::from_secs_f64(1.0), Nanos::from_secs_f64(10.0));
        { rule }.decide(Nanos::from_secs_f64(elapsed_s), windows)
    }

    #[test]
    fn steady_windows_end_the_warm_up_after_its_minimum() {
        let flat = windows(40, |_| 30.0);
        assert_eq!(decide(0.5, &flat), None);
        assert_eq!(decide(2.0, &flat), Some(Ended::Steady));
    }

    #[test]
    fn the_warm_up_waits_for_a_server_that_gets_faster_and_reports_it_at_the_limit() {
        let warming = windows(40, |i| 30.0 + 300.0 * (-(i as f64) / 30.0).exp());
        assert_eq!(decide(2.0, &warming), None);
        assert_eq!(decide(10.0, &warming), Some(Ended::NeverSteady));
    }
}
