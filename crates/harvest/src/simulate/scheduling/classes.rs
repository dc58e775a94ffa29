//! Classes of servers: which there are by history, which a job chooses, and whether it need look there.

use super::super::jobs::Running;
use super::super::world::{Scaling, World};
use super::Scheduling;
use crate::classify::classify;
use crate::error::HarvestError;
use crate::jobs::Length;
use crate::select::{select, Job, Room, Weights};
use crate::sequence::Sequence;
use crate::settings::Settings;

/// Classes by a week of history: the servers of each, and what is known of it. The reserve counts as used.
pub(super) fn history(
    asked: &Scheduling,
    world: &World,
    scaling: &Scaling,
) -> Result<(Vec<Vec<u32>>, Vec<Room>), HarvestError> {
    let (slots, slot_hours) = world.history_slots(1.0 / 6.0);
    let own: Vec<usize> =
        (0..world.tenants.len()).filter(|&at| !world.tenants[at].servers.is_empty()).collect();
    let all = world.traces(slots, slot_hours, scaling);
    let traces: Vec<f64> = own.iter().flat_map(|&at| &all[at * slots..(at + 1) * slots]).copied().collect();
    let sizes: Vec<f64> = own.iter().map(|&at| world.tenants[at].servers.len() as f64).collect();
    let found = classify(
        &traces,
        slots,
        &sizes,
        None,
        &Settings { slot_s: Some(slot_hours * 3600.0), ..Settings::default() },
    )?;
    let mut servers = vec![Vec::new(); found.classes.len()];
    for (&at, tenant) in own.iter().zip(&found.tenants) {
        if let Some(class) = tenant.class {
            servers[class].extend(&world.tenants[at].servers);
        }
    }
    let reserve = f64::from(asked.reserve) / f64::from(asked.cores);
    let rooms = found.classes.iter().map(|class| Room {
        pattern: class.pattern,
        mean: class.mean + reserve,
        peak: class.peak + reserve,
        now: class.mean + reserve,
        capacity: class.servers * f64::from(asked.cores),
    });
    let rooms = rooms.collect();
    Ok((servers, rooms))
}

/// Tasks that a server may have by the past of its class, by length of job: what the reserve leaves, less the mean where
/// a job is of medium length, less the peak where it is long.
pub(super) fn left(
    asked: &Scheduling,
    rooms: &[Room],
    classes: &[Vec<u32>],
    servers: usize,
) -> [Vec<i64>; 3] {
    let mut found = std::array::from_fn(|_| vec![i64::from(asked.cores - asked.reserve); servers]);
    for (room, own) in rooms.iter().zip(classes) {
        let of = |past: f64| ((1.0 - past) * f64::from(asked.cores)).floor() as i64;
        for &server in own {
            found[Length::Medium as usize][server as usize] = of(room.mean);
            found[Length::Long as usize][server as usize] = of(room.peak);
        }
    }
    found
}

/// Chooses classes for a job, beside those that it has.
pub(super) fn choose(
    job: &mut Running,
    length: Length,
    rooms: &[Room],
    members: &Members,
    cores: u32,
    random: &mut Sequence,
) {
    let now = |(class, room): (usize, &Room)| Room { now: members.used_now(class, cores), ..*room };
    let rooms: Vec<Room> = rooms.iter().enumerate().map(now).collect();
    let wants = Job { length, wants: job.waiting as f64 };
    for class in select(&wants, &rooms, &Weights::default(), random).unwrap_or_default() {
        if !job.classes.contains(&class) {
            job.classes.push(class);
        }
    }
}

/// Whether a job need not look for room in this step: one of no class where nobody had any, others where all of their
/// classes are full.
pub(super) fn hopeless(classes: &[usize], full: &[bool], all_full: bool) -> bool {
    all_full || (!classes.is_empty() && classes.iter().all(|&class| full[class]))
}

/// The servers of each class, and how many cores of them are free: counted as tasks come, so that a job's question
/// costs no look at all servers.
pub(super) struct Members {
    servers: Vec<Vec<u32>>,
    class_of: Vec<Option<u32>>,
    pub(super) free: Vec<i64>,
    /// Free cores of all servers, also of those that no class has.
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

    /// Counts free cores anew.
    pub(super) fn count(&mut self, free: &[i64]) {
        for (sum, own) in self.free.iter_mut().zip(&self.servers) {
            *sum = own.iter().map(|&server| free[server as usize].max(0)).sum();
        }
        self.free_of_all = free.iter().map(|&cores| cores.max(0)).sum();
    }

    /// Counts cores of a server that are no longer free.
    pub(super) fn take(&mut self, server: usize, cores: usize) {
        self.free_of_all -= cores as i64;
        if let Some(class) = self.class_of[server] {
            self.free[class as usize] -= cores as i64;
        }
    }

    /// Free cores of some classes; of all servers, as `count_of` has it.
    pub(super) fn free_of(&self, classes: &[usize]) -> i64 {
        match self.count_of(classes) {
            Some(_) => classes.iter().map(|&class| self.free[class]).sum(),
            None => self.free_of_all,
        }
    }

    /// How many servers some classes have; None of all servers, which no class stands for.
    pub(super) fn count_of(&self, classes: &[usize]) -> Option<usize> {
        Some(classes.iter().map(|&class| self.servers[class].len()).sum()).filter(|&count| count > 0)
    }

    /// A server of some classes by its place among them; of all servers without classes.
    pub(super) fn at(&self, classes: &[usize], mut place: usize) -> usize {
        for &class in classes {
            match self.servers[class].get(place) {
                Some(&server) => return server as usize,
                None => place -= self.servers[class].len(),
            }
        }
        place
    }

    /// Share of a class's cores that nobody more can have: primary tenants', other jobs', the reserve.
    fn used_now(&self, class: usize, cores: u32) -> f64 {
        1.0 - self.free[class] as f64 / (self.servers[class].len().max(1) as f64 * f64::from(cores))
    }
}
