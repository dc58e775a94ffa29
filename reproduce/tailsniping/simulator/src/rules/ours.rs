//! Our rule: shifts instead of levels, limits on latency and signature, separation, removal, a minimum effective
//! sample size, three looks.
//!
//! ```text
//!   a = A - N (sick host)        r = share of the p99's shift        lower bound > 0.3 and 0.6 < r < 1.6
//!   c = C - Nc (experiment)      residual = |a - c| / |a|            upper bound < 0.5
//! ```
//!
//! A candidate is excluded only by a bound, never for a lack of data; a candidate that is neither accepted nor
//! excluded keeps the case open until the next look.

use crate::draws::Draws;
use crate::metrics::{Point, METRICS, P99};
use crate::series::Window;
use crate::world::{Arm, Case};

use super::Answer;

/// Seconds per arm of the three looks.
pub(crate) const LOOKS: [usize; 3] = [30, 120, 600];
/// Minimum effective sample size of a look in seconds: with fewer, one of four rulings at an autocorrelation of 0.9
/// is a false "unknown".
const LEAST_EFFECTIVE: f64 = 8.0;
const RESAMPLES: usize = 200;
const ALPHA: f64 = 0.02;
/// Bounds of the fraction of the p99's shift that a candidate reproduces.
const SHARE_LOW: f64 = 0.3;
const SHARE: std::ops::Range<f64> = 0.6..1.6;
/// Fraction of resamples in which the leader must be nearer than each rival.
const SEPARATED: f64 = 0.98;

/// The limits of the rule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gates {
    /// Limit of the signature's residual.
    pub(crate) residual: f64,
    /// Whether the leader must pass the removal on the sick host.
    pub(crate) removal: bool,
}

/// All windows that a case provides.
pub(crate) struct CaseWindows {
    pub(crate) normal: Window,
    pub(crate) anomaly: Window,
    pub(crate) before: Vec<Window>,
    pub(crate) under: Vec<Window>,
    pub(crate) removed: Vec<Window>,
}

impl CaseWindows {
    /// Create windows as long as the last look.
    pub(crate) fn draw(case: &Case, draws: &mut Draws) -> Self {
        let most = LOOKS[LOOKS.len() - 1];
        let candidates = 0..case.candidates.len();
        Self {
            normal: case.window(Arm::Normal, most, draws),
            anomaly: case.window(Arm::Anomaly, most, draws),
            before: candidates.clone().map(|_| case.window(Arm::Before, most, draws)).collect(),
            under: candidates.clone().map(|at| case.window(Arm::Under(at), most, draws)).collect(),
            removed: candidates.map(|at| case.window(Arm::Removed(at), most, draws)).collect(),
        }
    }
}

/// Return the ruling, and the seconds per arm that it took.
pub(crate) fn decide(case: &Case, seen: &CaseWindows, gates: Gates, draws: &mut Draws) -> (Answer, usize) {
    for seconds in LOOKS {
        let said = decide_once(case, seen, seconds, gates, draws);
        if said != Answer::Inconclusive {
            return (said, seconds);
        }
    }
    (Answer::Inconclusive, LOOKS[LOOKS.len() - 1])
}

/// Evidence on one candidate in a look.
struct Evidence {
    share: f64,
    share_low: f64,
    share_high: f64,
    residual_low: f64,
    residual_high: f64,
    /// Residuals of the resamples.
    residuals: Vec<f64>,
}

impl Evidence {
    fn passes(&self, gates: Gates) -> bool {
        self.share_low > SHARE_LOW && SHARE.contains(&self.share) && self.residual_high < gates.residual
    }

    fn is_struck_out(&self, gates: Gates) -> bool {
        self.share_high < SHARE.start || self.residual_low > gates.residual
    }
}

fn decide_once(case: &Case, seen: &CaseWindows, seconds: usize, gates: Gates, draws: &mut Draws) -> Answer {
    let rho = f64::midpoint(seen.normal.rho(seconds), seen.anomaly.rho(seconds));
    if seconds as f64 * (1.0 - rho) / (1.0 + rho) < LEAST_EFFECTIVE {
        return Answer::Inconclusive;
    }
    let block = (1.5 * (1.0 + rho) / (1.0 - rho)).ceil() as usize;
    let resample = |window: &Window, draws: &mut Draws| window.resample(seconds, block, RESAMPLES, draws);
    let a = Shift::new(&seen.normal, &seen.anomaly, seconds, resample, draws);
    let evidence: Vec<Evidence> = (0..case.candidates.len())
        .map(|at| {
            let c = Shift::new(&seen.before[at], &seen.under[at], seconds, resample, draws);
            a.against(&c, case.candidates[at].direct)
        })
        .collect();
    let struck: Vec<bool> = evidence.iter().map(|one| one.is_struck_out(gates)).collect();
    let mut passing: Vec<usize> = (0..evidence.len()).filter(|at| evidence[*at].passes(gates)).collect();
    passing.sort_by(|x, y| evidence[*x].residual_high.total_cmp(&evidence[*y].residual_high));
    let mut fell = 0;
    for leader in passing {
        let rivals = (0..evidence.len()).filter(|at| *at != leader && !struck[*at]);
        let separated = rivals.clone().all(|rival| {
            let pairs = evidence[leader].residuals.iter().zip(&evidence[rival].residuals);
            pairs.filter(|(ours, theirs)| ours < theirs).count() as f64 >= SEPARATED * RESAMPLES as f64
        });
        if !separated {
            return Answer::Inconclusive;
        }
        if !gates.removal || removal_helps(&a, &seen.removed[leader], seconds, resample, draws) {
            return Answer::Cause(leader);
        }
        fell += 1;
    }
    if struck.iter().filter(|one| **one).count() + fell >= evidence.len() {
        return Answer::Unknown;
    }
    Answer::Inconclusive
}

