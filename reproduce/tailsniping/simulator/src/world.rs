//! The data centre: different hosts, metrics with autocorrelated noise, causes with a signature each.
//!
//! All values are in standard deviations of a metric's own noise. A cause moves a few metrics of its own, one of
//! which its experiment sets directly, and, in proportion to its damage, a direction that all causes share: a slow
//! server looks slow, whatever the reason.
//!
//! ```text
//!   sick host:        N normal | A anomaly | R with the leader removed
//!   experiment host:  Nc before | C under a candidate's dose       (a window each a candidate)
//! ```

use crate::draws::Draws;
use crate::metrics::{Point, ALL, METRICS, P50, P99};
use crate::series::Window;

/// The dissertation's seven causes, each with the metric that its experiment sets.
pub const CAUSES: [(&str, usize); 7] = [
    ("interference", 19),
    ("NUMA locality", 21),
    ("thread-to-core mapping", 8),
    ("frequency", 6),
    ("interrupts", 5),
    ("network saturation", 4),
    ("load", 0),
];

/// Hosts differ even if their machines are identical: standard deviation of a host's offset.
const HOSTS_DIFFER: f64 = 0.25;
/// Standard deviation of a dose with mean 1.
const DOSE_ERROR: f64 = 0.1;
/// Fraction of wrong candidates that were absent during the anomaly, so that their dose is zero.
const ABSENT: f64 = 0.6;
/// Number of metrics that a cause moves in addition to its direct one.
const OWN: usize = 4;
/// Number of metrics that move with any slowness.
const SYMPTOMS: usize = 6;
/// Length of the common direction, relative to the damage.
const SYMPTOMATIC: f64 = 0.8;
/// Damage to p50 relative to the damage to p99.
const MEDIAN_OF_TAIL: f64 = 0.6;
/// Number of factors behind the cross-correlation, and their fraction of the variance.
const FACTORS: usize = 3;
const SHARED: f64 = 0.3;

/// A suspect.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    /// Whether it is the true cause.
    pub(crate) is_cause: bool,
    /// The metric that its experiment sets.
    pub(crate) direct: usize,
    /// Its effect in its experiment.
    pub(crate) shift: Point,
}

/// The kind of trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Situation {
    /// Autocorrelation per second.
    pub(crate) rho: f64,
    /// Whether the true cause is among the candidates.
    pub(crate) monitored: bool,
    /// Cosine between the true cause's shift and a look-alike's, if there is one.
    pub(crate) look_alike: Option<f64>,
}

/// One anomaly, with everything that can be observed about it.
pub(crate) struct Case {
    situation: Situation,
    loadings: [[f64; FACTORS]; ALL],
    sick: Point,
    twin: Point,
    shift: Point,
    /// Index of its cause.
    pub(crate) cause: usize,
    pub(crate) candidates: Vec<Candidate>,
}

/// A window of a case.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Arm {
    /// The sick host before the anomaly.
    Normal,
    /// The sick host during the anomaly.
    Anomaly,
    /// The experiment host just before a candidate's experiment.
    Before,
    /// The experiment host during a candidate's experiment.
    Under(usize),
    /// The sick host with a candidate removed.
    Removed(usize),
}

impl Case {
    pub(crate) fn draw(situation: Situation, draws: &mut Draws) -> Self {
        let mut loadings = [[0.0; FACTORS]; ALL];
        for row in &mut loadings {
            let raw: [f64; FACTORS] = std::array::from_fn(|_| draws.normal());
            let norm = raw.iter().map(|x| x * x).sum::<f64>().sqrt();
            *row = raw.map(|x| x / norm * f64::sqrt(SHARED));
        }
        let offsets = |draws: &mut Draws| -> Point { std::array::from_fn(|_| draws.normal() * HOSTS_DIFFER) };
        let (sick, twin) = (offsets(draws), offsets(draws));
        let symptoms = symptoms(draws);
        let cause = draws.below(CAUSES.len());
        let signatures: Vec<Point> =
            CAUSES.iter().map(|(_, direct)| signature(*direct, &symptoms, draws)).collect();
        let shift = signatures[cause];
        let mut candidates = Vec::new();
        for (at, (_, direct)) in CAUSES.iter().enumerate() {
            let dose = if at == cause {
                1.0 + DOSE_ERROR * draws.normal()
            } else if draws.unit() < ABSENT {
                0.0
            } else {
                draws.between(0.1, 0.7)
            };
            if at != cause || situation.monitored {
                let shift = signatures[at].map(|x| x * dose);
                candidates.push(Candidate { is_cause: at == cause, direct: *direct, shift });
            }
        }
        if let Some(cosine) = situation.look_alike {
            candidates.push(look_alike(&shift, cosine, draws));
        }
        Self { situation, loadings, sick, twin, shift, cause, candidates }
    }

