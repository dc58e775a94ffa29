//! Batch jobs on the cores that primary tenants leave: who is killed, and how long jobs take.
//!
//! Time goes in steps. A primary tenant that needs its reserve back kills the youngest tasks of its server, which run
//! again from their beginning. Jobs come as a Poisson process, in stages that wait for each other; a stage has as many
//! tasks as it is wide, of one core each.

use serde::{Deserialize, Serialize};

use super::center::{Center, Scaling, World};
use crate::classify::{classify, Settings};
use crate::error::HarvestError;
use crate::jobs::{LengthMemory, Thresholds};
use crate::select::{select, Job, Room, Weights};
use crate::sequence::Sequence;

/// Who chooses servers for tasks.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scheduler {
    /// Aware of primary tenants (reserve and kills), of nothing else: any server with room.
    Aware,
    /// Algorithm 1: servers of a class chosen by the job's length.
    History,
}

/// What is simulated.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scheduling {
    /// The data center.
    pub center: Center,
    /// Who chooses.
    pub scheduler: Scheduler,
    /// Mean utilisation by primary tenants.
    pub utilisation: f64,
    /// Whether scaled by a root instead of a factor.
    pub root: bool,
    /// Days after a week of history.
    pub days: f64,
    /// Share of all cores that jobs ask for, on average.
    pub demand: f64,
    /// Cores of a server.
    pub cores: u32,
    /// Cores kept for the primary tenant.
    pub reserve: u32,
    /// Seconds of a step.
    pub step_s: f64,
}

impl Default for Scheduling {
    fn default() -> Self {
        Self {
            center: Center { servers: 500, tenants: 100, ..Center::default() },
            scheduler: Scheduler::History,
            utilisation: 0.35,
            root: false,
            days: 3.0,
            demand: 0.15,
            cores: 12,
            reserve: 4,
            step_s: 30.0,
        }
    }
}

/// What became of jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Done {
    /// Jobs that finished.
    pub jobs: u64,
    /// Their mean time from arrival to end.
    pub mean_job_s: f64,
    /// Tasks that ran to their end.
    pub tasks: u64,
    /// Tasks killed.
    pub kills: u64,
    /// Mean share of cores that were used by anybody.
    pub used: f64,
    /// Mean share of cores that primary tenants used.
    pub primary: f64,
}

/// Kinds of jobs: as many as the queries of the paper's test bed.
const KINDS: usize = 52;

struct Kind {
    width: usize,
    stages: usize,
    task_s: f64,
}

