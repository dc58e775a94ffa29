//! How long a job is, by how long it took the last time.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::classify::Class;
use crate::pattern::Pattern;

/// Three rough types; no estimate of a time.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Length {
    /// Over before utilisation changes.
    Short,
    /// In between, or never seen.
    Medium,
    /// Long enough to meet every peak.
    Long,
}

/// Durations in seconds below which a job is short, and above which it is long.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Thresholds {
    /// Shorter than this is short.
    pub short_below_s: f64,
    /// Longer than this is long.
    pub long_above_s: f64,
}

impl Default for Thresholds {
    /// As in the paper's test bed.
    fn default() -> Self {
        Self { short_below_s: 173.0, long_above_s: 433.0 }
    }
}

impl Thresholds {
    /// The type of a job that took so long; one that never ran is medium.
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
    /// How long it took.
    pub duration_s: f64,
    /// What it computed, in core seconds.
    pub core_s: f64,
}

/// Thresholds under which each type computes in proportion to the free capacity of the class that it prefers: long jobs
/// to constant tenants, medium ones to periodic, short ones to unpredictable. None without runs or capacity.
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
    // Jobs at a bound itself are medium.
    let long_above_s = until((capacity[0] + capacity[1]) / all).max(short_below_s);
    Some(Thresholds { short_below_s, long_above_s })
}

/// What each job took the last time.
#[derive(Clone, Debug, Default)]
pub struct LengthMemory {
    last_s: HashMap<String, f64>,
}

impl LengthMemory {
    /// A run is over.
    pub fn ran(&mut self, job: &str, duration_s: f64) {
        self.last_s.insert(job.to_owned(), duration_s);
    }

    /// The type of a job.
    pub fn length(&self, job: &str, thresholds: &Thresholds) -> Length {
        thresholds.length(self.last_s.get(job).copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_what_it_was_the_last_time_and_medium_when_unknown() {
        let mut memory = LengthMemory::default();
        let thresholds = Thresholds::default();
        assert_eq!(memory.length("q19", &thresholds), Length::Medium);
        for (took, length) in
            [(10.0, Length::Short), (173.0, Length::Medium), (433.0, Length::Medium), (434.0, Length::Long)]
        {
            memory.ran("q19", took);
            assert_eq!(memory.length("q19", &thresholds), length);
        }
    }

    #[test]
    fn learnt_thresholds_give_each_type_the_work_of_its_class() {
        let class =
            |pattern, servers| Class { pattern, confidence: 1.0, mean: 0.5, peak: 0.9, tenants: 1, servers };
        let classes = [
            class(Pattern::Periodic, 30.0),
            class(Pattern::Constant, 50.0),
            class(Pattern::Unpredictable, 20.0),
        ];
        let runs: Vec<Run> = (1..=100).map(|i| Run { duration_s: f64::from(i), core_s: 10.0 }).collect();
        let found = learn_thresholds(&runs, &classes).unwrap();
        let count = |length| runs.iter().filter(|run| found.length(Some(run.duration_s)) == length).count();
        assert_eq!([Length::Short, Length::Medium, Length::Long].map(count), [20, 31, 49]);
        assert!(learn_thresholds(&[], &classes).is_none());
        assert!(learn_thresholds(&runs, &[]).is_none());
    }
}
