//! Simulation of batch jobs on the cores that primary tenants leave: killed tasks, and durations of jobs.
//!
//! Time advances in steps. If a primary tenant needs its reserve, the youngest tasks of its server are killed and run
//! again from their start. Jobs arrive as a Poisson process for a number of days; then the simulation runs until they
//! end, for at most as many days again.

use serde::{Deserialize, Serialize};

use super::center::Center;
use super::world::World;
use crate::error::HarvestError;
use simulation::Simulation;

mod classes;
mod simulation;
mod tasks;

/// How tasks are assigned to servers.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scheduler {
    /// Knows the reserve and kills tasks, nothing else. It fills each server that it looks at, as stock does when a
    /// node reports.
    Aware,
    /// Like `Aware`, but assigns tasks in proportion to free cores.
    Balanced,
    /// Algorithm 1: servers of classes chosen by the job's length, in proportion to free cores.
    History,
    /// Like `History`, but prefers servers whose class history has room for jobs of that length (by the mean or the
    /// peak): first of the chosen classes, then of all. `HarvestNodeOrder` weighs nodes this way.
    Headroom,
}

impl Scheduler {
    /// Whether the scheduler uses classes.
    fn knows_history(self) -> bool {
        matches!(self, Self::History | Self::Headroom)
    }
}

/// Parameters of the simulation.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scheduling {
    /// The data center.
    pub center: Center,
    /// How tasks are assigned.
    pub scheduler: Scheduler,
    /// Mean utilisation by primary tenants to which loads are scaled; null: do not scale.
    pub utilisation: Option<f64>,
    /// Whether to scale by a root instead of a factor.
    pub root: bool,
    /// Days in which jobs arrive, after the history.
    pub days: f64,
    /// Mean share of all cores that jobs need.
    pub demand: f64,
    /// Cores per server.
    pub cores: u32,
    /// Cores kept for the primary tenant.
    pub reserve: u32,
    /// Seconds per step.
    pub step_s: f64,
    /// Seconds after which a job with waiting tasks chooses another class; null: never, as in the chapter.
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

/// Result of the simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Done {
    /// Finished jobs.
    pub jobs: u64,
    /// Jobs unfinished at the end of the simulation.
    pub unfinished: u64,
    /// Mean time of all jobs from arrival to end; unfinished jobs count until the end of the simulation.
    pub mean_job_s: f64,
    /// Mean time that they would take without waiting and kills.
    pub alone_job_s: f64,
    /// Finished tasks.
    pub tasks: u64,
    /// Killed tasks.
    pub kills: u64,
    /// Share of the batch work that kills wasted.
    pub vain: f64,
    /// Mean time in which a job had waiting tasks.
    pub mean_waiting_s: f64,
    /// Mean share of used cores.
    pub used: f64,
    /// Mean share of cores that primary tenants use.
    pub primary: f64,
}

/// Simulate all jobs.
///
/// # Panics
///
/// Never: each task has a job.
pub fn scheduling(world: &World, scenario: &Scheduling) -> Result<Done, HarvestError> {
    check(world, scenario)?;
    let arrival_steps = (scenario.days * 86_400.0 / scenario.step_s) as usize;
    let mut simulation = Simulation::new(world, scenario)?;
    let mut steps = 0;
    while steps < arrival_steps || (steps < 2 * arrival_steps && simulation.has_jobs()) {
        let now = steps as f64 * scenario.step_s;
        steps += 1;
        // Jobs arrive and use is counted only in the given days.
        simulation.step(now, steps <= arrival_steps);
    }
    Ok(simulation.finish(steps as f64 * scenario.step_s, arrival_steps))
}

fn check(world: &World, scenario: &Scheduling) -> Result<(), HarvestError> {
    if scenario.cores <= scenario.reserve {
        let reserve = f64::from(scenario.reserve);
        return Err(HarvestError::Range {
            name: "reserve",
            value: reserve,
            range: "0 to less than the cores",
        });
    }
    if !(scenario.step_s > 0.0 && scenario.days > 0.0 && scenario.demand > 0.0) {
        let least = scenario.step_s.min(scenario.days).min(scenario.demand);
        return Err(HarvestError::Range { name: "step_s, days or demand", value: least, range: "above 0" });
    }
    world.check_days(scenario.days)
}

#[cfg(test)]
mod tests;