/// Widths up to hundreds and lengths from a minute to three quarters of an hour, both by powers.
fn kinds(random: &mut Sequence) -> Vec<Kind> {
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

struct Running {
    kind: usize,
    since: f64,
    stage: usize,
    waiting: usize,
    active: usize,
    /// Servers that it may use; all where empty.
    servers: Vec<u32>,
    begun: bool,
}

struct Task {
    job: usize,
    end: f64,
}

/// Simulates all jobs.
///
/// # Panics
///
/// Never: a job that runs tasks is there.
pub fn scheduling(asked: &Scheduling) -> Result<Done, HarvestError> {
    if asked.cores <= asked.reserve {
        let found = f64::from(asked.reserve);
        return Err(HarvestError::Range { what: "reserve", found, range: "0 to less than the cores" });
    }
    if !(asked.utilisation > 0.0 && asked.utilisation < 1.0) {
        let found = asked.utilisation;
        return Err(HarvestError::Range { what: "utilisation", found, range: "above 0, below 1" });
    }
    let world = World::new(&asked.center);
    let scaling = Scaling::to_mean(&world, asked.utilisation, asked.root);
    let servers = world.rack_of.len();
    let (classes, rooms) = history(asked, &world, &scaling)?;
    let mut random = Sequence::new(asked.center.seed ^ 0x10b5);
    let kinds = kinds(&mut random);
    let work: f64 = kinds.iter().map(|k| (k.width * k.stages) as f64 * k.task_s).sum::<f64>() / KINDS as f64;
    let all_cores = f64::from(asked.cores) * servers as f64;
    let rate = asked.demand * all_cores / work;
    // Arrivals have draws of their own, so that both schedulers meet the same jobs.
    let (mut arrivals, mut placing) = (Sequence::new(random.word()), Sequence::new(random.word()));
    let balance: Vec<f64> = (0..servers as u32).map(|server| world.balance(server)).collect();
    let mut tasks: Vec<Vec<Task>> = (0..servers).map(|_| Vec::new()).collect();
    let mut free = vec![0_i64; servers];
    let mut jobs: Vec<Option<Running>> = Vec::new();
    let mut queue: Vec<usize> = Vec::new();
    let (mut memory, thresholds, weights) =
        (LengthMemory::default(), Thresholds::default(), Weights::default());
    let mut next_arrival = 0.0;
    let (mut done, mut total_s) = (Done::default(), 0.0);
    let steps = (asked.days * 86_400.0 / asked.step_s) as usize;
    let budget = i64::from(asked.cores - asked.reserve);
    let mut loads = vec![0.0; world.tenants.len()];
    for step in 0..steps {
        let now = step as f64 * asked.step_s;
        for (tenant, load) in loads.iter_mut().enumerate() {
            *load = scaling.of(world.load(tenant, 7.0 * 24.0 + now / 3600.0));
        }
        for server in 0..servers {
            let share = (loads[world.tenant_of[server] as usize] * balance[server]).min(1.0);
            let primary = share * f64::from(asked.cores);
            let room = budget - primary.ceil() as i64;
            let own = &mut tasks[server];
            give_way(own, room, now, &mut jobs, &mut done);
            free[server] = room - own.len() as i64;
            done.primary += primary;
            done.used += primary + own.len() as f64;
        }
        while next_arrival <= now {
            next_arrival -= (1.0 - arrivals.unit()).ln() / rate;
            let kind = arrivals.below(KINDS);
            queue.push(jobs.len());
            let waiting = kinds[kind].width;
            jobs.push(Some(Running {
                kind,
                since: now,
                stage: 0,
                waiting,
                active: 0,
                servers: Vec::new(),
                begun: false,
            }));
        }
        queue.retain(|&number| {
            let job = jobs[number].as_mut().expect("queued jobs are there");
            let kind = &kinds[job.kind];
            if job.waiting == 0 && job.active == 0 {
                job.stage += 1;
                job.waiting = kind.width;
            }
            if job.stage == kind.stages {
                done.jobs += 1;
                total_s += now - job.since;
                memory.ran(&job.kind.to_string(), now - job.since);
                jobs[number] = None;
                return false;
            }
            if !job.begun {
                job.begun = true;
                if asked.scheduler == Scheduler::History {
                    let length = memory.length(&job.kind.to_string(), &thresholds);
                    let rooms: Vec<Room> = (rooms.iter().zip(&classes))
                        .map(|(room, own)| Room { now: used_now(own, &free, asked.cores), ..*room })
                        .collect();
                    let wants = Job { length, wants: kind.width as f64 };
                    let picked = select(&wants, &rooms, &weights, &mut placing).unwrap_or_default();
                    job.servers = picked.iter().flat_map(|&class| &classes[class]).copied().collect();
                }
            }
            start(job, number, kind, now, &mut tasks, &mut free, &mut placing);
            true
        });
    }
    let core_steps = all_cores * steps.max(1) as f64;
    done.used /= core_steps;
    done.primary /= core_steps;
    done.mean_job_s = total_s / done.jobs.max(1) as f64;
    Ok(done)
}

/// Ends tasks that are over, and kills the youngest until the others fit.
fn give_way(own: &mut Vec<Task>, room: i64, now: f64, jobs: &mut [Option<Running>], done: &mut Done) {
    own.retain(|task| {
        let over = task.end <= now;
        if over {
            done.tasks += 1;
            jobs[task.job].as_mut().expect("a job with tasks is there").active -= 1;
        }
        !over
    });
    // The youngest are the last.
    while own.len() as i64 > room.max(0) {
        let Some(task) = own.pop() else { break };
        let job = jobs[task.job].as_mut().expect("a job with tasks is there");
        job.active -= 1;
        job.waiting += 1;
        done.kills += 1;
    }
}

/// Starts waiting tasks on servers in proportion to their free cores.
fn start(
    job: &mut Running,
    number: usize,
    kind: &Kind,
    now: f64,
    tasks: &mut [Vec<Task>],
    free: &mut [i64],
    random: &mut Sequence,
) {
    let all = free.len();
    let mut failures = 0;
    while job.waiting > 0 && failures < 60 {
        let server = if job.servers.is_empty() {
            random.below(all)
        } else {
            job.servers[random.below(job.servers.len())] as usize
        };
        // Eight cores are the most that are free: a draw below them accepts in proportion.
        if free[server] > 0 && random.below(8) < free[server] as usize {
            free[server] -= 1;
            job.waiting -= 1;
            job.active += 1;
            tasks[server].push(Task { job: number, end: now + kind.task_s });
        } else {
            failures += 1;
        }
    }
}

/// Share of a class's cores that nobody more can have: primary tenants', other jobs', the reserve.
fn used_now(servers: &[u32], free: &[i64], cores: u32) -> f64 {
    let sum: i64 = servers.iter().map(|&server| free[server as usize].max(0)).sum();
    1.0 - sum as f64 / (servers.len().max(1) as f64 * f64::from(cores))
}

/// Classes by a week of history: the servers of each, and what is known of it. The reserve counts as used.
fn history(
    asked: &Scheduling,
    world: &World,
    scaling: &Scaling,
) -> Result<(Vec<Vec<u32>>, Vec<Room>), HarvestError> {
    const SLOTS: usize = 7 * 24 * 6;
    let own: Vec<usize> =
        (0..world.tenants.len()).filter(|&at| !world.tenants[at].servers.is_empty()).collect();
    let all = world.traces(SLOTS, 1.0 / 6.0, scaling);
    let traces: Vec<f64> = own.iter().flat_map(|&at| &all[at * SLOTS..(at + 1) * SLOTS]).copied().collect();
    let sizes: Vec<f64> = own.iter().map(|&at| world.tenants[at].space).collect();
    let found = classify(&traces, SLOTS, &sizes, &Settings::default())?;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn small(scheduler: Scheduler, utilisation: f64) -> Done {
        let center = Center { servers: 500, tenants: 100, ..Center::default() };
        scheduling(&Scheduling { center, scheduler, utilisation, days: 1.0, ..Scheduling::default() })
            .unwrap()
    }

    #[test]
    fn history_kills_less_at_the_same_load() {
        let (aware, history) = (small(Scheduler::Aware, 0.4), small(Scheduler::History, 0.4));
        assert!(aware.kills > 100, "{aware:?}");
        assert!(history.kills * 2 < aware.kills, "{history:?} against {aware:?}");
        assert!((aware.primary - history.primary).abs() < 1e-12);
    }

    #[test]
    fn nobody_is_killed_where_primary_tenants_do_nothing_and_jobs_take_their_time() {
        let done = small(Scheduler::Aware, 0.01);
        assert!(done.kills == 0 && done.jobs > 10, "{done:?}");
        let mean =
            kinds(&mut Sequence::new(1 ^ 0x10b5)).iter().map(|k| k.stages as f64 * k.task_s).sum::<f64>();
        let mean = mean / KINDS as f64;
        assert!(done.mean_job_s > 0.6 * mean && done.mean_job_s < 1.6 * mean, "{done:?}, {mean}");
        assert!(scheduling(&Scheduling { reserve: 12, ..Scheduling::default() }).is_err());
    }
}
