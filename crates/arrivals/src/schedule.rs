use hindmost_clock::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Arrivals, Process, Refused};

/// How the rate changes from the start of the measurement on. Before it, the rate is the mean one, so that a warm-up
/// can become steady.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// Pairs of seconds, from 0 on, and a rate in any unit: the mean over all of them is `rate_per_s`. Between two
    /// the rate is linear; two at the same second are a step. After the last it begins again.
    pub points: Vec<[f64; 2]>,
}

/// More are surely not meant: a rate for each second of a day.
const MOST_POINTS: usize = 100_000;

impl Schedule {
    /// Checks what the types cannot.
    ///
    /// # Errors
    /// [`Refused`], for points that are too few or too many, go backwards, or have no positive mean.
    pub fn check(&self) -> Result<(), Refused> {
        let refuse =
            |value: String, must: &str| Err(Refused { field: "points", value, must: must.to_owned() });
        let count = self.points.len();
        if !(2..=MOST_POINTS).contains(&count) {
            return refuse(format!("a list of {count}"), "a list of 2 to 100000 [seconds, rate]");
        }
        if let Some([at, rate]) =
            self.points.iter().find(|[at, rate]| !(at.is_finite() && rate.is_finite() && *rate >= 0.0))
        {
            return refuse(format!("[{at}, {rate}]"), "seconds and a rate that is not negative");
        }
        if self.points[0][0] != 0.0 {
            return refuse(self.points[0][0].to_string(), "from second 0 on");
        }
        if let Some(two) = self.points.windows(2).find(|two| two[1][0] < two[0][0]) {
            return refuse(format!("{} after {}", two[1][0], two[0][0]), "in the order of time");
        }
        if self.points[count - 1][0] <= 0.0 || self.area() <= 0.0 {
            return refuse(
                format!("{} seconds with {} in all", self.points[count - 1][0], self.area()),
                "some time with some rate",
            );
        }
        Ok(())
    }

    fn area(&self) -> f64 {
        self.points.windows(2).map(|two| (two[1][0] - two[0][0]) * f64::midpoint(two[0][1], two[1][1])).sum()
    }

    /// That process, whose moments are nanoseconds at the mean rate, at the rates of this schedule.
    pub(crate) fn stretch(&self, process: Box<dyn Process>) -> Box<dyn Arrivals> {
        let period_s = self.points[self.points.len() - 1][0];
        let scale = period_s / self.area();
        let mut done = 0.0;
        let mut pieces: Vec<Piece> = Vec::with_capacity(self.points.len());
        for two in self.points.windows(2) {
            let ([from, low], [to, high]) = (two[0], two[1]);
            let (from, length, low, high) = (from * 1e9, (to - from) * 1e9, low * scale, high * scale);
            if length > 0.0 {
                pieces.push(Piece { from, length, low, high, done });
                done += length * f64::midpoint(low, high);
            }
        }
        Box::new(Stretched { process, pieces, period: period_s * 1e9, begins: f64::INFINITY, last: 0.0 })
    }
}

/// A stretch of linear rate, in shares of the mean rate and nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Piece {
    from: f64,
    length: f64,
    low: f64,
    high: f64,
    /// The integral of the rate up to it.
    done: f64,
}

impl Piece {
    /// When the integral has grown by `more` since its start: the root of a square equation, written so that a rate
    /// that hardly changes loses no digits.
    fn reaches(&self, more: f64) -> f64 {
        let bend = (self.high - self.low) / self.length;
        let root = (self.low * self.low + 2.0 * bend * more).max(0.0).sqrt();
        self.from + (2.0 * more / (self.low + root)).min(self.length)
    }
}

/// A change of time: what is due where the integral of the rate reaches a moment of the steady process.
struct Stretched {
    process: Box<dyn Process>,
    pieces: Vec<Piece>,
    period: f64,
    /// When the schedule begins.
    begins: f64,
    last: f64,
}

impl Stretched {
    #[inline]
    fn at(&self, steady: f64) -> f64 {
        // Nothing is due any more where a trace has ended.
        if steady <= self.begins || steady.is_infinite() {
            return steady;
        }
        let whole = ((steady - self.begins) / self.period).floor() * self.period;
        let rest = steady - self.begins - whole;
        let piece = &self.pieces[self.pieces.partition_point(|one| one.done <= rest) - 1];
        self.begins + whole + piece.reaches(rest - piece.done)
    }
}

impl Arrivals for Stretched {
    #[inline]
    fn next_due(&mut self) -> Nanos {
        // What was drawn before the beginning was known may lie after it.
        let steady = self.process.next();
        self.last = self.at(steady).max(self.last);
        Nanos(self.last as u64)
    }

