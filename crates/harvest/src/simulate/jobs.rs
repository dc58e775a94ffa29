//! Batch jobs: consecutive stages of one-core tasks.

use crate::sequence::Sequence;

/// Kinds of jobs: as many as the queries of the paper's test bed.
pub(super) const KINDS: usize = 52;

/// A kind of job.
pub(super) struct Kind {
    /// Tasks per stage.
    pub(super) width: usize,
    /// Number of consecutive stages.
    pub(super) stages: usize,
    /// Duration of each task.
    pub(super) task_s: f64,
}

/// Draw the kinds: widths up to hundreds of tasks, durations from 1 to 45 minutes, both uniform in their logarithm.
pub(super) fn kinds(random: &mut Sequence) -> Vec<Kind> {
    let kind = |random: &mut Sequence| {
        let stages = 1 + random.below(4);
        let job_s = 60.0 * 45.0_f64.powf(random.unit());
        Kind {
            width: 2.0_f64.powf(1.0 + 6.0 * random.unit()) as usize,
            stages,
            task_s: job_s / stages as f64,
        }
    };
    (0..KINDS).map(|_| kind(random)).collect()
}

/// An unfinished job.
pub(super) struct Running {
    pub(super) kind: usize,
    /// Arrival time.
    pub(super) since: f64,
    /// Number of finished stages.
    pub(super) stage: usize,
    /// Tasks of the current stage that wait for a server.
    pub(super) waiting: usize,
    /// Running tasks.
    pub(super) active: usize,
    /// Classes that it may use; empty: all servers.
    pub(super) classes: Vec<usize>,
    /// Seconds in which its tasks waited since classes were last chosen; None before the first choice.
    pub(super) waited_s: Option<f64>,
}

impl Running {
    /// Create a job that arrives now.
    pub(super) fn new(kind: usize, since: f64, width: usize) -> Self {
        Self { kind, since, stage: 0, waiting: width, active: 0, classes: Vec::new(), waited_s: None }
    }
}

/// A task on a server.
pub(super) struct Task {
    /// Number of its job.
    pub(super) job: usize,
    /// Start time.
    pub(super) since: f64,
    /// End time.
    pub(super) end: f64,
}