/// The difference of two windows on one host, with its resamples.
struct Shift {
    mean: Point,
    resamples: Vec<Point>,
    later: Vec<Point>,
    later_mean: Point,
}

impl Shift {
    fn new(
        earlier: &Window,
        later: &Window,
        seconds: usize,
        resample: impl Fn(&Window, &mut Draws) -> Vec<Point>,
        draws: &mut Draws,
    ) -> Self {
        let minus = |a: &Point, b: &Point| -> Point { std::array::from_fn(|at| a[at] - b[at]) };
        let (before, after) = (resample(earlier, draws), resample(later, draws));
        let later_mean = later.mean(seconds);
        Self {
            mean: minus(&later_mean, &earlier.mean(seconds)),
            resamples: after.iter().zip(&before).map(|(a, b)| minus(a, b)).collect(),
            later: after,
            later_mean,
        }
    }

    /// Compare this anomaly with a candidate's shift. The metric that the experiment sets directly shows that
    /// the dose arrived, and is no evidence.
    fn against(&self, other: &Self, direct: usize) -> Evidence {
        let energy = |point: &Point| -> f64 {
            (0..METRICS.len()).filter(|at| *at != direct).map(|at| point[at].powi(2)).sum()
        };
        let minus = |a: &Point, b: &Point| -> Point { std::array::from_fn(|at| a[at] - b[at]) };
        let gaps: Vec<Point> =
            self.resamples.iter().zip(&other.resamples).map(|(a, c)| minus(a, c)).collect();
        let gap = minus(&self.mean, &other.mean);
        let times = gaps.len() as f64;
        // Noise adds to a squared length, once for the mean and twice for a resample.
        let noise = |points: &[Point], mean: &Point| -> f64 {
            points.iter().map(|point| energy(&minus(point, mean))).sum::<f64>() / times
        };
        let (of_gap, of_a) = (noise(&gaps, &gap), noise(&self.resamples, &self.mean));
        let relative = |gap: f64, a: f64| (gap.max(0.0) / a.max(1e-9)).sqrt();
        let residuals: Vec<f64> = gaps
            .iter()
            .zip(&self.resamples)
            .map(|(gap, a)| relative(energy(gap) - 2.0 * of_gap, energy(a) - 2.0 * of_a))
            .collect();
        let shares = sort(other.resamples.iter().zip(&self.resamples).map(|(c, a)| c[P99] / a[P99]));
        let ordered = sort(residuals.iter().copied());
        Evidence {
            share: other.mean[P99] / self.mean[P99],
            share_low: at_level(&shares, ALPHA),
            share_high: at_level(&shares, 1.0 - ALPHA),
            residual_low: at_level(&ordered, ALPHA),
            residual_high: at_level(&ordered, 1.0 - ALPHA),
            residuals,
        }
    }
}

/// Whether the sick host's p99 recovers significantly by more than the smallest fraction without the leader.
fn removal_helps(
    a: &Shift,
    removed: &Window,
    seconds: usize,
    resample: impl Fn(&Window, &mut Draws) -> Vec<Point>,
    draws: &mut Draws,
) -> bool {
    let without = resample(removed, draws);
    let shares = a
        .later
        .iter()
        .zip(&without)
        .zip(&a.resamples)
        .map(|((with, without), shift)| (with[P99] - without[P99]) / shift[P99]);
    let back = a.later_mean[P99] - removed.mean(seconds)[P99];
    back > SHARE_LOW * a.mean[P99] && at_level(&sort(shares), ALPHA) > SHARE_LOW
}

fn sort(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut all: Vec<f64> = values.collect();
    all.sort_unstable_by(f64::total_cmp);
    all
}

fn at_level(ordered: &[f64], level: f64) -> f64 {
    ordered[((ordered.len() - 1) as f64 * level).round() as usize]
}
