//! What batch jobs are: stages that wait for each other, each of tasks of one core.

use crate::sequence::Sequence;

/// Kinds of jobs: as many as the queries of the paper's test bed.
pub(super) const KINDS: usize = 52;

/// A kind of job.
pub(super) struct Kind {
    /// Tasks of a stage.
    pub(super) width: usize,
    /// Stages, one after the other.
    pub(super) stages: usize,
    /// What each task takes.
    pub(super) task_s: f64,
}

/// Widths up to hundreds and lengths from a minute to three quarters of an hour, both by powers.
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

/// A job that is not over.
pub(super) struct Running {
    pub(super) kind: usize,
    /// When it came.
    pub(super) since: f64,
    /// Stages that are over.
    pub(super) stage: usize,
    /// Tasks of its stage that have no server.
    pub(super) waiting: usize,
    /// Tasks that run.
    pub(super) active: usize,
    /// Classes that it may use; all servers where there are none.
    pub(super) classes: Vec<usize>,
    /// Seconds that tasks of it have had no server since classes were last chosen; None before that.
    pub(super) waited_s: Option<f64>,
}

impl Running {
    /// A job of a kind that came just now.
    pub(super) fn new(kind: usize, since: f64, width: usize) -> Self {
        Self { kind, since, stage: 0, waiting: width, active: 0, classes: Vec::new(), waited_s: None }
    }
}

/// A task on a server.
pub(super) struct Task {
    /// Whose.
    pub(super) job: usize,
    /// When it began.
    pub(super) since: f64,
    /// When it will be over.
    pub(super) end: f64,
}