    /// Return a window of this many seconds.
    pub(crate) fn window(&self, arm: Arm, seconds: usize, draws: &mut Draws) -> Window {
        let level: Point = match arm {
            Arm::Normal => self.sick,
            Arm::Before => self.twin,
            Arm::Under(candidate) => plus(&self.twin, &self.candidates[candidate].shift),
            Arm::Removed(candidate) if self.candidates[candidate].is_cause => self.sick,
            Arm::Anomaly | Arm::Removed(_) => plus(&self.sick, &self.shift),
        };
        let rho = self.situation.rho;
        let fresh = (1.0 - rho * rho).sqrt();
        // AR(1) processes: one for each factor, one for the rest of each metric.
        let mut factors: [f64; FACTORS] = std::array::from_fn(|_| draws.normal());
        let mut rest: Point = std::array::from_fn(|_| draws.normal());
        let mut rows = Vec::with_capacity(seconds);
        for _ in 0..seconds {
            for factor in &mut factors {
                *factor = rho * *factor + fresh * draws.normal();
            }
            for one in &mut rest {
                *one = rho * *one + fresh * draws.normal();
            }
            rows.push(std::array::from_fn(|at| {
                let common: f64 = self.loadings[at].iter().zip(&factors).map(|(a, b)| a * b).sum();
                level[at] + common + rest[at] * f64::sqrt(1.0 - SHARED)
            }));
        }
        Window::new(rows)
    }
}

fn symptoms(draws: &mut Draws) -> Point {
    let mut point = [0.0; ALL];
    for at in draws.some_of(METRICS.len(), SYMPTOMS) {
        point[at] = draws.sign() * SYMPTOMATIC / f64::sqrt(SYMPTOMS as f64);
    }
    point
}

/// Return the shift of a cause at dose 1.
fn signature(direct: usize, symptoms: &Point, draws: &mut Draws) -> Point {
    let damage = draws.between(2.0, 4.0);
    let mut point = symptoms.map(|x| x * damage);
    point[direct] += draws.sign() * draws.between(1.0, 3.0);
    for at in draws.some_of(METRICS.len(), OWN) {
        point[at] += draws.sign() * draws.between(1.0, 3.0);
    }
    point[P99] = damage;
    point[P50] = MEDIAN_OF_TAIL * damage;
    point
}

/// Return a look-alike with the same damage and length of shift, at the given angle to it.
fn look_alike(shift: &Point, cosine: f64, draws: &mut Draws) -> Candidate {
    let metrics = |point: &Point| point[..METRICS.len()].iter().map(|x| x * x).sum::<f64>().sqrt();
    let length = metrics(shift);
    let mut across: Point = std::array::from_fn(|at| if at < METRICS.len() { draws.normal() } else { 0.0 });
    let along: f64 =
        across[..METRICS.len()].iter().zip(shift).map(|(a, b)| a * b).sum::<f64>() / (length * length);
    for at in 0..METRICS.len() {
        across[at] -= along * shift[at];
    }
    let norm = metrics(&across);
    let sine = (1.0 - cosine * cosine).sqrt();
    let mut point = *shift;
    for at in 0..METRICS.len() {
        point[at] = cosine * shift[at] + sine * length * across[at] / norm;
    }
    // A metric that no cause sets directly.
    let direct = 10 + draws.below(4);
    Candidate { is_cause: false, direct, shift: point }
}

fn plus(a: &Point, b: &Point) -> Point {
    std::array::from_fn(|at| a[at] + b[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn situation(look_alike: Option<f64>) -> Situation {
        Situation { rho: 0.6, monitored: false, look_alike }
    }

    #[test]
    fn a_look_alike_has_the_requested_angle_and_the_same_damage() {
        for trial in 0..20 {
            let case = Case::draw(situation(Some(0.8)), &mut Draws::new(1, 0, trial));
            let twin = &case.candidates.last().unwrap().shift;
            let dot = |a: &Point, b: &Point| a[..24].iter().zip(&b[..24]).map(|(x, y)| x * y).sum::<f64>();
            let cosine = dot(twin, &case.shift) / (dot(twin, twin) * dot(&case.shift, &case.shift)).sqrt();
            assert!((cosine - 0.8).abs() < 1e-9, "{cosine}");
            assert!((twin[P99] - case.shift[P99]).abs() < 1e-12);
        }
    }

    #[test]
    fn an_unmonitored_cause_is_not_a_candidate() {
        let case = Case::draw(situation(None), &mut Draws::new(1, 0, 0));
        assert_eq!(case.candidates.len(), CAUSES.len() - 1);
        assert!(case.candidates.iter().all(|one| !one.is_cause));
    }

    #[test]
    fn noise_has_the_requested_autocorrelation_and_unit_variance() {
        let mut draws = Draws::new(3, 0, 0);
        let case = Case::draw(situation(None), &mut draws);
        let window = case.window(Arm::Normal, 40_000, &mut draws);
        assert!((window.rho(40_000) - 0.6).abs() < 0.02, "{}", window.rho(40_000));
        let variance = window.variances(40_000);
        assert!(variance.iter().all(|one| (one - 1.0).abs() < 0.08), "{variance:?}");
    }

    #[test]
    fn only_removing_the_cause_restores_the_tail() {
        let mut draws = Draws::new(5, 0, 0);
        let asked = Situation { monitored: true, ..situation(None) };
        let case = Case::draw(asked, &mut draws);
        let normal = case.window(Arm::Normal, 5_000, &mut draws).mean(5_000)[P99];
        for (at, candidate) in case.candidates.iter().enumerate() {
            let left = case.window(Arm::Removed(at), 5_000, &mut draws).mean(5_000)[P99] - normal;
            assert_eq!(left < 0.5, candidate.is_cause, "{left}");
        }
    }
}
