//! Algorithm 1: choose the class, or classes, on whose servers a job should run.

use serde::{Deserialize, Serialize};

use crate::error::HarvestError;
use crate::jobs::Length;
use crate::pattern::Pattern;
use crate::sequence::Sequence;

/// The current state of one class.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct ClassState {
    /// Pattern of its tenants' utilisation.
    pub pattern: Pattern,
    /// Their mean utilisation in the window.
    pub mean: f64,
    /// Their peak utilisation in the window.
    pub peak: f64,
    /// Their utilisation now.
    pub now: f64,
    /// Total capacity, in the unit of the jobs' requests (cores, containers).
    pub capacity: f64,
}

/// Rank of patterns by length of job: `[length][pattern]`, in the order of their enums.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Weights(pub [[f64; 3]; 3]);

impl Default for Weights {
    /// The paper gives only the order; here each rank weighs three times the next.
    fn default() -> Self {
        Self([[3.0, 1.0, 9.0], [9.0, 3.0, 1.0], [3.0, 9.0, 1.0]])
    }
}

/// A job to place.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Job {
    /// Length by its last run.
    pub length: Length,
    /// The most that it uses at once, from its DAG.
    pub wants: f64,
}

/// Return the share of a class that a job of a length can count on.
pub fn headroom(length: Length, state: &ClassState) -> f64 {
    let used = match length {
        Length::Short => state.now,
        Length::Medium => state.mean.max(state.now),
        Length::Long => state.peak.max(state.now),
    };
    (1.0 - used).max(0.0)
}

/// Choose classes for a job: one that can hold it, else several that can hold it together, else none.
pub fn select(
    job: &Job,
    states: &[ClassState],
    weights: &Weights,
    random: &mut Sequence,
) -> Result<Vec<usize>, HarvestError> {
    if !job.wants.is_finite() || job.wants < 0.0 {
        return Err(HarvestError::Range { name: "wants of a job", value: job.wants, range: "0 and above" });
    }
    let free: Vec<f64> = states.iter().map(|state| headroom(job.length, state) * state.capacity).collect();
    let weight = |at: usize| free[at] * weights.0[job.length as usize][states[at].pattern as usize];
    let weighted = |fits: &dyn Fn(usize) -> bool| -> Vec<f64> {
        (0..states.len()).map(|at| if fits(at) { weight(at) } else { 0.0 }).collect()
    };
    if let Some(one) = random.weighted(&weighted(&|at| free[at] >= job.wants)) {
        return Ok(vec![one]);
    }
    if free.iter().sum::<f64>() < job.wants {
        return Ok(Vec::new());
    }
    let (mut picked, mut sum) = (Vec::new(), 0.0);
    while sum < job.wants {
        let Some(next) = random.weighted(&weighted(&|at| !picked.contains(&at))) else { break };
        sum += free[next];
        picked.push(next);
    }
    Ok(picked)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(pattern: Pattern, now: f64, capacity: f64) -> ClassState {
        ClassState { pattern, mean: 0.4, peak: 0.8, now, capacity }
    }

    fn states() -> Vec<ClassState> {
        vec![
            state(Pattern::Periodic, 0.2, 100.0),
            state(Pattern::Constant, 0.2, 100.0),
            state(Pattern::Unpredictable, 0.2, 100.0),
        ]
    }

    #[test]
    fn headroom_uses_more_history_for_longer_jobs() {
        let check = |length, now, expected: f64| {
            let actual = headroom(length, &state(Pattern::Periodic, now, 1.0));
            assert!((actual - expected).abs() < 1e-12, "{length:?} at {now}: {actual}");
        };
        for (now, short, medium, long) in [(0.2, 0.8, 0.6, 0.2), (0.5, 0.5, 0.5, 0.2), (0.9, 0.1, 0.1, 0.1)] {
            check(Length::Short, now, short);
            check(Length::Medium, now, medium);
            check(Length::Long, now, long);
        }
        check(Length::Long, 1.2, 0.0);
    }

    #[test]
    fn each_length_prefers_its_pattern_in_proportion_to_rank() {
        let order = [(Length::Short, [3, 1, 9]), (Length::Medium, [9, 3, 1]), (Length::Long, [3, 9, 1])];
        for (length, ranks) in order {
            let mut random = Sequence::new(7);
            let mut counts = [0.0; 3];
            for _ in 0..13_000 {
                let selected =
                    select(&Job { length, wants: 10.0 }, &states(), &Weights::default(), &mut random);
                counts[selected.unwrap()[0]] += 1.0;
            }
            for (count, rank) in counts.iter().zip(ranks) {
                // Five standard errors.
                assert!((count - f64::from(rank) * 1000.0).abs() < 290.0, "{length:?}: {counts:?}");
            }
        }
    }

    #[test]
    fn a_wide_job_gets_several_classes_and_a_too_wide_one_gets_none() {
        let select = |wants| {
            let job = Job { length: Length::Short, wants };
            select(&job, &states(), &Weights::default(), &mut Sequence::new(3)).unwrap()
        };
        assert_eq!(select(80.0).len(), 1);
        assert_eq!(select(81.0).len(), 2);
        let mut all = select(200.0);
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2]);
        assert!(select(241.0).is_empty());
    }

    #[test]
    fn no_class_is_chosen_without_classes_or_with_an_invalid_job() {
        let mut random = Sequence::new(1);
        let job = Job { length: Length::Short, wants: 1.0 };
        assert!(select(&job, &[], &Weights::default(), &mut random).unwrap().is_empty());
        let wrong = Job { length: Length::Short, wants: f64::NAN };
        assert!(select(&wrong, &states(), &Weights::default(), &mut random).is_err());
    }
}
