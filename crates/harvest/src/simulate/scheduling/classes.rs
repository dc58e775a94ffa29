//! Classes of servers: learning them from history, choosing them for a job, and counting their free cores.

use super::super::jobs::Running;
use super::super::world::{Scaling, World};
use super::Scheduling;
use crate::classify::classify;
use crate::error::HarvestError;
use crate::jobs::Length;
use crate::select::{select, ClassState, Job, Weights};
use crate::sequence::Sequence;
use crate::settings::Settings;

/// Learn classes from the history. Return the servers and the state of each class; the reserve counts as used.
pub(super) fn learn_classes(
    scenario: &Scheduling,
    world: &World,
    scaling: &Scaling,
) -> Result<(Vec<Vec<u32>>, Vec<ClassState>), HarvestError> {
    let (slots, slot_hours) = world.history_slots(1.0 / 6.0);
    let own: Vec<usize> =
        (0..world.tenants.len()).filter(|&at| !world.tenants[at].servers.is_empty()).collect();
    let all = world.traces(slots, slot_hours, scaling);
    let traces: Vec<f64> = own.iter().flat_map(|&at| &all[at * slots..(at + 1) * slots]).copied().collect();
    let sizes: Vec<f64> = own.iter().map(|&at| world.tenants[at].servers.len() as f64).collect();
    let classification = classify(
        &traces,
        slots,
        &sizes,
        None,
        &Settings { slot_s: Some(slot_hours * 3600.0), ..Settings::default() },
    )?;
    let mut servers = vec![Vec::new(); classification.classes.len()];
    for (&at, tenant) in own.iter().zip(&classification.tenants) {
        if let Some(class) = tenant.class {
            servers[class].extend(&world.tenants[at].servers);
        }
    }
    let reserve = f64::from(scenario.reserve) / f64::from(scenario.cores);
    let states = classification.classes.iter().map(|class| ClassState {
        pattern: class.pattern,
        mean: class.mean + reserve,
        peak: class.peak + reserve,
        now: class.mean + reserve,
        capacity: class.servers * f64::from(scenario.cores),
    });
    let states = states.collect();
    Ok((servers, states))
}

/// Return the most tasks per server by job length, from the history of its class: the cores outside the reserve for
/// short jobs, what the mean leaves for medium jobs, and what the peak leaves for long jobs.
pub(super) fn task_limits(
    scenario: &Scheduling,
    states: &[ClassState],
    classes: &[Vec<u32>],
    servers: usize,
) -> [Vec<i64>; 3] {
    let mut limits = std::array::from_fn(|_| vec![i64::from(scenario.cores - scenario.reserve); servers]);
    for (state, own) in states.iter().zip(classes) {
        let limit = |past: f64| ((1.0 - past) * f64::from(scenario.cores)).floor() as i64;
        for &server in own {
            limits[Length::Medium as usize][server as usize] = limit(state.mean);
            limits[Length::Long as usize][server as usize] = limit(state.peak);
        }
    }
    limits
}

/// Choose classes for a job, in addition to those that it has.
pub(super) fn choose_classes(
    job: &mut Running,
    length: Length,
    states: &[ClassState],
    members: &Members,
    cores: u32,
    random: &mut Sequence,
) {
    let now =
        |(class, state): (usize, &ClassState)| ClassState { now: members.used_now(class, cores), ..*state };
    let states: Vec<ClassState> = states.iter().enumerate().map(now).collect();
    let request = Job { length, wants: job.waiting as f64 };
    for class in select(&request, &states, &Weights::default(), random).unwrap_or_default() {
        if !job.classes.contains(&class) {
            job.classes.push(class);
        }
    }
}

/// Return whether a job can skip its search in this step: if all servers are full, or if all of its classes are.
pub(super) fn is_full(classes: &[usize], full: &[bool], all_full: bool) -> bool {
    all_full || (!classes.is_empty() && classes.iter().all(|&class| full[class]))
}

/// The servers and the free cores of each class. Cores are counted as tasks start, so that a query does not scan all
/// servers.
pub(super) struct Members {
    servers: Vec<Vec<u32>>,
    class_of: Vec<Option<u32>>,
    pub(super) free: Vec<i64>,
    /// Free cores of all servers, including servers without class.
    pub(super) free_of_all: i64,
}

impl Members {
    pub(super) fn new(classes: Vec<Vec<u32>>, servers: usize) -> Self {
        let mut class_of = vec![None; servers];
        for (class, own) in (0..).zip(&classes) {
            for &server in own {
                class_of[server as usize] = Some(class);
            }
        }
        Self { free: vec![0; classes.len()], free_of_all: 0, servers: classes, class_of }
    }

    /// Count free cores from scratch.
    pub(super) fn count(&mut self, free: &[i64]) {
        for (sum, own) in self.free.iter_mut().zip(&self.servers) {
            *sum = own.iter().map(|&server| free[server as usize].max(0)).sum();
        }
        self.free_of_all = free.iter().map(|&cores| cores.max(0)).sum();
    }

    /// Subtract cores that a task uses.
    pub(super) fn take(&mut self, server: usize, cores: usize) {
        self.free_of_all -= cores as i64;
        if let Some(class) = self.class_of[server] {
            self.free[class as usize] -= cores as i64;
        }
    }

    /// Return the free cores of some classes, or of all servers if the classes are empty.
    pub(super) fn free_of(&self, classes: &[usize]) -> i64 {
        match self.count_of(classes) {
            Some(_) => classes.iter().map(|&class| self.free[class]).sum(),
            None => self.free_of_all,
        }
    }

    /// Return the number of servers of some classes; None if they have none, which stands for all servers.
    pub(super) fn count_of(&self, classes: &[usize]) -> Option<usize> {
        Some(classes.iter().map(|&class| self.servers[class].len()).sum()).filter(|&count| count > 0)
    }

    /// Return a server of some classes by its position among them; without classes, by its number.
    pub(super) fn server_at(&self, classes: &[usize], mut place: usize) -> usize {
        for &class in classes {
            match self.servers[class].get(place) {
                Some(&server) => return server as usize,
                None => place -= self.servers[class].len(),
            }
        }
        place
    }

    /// Return the share of a class's cores that are not available: used by primary tenants or jobs, or reserved.
    fn used_now(&self, class: usize, cores: u32) -> f64 {
        1.0 - self.free[class] as f64 / (self.servers[class].len().max(1) as f64 * f64::from(cores))
    }
}