    fn measure_from(&mut self, offset: Nanos) {
        self.begins = offset.0 as f64;
    }
}

#[cfg(test)]
mod tests {
    use hindmost_clock::Rate;

    use super::*;
    use crate::{Law, Part, Seeds};

    const BEGINS: u64 = 250_000_000;

    fn schedule(points: &[[f64; 2]]) -> Schedule {
        let schedule = Schedule { points: points.to_vec() };
        schedule.check().unwrap();
        schedule
    }

    /// Due times in [0, 1.25 + `seconds`): a quarter of a second before the schedule begins.
    fn due(law: &str, schedule: &Schedule, part: Part, count: usize) -> Vec<u64> {
        let law: Law = serde_json::from_str(law).unwrap();
        let rate = Rate::per_second(10_000.0).unwrap();
        let seeds = Seeds { seed: 4, instance: 0, thread: part.index };
        let mut arrivals = law.scheduled(rate, part, seeds, Some(schedule)).unwrap();
        let first = arrivals.next_due().0;
        arrivals.measure_from(Nanos(BEGINS));
        std::iter::once(first).chain((1..count).map(|_| arrivals.next_due().0)).collect()
    }

    fn counted(due: &[u64], from_s: f64, to_s: f64) -> f64 {
        let bounds = [from_s, to_s].map(|s| BEGINS + (s * 1e9) as u64);
        due.iter().filter(|&&at| (bounds[0]..bounds[1]).contains(&at)).count() as f64
    }

    #[test]
    fn equal_gaps_are_counted_as_the_integral_of_the_rate_says() {
        // Linear from 0.5 to 1.5 of the mean, a step down, silence, and again.
        let shape = schedule(&[[0.0, 5.0], [1.0, 15.0], [1.0, 20.0], [2.0, 20.0], [2.0, 0.0], [3.0, 0.0]]);
        let due = due(r#""deterministic""#, &shape, Part::WHOLE, 90_000);
        assert!(due.windows(2).all(|two| two[0] <= two[1]));
        for lap in [0.0, 3.0] {
            for (from, to, share) in [(0.0, 1.0, 1.0), (0.0, 0.5, 0.375), (1.0, 2.0, 2.0), (2.0, 3.0, 0.0)] {
                let found = counted(&due, lap + from, lap + to);
                assert!((found - share * 10_000.0).abs() <= 2.0, "{from} to {to}: {found}, not {share}");
            }
        }
        let before = due.iter().filter(|&&at| at < BEGINS).count();
        assert!((2_499..=2_500).contains(&before), "the mean rate before it begins: {before}");
    }

    #[test]
    fn a_level_schedule_changes_nothing() {
        let level = schedule(&[[0.0, 7.0], [2.0, 7.0]]);
        let law: Law = serde_json::from_str(r#"{"kind": "gamma", "shape": 2}"#).unwrap();
        let rate = Rate::per_second(10_000.0).unwrap();
        let mut steady = law.part(rate, Part::WHOLE, Seeds { seed: 4, instance: 0, thread: 0 }).unwrap();
        for at in due(r#"{"kind": "gamma", "shape": 2}"#, &level, Part::WHOLE, 50_000) {
            assert!(at.abs_diff(steady.next_due().0) <= 1);
        }
    }

    #[test]
    fn workers_share_a_schedule_to_the_bit_and_poisson_counts_follow_it() {
        let sine: Vec<[f64; 2]> = (0..=64)
            .map(|i| f64::from(i) / 64.0)
            .map(|x| [2.0 * x, 1.0 + 0.5 * (std::f64::consts::TAU * x).sin()])
            .collect();
        let shape = schedule(&sine);
        let whole = due(r#""pareto""#, &shape, Part::WHOLE, 30_000);
        let mut parts: Vec<u64> =
            (0..3).flat_map(|index| due(r#""pareto""#, &shape, Part { index, of: 3 }, 10_000)).collect();
        parts.sort_unstable();
        assert_eq!(parts, whole);
        let poisson = due(r#""exponential""#, &shape, Part::WHOLE, 60_000);
        // The integral of the rising half is 1 + 2 * 0.5 / pi of the mean.
        let high = 10_000.0 * (1.0 + 1.0 / std::f64::consts::PI);
        let found = counted(&poisson, 0.0, 1.0);
        assert!((found - high).abs() < 5.0 * high.sqrt(), "{found}, not {high}");
    }

    #[test]
    fn what_is_no_schedule_is_refused() {
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
