use hindmost_clock::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Arrivals, ParameterError, Process};

/// A schedule of the rate, from the start of the measurement on. Before that, the mean rate applies, so that the
/// warm-up can become steady.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// Pairs of seconds, from 0 on, and a rate in any unit; the mean of the rates is scaled to `rate_per_s`. The rate
    /// is linear between two points; two points at the same second are a step. The schedule repeats after the last
    /// point.
    pub points: Vec<[f64; 2]>,
}

/// Limit of points, about one per second of a day: more points are probably a mistake.
const MAX_POINTS: usize = 100_000;

impl Schedule {
    /// Check what the types cannot express.
    ///
    /// # Errors
    /// [`ParameterError`] for too few or too many points, points that go backwards, or a mean that is not positive.
    pub fn check(&self) -> Result<(), ParameterError> {
        let refuse =
            |value: String, must: &str| Err(ParameterError { field: "points", value, must: must.to_owned() });
        let count = self.points.len();
        if !(2..=MAX_POINTS).contains(&count) {
            return refuse(format!("a list of {count}"), "a list of 2 to 100000 [seconds, rate] pairs");
        }
        if let Some([at, rate]) =
            self.points.iter().find(|[at, rate]| !(at.is_finite() && rate.is_finite() && *rate >= 0.0))
        {
            return refuse(format!("[{at}, {rate}]"), "finite seconds and a rate of at least 0");
        }
        if self.points[0][0] != 0.0 {
            return refuse(self.points[0][0].to_string(), "0 for the first point");
        }
        if let Some(pair) = self.points.windows(2).find(|pair| pair[1][0] < pair[0][0]) {
            return refuse(format!("{} after {}", pair[1][0], pair[0][0]), "in increasing order of time");
        }
        if self.points[count - 1][0] <= 0.0 || self.area() <= 0.0 {
            return refuse(
                format!("{} seconds with an integral of {}", self.points[count - 1][0], self.area()),
                "a positive duration and a positive mean rate",
            );
        }
        Ok(())
    }

    fn area(&self) -> f64 {
        self.points
            .windows(2)
            .map(|pair| (pair[1][0] - pair[0][0]) * f64::midpoint(pair[0][1], pair[1][1]))
            .sum()
    }

    /// Stretch a process in nanoseconds at the mean rate to the rates of this schedule.
    pub(crate) fn stretch(&self, process: Box<dyn Process>) -> Box<dyn Arrivals> {
        let period_s = self.points[self.points.len() - 1][0];
        let scale = period_s / self.area();
        let mut integral = 0.0;
        let mut pieces: Vec<Piece> = Vec::with_capacity(self.points.len());
        for pair in self.points.windows(2) {
            let ([from, low], [to, high]) = (pair[0], pair[1]);
            let (from, length, low, high) = (from * 1e9, (to - from) * 1e9, low * scale, high * scale);
            if length > 0.0 {
                pieces.push(Piece { from, length, low, high, integral });
                integral += length * f64::midpoint(low, high);
            }
        }
        Box::new(ScheduledArrivals {
            process,
            pieces,
            period: period_s * 1e9,
            start: f64::INFINITY,
            last: 0.0,
        })
    }
}

/// A piece with linear rate, in multiples of the mean rate and in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Piece {
    from: f64,
    length: f64,
    low: f64,
    high: f64,
    /// Integral of the rate up to its start.
    integral: f64,
}

impl Piece {
    /// Return the time at which the integral has grown by `more` since the start of the piece: the root of a quadratic
    /// equation, in a form that stays exact for a nearly constant rate.
    fn time_of(&self, more: f64) -> f64 {
        let bend = (self.high - self.low) / self.length;
        let root = (self.low * self.low + 2.0 * bend * more).max(0.0).sqrt();
        self.from + (2.0 * more / (self.low + root)).min(self.length)
    }
}

/// A change of time scale: an arrival is scheduled when the integral of the rate reaches its time in the steady
/// process.
struct ScheduledArrivals {
    process: Box<dyn Process>,
    pieces: Vec<Piece>,
    period: f64,
    /// Start of the schedule.
    start: f64,
    last: f64,
}

impl ScheduledArrivals {
    #[inline]
    fn time_at(&self, steady: f64) -> f64 {
        // Infinity: a trace has ended.
        if steady <= self.start || steady.is_infinite() {
            return steady;
        }
        let whole = ((steady - self.start) / self.period).floor() * self.period;
        let rest = steady - self.start - whole;
        let piece = &self.pieces[self.pieces.partition_point(|one| one.integral <= rest) - 1];
        self.start + whole + piece.time_of(rest - piece.integral)
    }
}

impl Arrivals for ScheduledArrivals {
    #[inline]
    fn next_scheduled(&mut self) -> Nanos {
        // A time drawn before the start was set may be after it.
        let steady = self.process.next();
        self.last = self.time_at(steady).max(self.last);
        Nanos(self.last as u64)
    }

    fn measure_from(&mut self, offset: Nanos) {
        self.start = offset.0 as f64;
    }
}

