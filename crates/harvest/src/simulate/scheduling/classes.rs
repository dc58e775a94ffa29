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
    (rooms, classes): (&[Room], &[Vec<u32>]),
    free: &[i64],
    cores: u32,
    random: &mut Sequence,
) {
    let now = |(room, own): (&Room, &Vec<u32>)| Room { now: used_now(own, free, cores), ..*room };
    let rooms: Vec<Room> = rooms.iter().zip(classes).map(now).collect();
    let wants = Job { length, wants: job.waiting as f64 };
    for class in select(&wants, &rooms, &Weights::default(), random).unwrap_or_default() {
        if !job.classes.contains(&class) {
            job.classes.push(class);
            job.servers.extend(&classes[class]);
        }
    }
}

/// Whether a job need not look for room in this step: one of no class where nobody had any, others where all of their
/// classes are full.
pub(super) fn hopeless(classes: &[usize], full: &[bool], all_full: bool) -> bool {
    all_full || (!classes.is_empty() && classes.iter().all(|&class| full[class]))
}

/// Share of a class's cores that nobody more can have: primary tenants', other jobs', the reserve.
fn used_now(servers: &[u32], free: &[i64], cores: u32) -> f64 {
    let sum: i64 = servers.iter().map(|&server| free[server as usize].max(0)).sum();
    1.0 - sum as f64 / (servers.len().max(1) as f64 * f64::from(cores))
}
