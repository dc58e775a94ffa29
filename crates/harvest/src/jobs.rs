//! Length of a job, predicted from the duration of its last run.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::classify::Class;
use crate::pattern::Pattern;

/// Three rough types of length.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Length {
    /// The job ends before utilisation changes.
    Short,
    /// Between short and long, or unknown.
    Medium,
    /// The job runs long enough to meet every peak.
    Long,
}

/// Durations that separate short, medium and long jobs, in seconds.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Thresholds {
    /// Jobs below this duration are short.
    pub short_below_s: f64,
    /// Jobs above this duration are long.
    pub long_above_s: f64,
}

impl Default for Thresholds {
    /// The values of the paper's test bed.
    fn default() -> Self {
        Self { short_below_s: 173.0, long_above_s: 433.0 }
    }
}

impl Thresholds {
    /// Return the type of a job by the duration of its last run; a job that never ran is medium.
    pub fn length(&self, last_s: Option<f64>) -> Length {
        match last_s {
            Some(s) if s < self.short_below_s => Length::Short,
            Some(s) if s > self.long_above_s => Length::Long,
            _ => Length::Medium,
        }
    }
}

/// One past run of a job.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Run {
    /// Duration of the run.
    pub duration_s: f64,
    /// Work done, in core seconds.
    pub core_s: f64,
}

/// Learn thresholds from past runs. Each type's work becomes proportional to the free capacity of the pattern
/// that it prefers: constant for long jobs, periodic for medium, unpredictable for short. Return None without
/// runs or capacity.
pub fn learn_thresholds(runs: &[Run], classes: &[Class]) -> Option<Thresholds> {
    let free = |pattern| {
        let own = classes.iter().filter(|class| class.pattern == pattern);
        own.map(|class| class.servers * (1.0 - class.mean).max(0.0)).sum::<f64>()
    };
    let capacity = [Pattern::Unpredictable, Pattern::Periodic, Pattern::Constant].map(free);
    let mut runs: Vec<Run> =
        runs.iter().copied().filter(|run| run.duration_s.is_finite() && run.core_s > 0.0).collect();
    let (all, work): (f64, f64) = (capacity.iter().sum(), runs.iter().map(|run| run.core_s).sum());
    if all <= 0.0 || work <= 0.0 {
        return None;
    }
    runs.sort_by(|a, b| a.duration_s.total_cmp(&b.duration_s));
    let until = |share: f64| {
        let mut sum = 0.0;
        let mut after = runs.iter().skip_while(|run| {
            sum += run.core_s;
            sum <= share * work * (1.0 + 1e-12)
        });
        after.next().map_or(f64::INFINITY, |run| run.duration_s)
    };
    let short_below_s = until(capacity[0] / all);
    // Jobs exactly at a threshold are medium.
    let long_above_s = until((capacity[0] + capacity[1]) / all).max(short_below_s);
    Some(Thresholds { short_below_s, long_above_s })
}

/// Duration of the last run of each job.
#[derive(Clone, Debug, Default)]
pub struct LengthMemory {
    last_s: HashMap<String, f64>,
}

impl LengthMemory {
    /// Record the duration of a finished run.
    pub fn record(&mut self, job: &str, duration_s: f64) {
        self.last_s.insert(job.to_owned(), duration_s);
    }

    /// Return the type of a job.
    pub fn length(&self, job: &str, thresholds: &Thresholds) -> Length {
        thresholds.length(self.last_s.get(job).copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_run_decides_the_length_and_unknown_jobs_are_medium() {
        let mut memory = LengthMemory::default();
        let thresholds = Thresholds::default();
        assert_eq!(memory.length("q19", &thresholds), Length::Medium);
        for (duration_s, length) in
            [(10.0, Length::Short), (173.0, Length::Medium), (433.0, Length::Medium), (434.0, Length::Long)]
        {
            memory.record("q19", duration_s);
            assert_eq!(memory.length("q19", &thresholds), length);
        }
    }

    #[test]
    fn learned_thresholds_give_each_type_the_work_of_its_class() {
        let class =
            |pattern, servers| Class { pattern, confidence: 1.0, mean: 0.5, peak: 0.9, tenants: 1, servers };
        let classes = [
            class(Pattern::Periodic, 30.0),
            class(Pattern::Constant, 50.0),
            class(Pattern::Unpredictable, 20.0),
        ];
        let runs: Vec<Run> = (1..=100).map(|i| Run { duration_s: f64::from(i), core_s: 10.0 }).collect();
        let thresholds = learn_thresholds(&runs, &classes).unwrap();
        let count =
            |length| runs.iter().filter(|run| thresholds.length(Some(run.duration_s)) == length).count();
        assert_eq!([Length::Short, Length::Medium, Length::Long].map(count), [20, 31, 49]);
        assert!(learn_thresholds(&[], &classes).is_none());
        assert!(learn_thresholds(&runs, &[]).is_none());
    }
}