#[cfg(test)]
mod tests {
    use hindmost_clock::Rate;

    use super::*;
    use crate::{Law, Part, Seeds};

    const START: u64 = 250_000_000;

    fn schedule(points: &[[f64; 2]]) -> Schedule {
        let schedule = Schedule { points: points.to_vec() };
        schedule.check().unwrap();
        schedule
    }

    /// Return the first `count` scheduled times; the schedule starts after a quarter of a second.
    fn scheduled(law: &str, schedule: &Schedule, part: Part, count: usize) -> Vec<u64> {
        let law: Law = serde_json::from_str(law).unwrap();
        let rate = Rate::per_second(10_000.0).unwrap();
        let seeds = Seeds { seed: 4, client: 0, thread: part.index };
        let mut arrivals = law.part_with_schedule(rate, part, seeds, Some(schedule)).unwrap();
        let first = arrivals.next_scheduled().0;
        arrivals.measure_from(Nanos(START));
        std::iter::once(first).chain((1..count).map(|_| arrivals.next_scheduled().0)).collect()
    }

    fn count_between(scheduled: &[u64], from_s: f64, to_s: f64) -> f64 {
        let bounds = [from_s, to_s].map(|s| START + (s * 1e9) as u64);
        scheduled.iter().filter(|&&at| (bounds[0]..bounds[1]).contains(&at)).count() as f64
    }

    #[test]
    fn counts_of_equal_gaps_follow_the_integral_of_the_rate() {
        // Linear from 0.5 to 1.5 of the mean, a step, silence, and a repetition.
        let shape = schedule(&[[0.0, 5.0], [1.0, 15.0], [1.0, 20.0], [2.0, 20.0], [2.0, 0.0], [3.0, 0.0]]);
        let scheduled = scheduled(r#""deterministic""#, &shape, Part::WHOLE, 90_000);
        assert!(scheduled.windows(2).all(|pair| pair[0] <= pair[1]));
        for lap in [0.0, 3.0] {
            for (from, to, share) in [(0.0, 1.0, 1.0), (0.0, 0.5, 0.375), (1.0, 2.0, 2.0), (2.0, 3.0, 0.0)] {
                let found = count_between(&scheduled, lap + from, lap + to);
                assert!((found - share * 10_000.0).abs() <= 2.0, "{from} to {to}: {found}, not {share}");
            }
        }
        let before = scheduled.iter().filter(|&&at| at < START).count();
        assert!((2_499..=2_500).contains(&before), "the mean rate applies before the start: {before}");
    }

    #[test]
    fn a_constant_schedule_changes_nothing() {
        let level = schedule(&[[0.0, 7.0], [2.0, 7.0]]);
        let law: Law = serde_json::from_str(r#"{"kind": "gamma", "shape": 2}"#).unwrap();
        let rate = Rate::per_second(10_000.0).unwrap();
        let mut steady = law.part(rate, Part::WHOLE, Seeds { seed: 4, client: 0, thread: 0 }).unwrap();
        for at in scheduled(r#"{"kind": "gamma", "shape": 2}"#, &level, Part::WHOLE, 50_000) {
            assert!(at.abs_diff(steady.next_scheduled().0) <= 1);
        }
    }

    #[test]
    fn parts_of_a_schedule_are_exact_and_poisson_counts_follow_it() {
        let sine: Vec<[f64; 2]> = (0..=64)
            .map(|i| f64::from(i) / 64.0)
            .map(|x| [2.0 * x, 1.0 + 0.5 * (std::f64::consts::TAU * x).sin()])
            .collect();
        let shape = schedule(&sine);
        let whole = scheduled(r#""pareto""#, &shape, Part::WHOLE, 30_000);
        let mut parts: Vec<u64> = (0..3)
            .flat_map(|index| scheduled(r#""pareto""#, &shape, Part { index, of: 3 }, 10_000))
            .collect();
        parts.sort_unstable();
        assert_eq!(parts, whole);
        let poisson = scheduled(r#""exponential""#, &shape, Part::WHOLE, 60_000);
        // The integral of the rising half is 1 + 2 * 0.5 / pi of the mean.
        let high = 10_000.0 * (1.0 + 1.0 / std::f64::consts::PI);
        let found = count_between(&poisson, 0.0, 1.0);
        assert!((found - high).abs() < 5.0 * high.sqrt(), "{found}, not {high}");
    }

    #[test]
    fn invalid_schedules_are_refused() {
        for points in [
            vec![],
            vec![[0.0, 1.0]],
            vec![[0.0, 1.0], [0.0, 2.0]],
            vec![[1.0, 1.0], [2.0, 1.0]],
            vec![[0.0, 1.0], [2.0, 1.0], [1.0, 1.0]],
            vec![[0.0, 1.0], [1.0, -1.0]],
            vec![[0.0, 0.0], [1.0, 0.0]],
            vec![[0.0, 1.0], [f64::NAN, 1.0]],
        ] {
            assert!(Schedule { points: points.clone() }.check().is_err(), "{points:?}");
        }
    }
}
