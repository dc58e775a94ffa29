//! Batch jobs on the cores that primary tenants leave: who is killed, and how long jobs take.
//!
//! Time goes in steps. A primary tenant that needs its reserve back kills the youngest tasks of its server, which run
//! again from their beginning. Jobs come as a Poisson process for so many days; then all that came are seen to their
//! end, for as many days again at most.

use serde::{Deserialize, Serialize};

use super::center::Center;
use super::world::World;
use crate::error::HarvestError;
use course::Course;

mod classes;
mod course;
mod tasks;

/// Who chooses servers for tasks.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scheduler {
    /// Aware of primary tenants (reserve and kills), of nothing else: a server that has room is filled, as stock does
    /// when one reports.
    Aware,
    /// Aware, and tasks go to servers in proportion to what is free.
    Balanced,
    /// Algorithm 1: servers of a class chosen by the job's length, in proportion to what is free.
    History,
    /// As `History`, and a server takes no more than its class's past leaves for jobs of that length (its mean, its
    /// peak) while another does, first of the chosen classes, then of any: `HarvestNodeOrder` weighs nodes so.
    Headroom,
}

impl Scheduler {
    /// Whether classes count.
    fn knows_history(self) -> bool {
        matches!(self, Self::History | Self::Headroom)
    }
}

/// What is simulated.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scheduling {
    /// The data center.
    pub center: Center,
    /// Who chooses.
    pub scheduler: Scheduler,
    /// Mean utilisation by primary tenants to which loads are scaled; null: as they are.
    pub utilisation: Option<f64>,
    /// Whether scaled by a root instead of a factor.
    pub root: bool,
    /// Days in which jobs come, after what is history.
    pub days: f64,
    /// Share of all cores that jobs ask for, on average.
    pub demand: f64,
    /// Cores of a server.
    pub cores: u32,
    /// Cores kept for the primary tenant.
    pub reserve: u32,
    /// Seconds of a step.
    pub step_s: f64,
    /// Seconds after which a job whose tasks have no server asks for one more class; null: never, as in the chapter.
    pub patience_s: Option<f64>,
}

impl Default for Scheduling {
    fn default() -> Self {
        Self {
            center: Center { servers: 500, tenants: 100, ..Center::default() },
            scheduler: Scheduler::History,
            utilisation: Some(0.35),
            root: false,
            days: 3.0,
            demand: 0.15,
            cores: 12,
            reserve: 4,
            step_s: 30.0,
            patience_s: None,
        }
    }
}

/// What became of jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Done {
    /// Jobs that finished.
    pub jobs: u64,
    /// Jobs that had not when the simulation ended.
    pub unfinished: u64,
    /// Mean time of all jobs from arrival to end; of unfinished ones until the simulation ended.
    pub mean_job_s: f64,
    /// What they would have taken on servers of their own.
    pub alone_job_s: f64,
    /// Tasks that ran to their end.
    pub tasks: u64,
    /// Tasks killed.
    pub kills: u64,
    /// Share of what batch tasks computed that kills made vain.
    pub vain: f64,
    /// Mean time that a job had tasks without a server.
    pub mean_waiting_s: f64,
    /// Mean share of cores that were used by anybody.
    pub used: f64,
    /// Mean share of cores that primary tenants used.
    pub primary: f64,
}

/// Simulates all jobs.
///
/// # Panics
///
/// Never: a job that runs tasks is there.
pub fn scheduling(world: &World, asked: &Scheduling) -> Result<Done, HarvestError> {
    check(world, asked)?;
    let coming = (asked.days * 86_400.0 / asked.step_s) as usize;
    let mut course = Course::new(world, asked)?;
    let mut steps = 0;
    while steps < coming || (steps < 2 * coming && course.waits()) {
        let now = steps as f64 * asked.step_s;
        steps += 1;
        // Jobs come, and use is told, in the days that were asked for.
        course.step(now, steps <= coming);
    }
    Ok(course.over(steps as f64 * asked.step_s, coming))
}

fn check(world: &World, asked: &Scheduling) -> Result<(), HarvestError> {
    if asked.cores <= asked.reserve {
        let found = f64::from(asked.reserve);
        return Err(HarvestError::Range { what: "reserve", found, range: "0 to less than the cores" });
    }
    if !(asked.step_s > 0.0 && asked.days > 0.0 && asked.demand > 0.0) {
        let found = asked.step_s.min(asked.days).min(asked.demand);
        return Err(HarvestError::Range { what: "step_s, days or demand", found, range: "above 0" });
    }
    world.check_days(asked.days)
}

#[cfg(test)]
mod tests;
