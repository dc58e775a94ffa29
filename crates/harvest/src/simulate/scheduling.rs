//! Batch jobs on the cores that primary tenants leave: who is killed, and how long jobs take.
//!
//! Time goes in steps. A primary tenant that needs its reserve back kills the youngest tasks of its server, which run
//! again from their beginning. Jobs come as a Poisson process for so many days; then all that came are seen to their
//! end, for as many days again at most.

use serde::{Deserialize, Serialize};

use super::center::Center;
use super::jobs::{kinds, Kind, Running, Task, KINDS};
use super::world::{Scaling, World};
use crate::classify::{classify, Settings};
use crate::error::HarvestError;
use crate::jobs::{Length, LengthMemory, Thresholds};
use crate::select::{select, Job, Room, Weights};
use crate::sequence::Sequence;

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
    let scaling = Scaling::to_mean(world, asked.utilisation, asked.root)?;
    let servers = world.rack_of.len();
    let (classes, rooms) = history(asked, world, &scaling)?;
    let mut random = Sequence::new(asked.center.seed ^ 0x10b5);
    let kinds = kinds(&mut random);
    let work: f64 = kinds.iter().map(|k| (k.width * k.stages) as f64 * k.task_s).sum::<f64>() / KINDS as f64;
    let all_cores = f64::from(asked.cores) * servers as f64;
    let rate = asked.demand * all_cores / work;
    // Arrivals have draws of their own, so that both schedulers meet the same jobs.
    let (mut arrivals, mut placing) = (Sequence::new(random.word()), Sequence::new(random.word()));
    let mut tasks: Vec<Vec<Task>> = (0..servers).map(|_| Vec::new()).collect();
    let mut free = vec![0_i64; servers];
    let mut jobs: Vec<Option<Running>> = Vec::new();
    let mut queue: Vec<usize> = Vec::new();
    let (mut memory, thresholds) = (LengthMemory::default(), Thresholds::default());
    let mut next_arrival = 0.0;
    let (mut done, mut sums) = (Done::default(), Sums::default());
    let coming = (asked.days * 86_400.0 / asked.step_s) as usize;
    let start_hour = world.history_hours();
    let mut steps = 0;
    let budget = i64::from(asked.cores - asked.reserve);
    let mut loads = vec![0.0; world.tenants.len()];
    while steps < coming || (steps < 2 * coming && !queue.is_empty()) {
        let now = steps as f64 * asked.step_s;
        steps += 1;
        let counted = steps <= coming;
        for (tenant, load) in loads.iter_mut().enumerate() {
            *load = scaling.of(world.load(tenant, start_hour + now / 3600.0));
        }
        for server in 0..servers {
            let share = (loads[world.tenant_of[server] as usize] * world.balance[server]).min(1.0);
            let primary = share * f64::from(asked.cores);
            let room = budget - primary.ceil() as i64;
            let own = &mut tasks[server];
            sums.vain += give_way(own, room, now, &mut jobs, &mut done);
            free[server] = room - own.len() as i64;
            // Use is that of the time in which jobs come.
            if counted {
                done.primary += primary;
                done.used += primary + own.len() as f64;
            }
        }
        while counted && next_arrival <= now {
            next_arrival -= (1.0 - arrivals.unit()).ln() / rate;
            let kind = arrivals.below(KINDS);
            queue.push(jobs.len());
            jobs.push(Some(Running::new(kind, now, kinds[kind].width)));
        }
        // Classes of which a job found no room in this step, and whether one found none anywhere.
        let (mut full, mut all_full) = (vec![false; classes.len()], false);
        queue.retain(|&number| {
            let job = jobs[number].as_mut().expect("queued jobs are there");
            let kind = &kinds[job.kind];
            if job.waiting == 0 && job.active == 0 {
                job.stage += 1;
                job.waiting = kind.width;
            }
            if job.stage == kind.stages {
                done.jobs += 1;
                sums.useful += (kind.width * kind.stages) as f64 * kind.task_s;
                sums.alone += kind.stages as f64 * kind.task_s;
                sums.total += now - job.since;
                memory.ran(&job.kind.to_string(), now - job.since);
                jobs[number] = None;
                return false;
            }
            let asks = job.waited_s.is_none_or(|waited| {
                !job.classes.is_empty() && asked.patience_s.is_some_and(|most| waited >= most)
            });
            if asks {
                job.waited_s = Some(0.0);
                if asked.scheduler == Scheduler::History {
                    let length = memory.length(&job.kind.to_string(), &thresholds);
                    choose(job, length, (&rooms, &classes), &free, asked.cores, &mut placing);
                }
            }
            let pack = asked.scheduler == Scheduler::Aware;
            if !hopeless(&job.classes, &full, all_full) {
                start(job, (number, kind), now, &mut tasks, &mut free, &mut placing, (pack, budget as usize));
                if job.waiting > 0 && job.classes.is_empty() {
                    all_full = true;
                } else if job.waiting > 0 {
                    job.classes.iter().for_each(|&class| full[class] = true);
                }
            }
            if job.waiting > 0 {
                sums.waiting += asked.step_s;
                job.waited_s = job.waited_s.map(|waited| waited + asked.step_s);
            }
            true
        });
    }
    let end = steps as f64 * asked.step_s;
    for job in jobs.iter().flatten() {
        done.unfinished += 1;
        sums.total += end - job.since;
        sums.alone += kinds[job.kind].stages as f64 * kinds[job.kind].task_s;
    }
    Ok(sums.shared(done, all_cores * coming.max(1) as f64))
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

/// Seconds summed up over jobs, but for `vain` and `useful`, which are core seconds.
#[derive(Default)]
struct Sums {
    total: f64,
    alone: f64,
    waiting: f64,
    vain: f64,
    useful: f64,
}

impl Sums {
    /// Shared among all jobs, and among all cores in the time in which jobs came.
    fn shared(&self, done: Done, core_steps: f64) -> Done {
        let all = (done.jobs + done.unfinished).max(1) as f64;
        Done {
            used: done.used / core_steps,
            primary: done.primary / core_steps,
            mean_job_s: self.total / all,
            alone_job_s: self.alone / all,
            mean_waiting_s: self.waiting / all,
            vain: self.vain / (self.useful + self.vain).max(1e-9),
            ..done
        }
    }
}

/// Chooses classes for a job, beside those that it has.
fn choose(
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
fn hopeless(classes: &[usize], full: &[bool], all_full: bool) -> bool {
    all_full || (!classes.is_empty() && classes.iter().all(|&class| full[class]))
}

/// Ends tasks that are over, and kills the youngest until the others fit; core seconds that were in vain.
fn give_way(own: &mut Vec<Task>, room: i64, now: f64, jobs: &mut [Option<Running>], done: &mut Done) -> f64 {
    let mut vain = 0.0;
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
        vain += now - task.since;
    }
    vain
}

/// Draws after which servers are looked at in turn.
const TRIES: usize = 60;

/// Starts waiting tasks wherever there is room: on servers in proportion to their free cores, of which there are
/// `most`; or packed, so that each server that is met is filled.
fn start(
    job: &mut Running,
    (number, kind): (usize, &Kind),
    now: f64,
    tasks: &mut [Vec<Task>],
    free: &mut [i64],
    random: &mut Sequence,
    (pack, most): (bool, usize),
) {
    let all = if job.servers.is_empty() { free.len() } else { job.servers.len() };
    let mut place = |job: &mut Running, at: usize, take: &dyn Fn(usize) -> usize| -> usize {
        let server = job.servers.get(at).map_or(at, |&server| server as usize);
        let take = take(free[server].max(0) as usize).min(job.waiting);
        free[server] -= take as i64;
        job.waiting -= take;
        job.active += take;
        let task = || Task { job: number, since: now, end: now + kind.task_s };
        tasks[server].extend(std::iter::repeat_with(task).take(take));
        take
    };
    let mut failures = 0;
    while job.waiting > 0 && failures < TRIES {
        let (at, bar) = (random.below(all), random.below(most));
        let take = |fits| if pack { fits } else { usize::from(bar < fits) };
        failures += usize::from(place(job, at, &take) == 0);
    }
    let from = if job.waiting > 0 { random.below(all) } else { 0 };
    while job.waiting > 0 {
        let before = job.waiting;
        for at in (from..all).chain(0..from) {
            place(job, at, &|fits| if pack { fits } else { fits.min(1) });
        }
        if job.waiting == before {
            break;
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
    let (slots, slot_hours) = world.history_slots(1.0 / 6.0);
    let own: Vec<usize> =
        (0..world.tenants.len()).filter(|&at| !world.tenants[at].servers.is_empty()).collect();
    let all = world.traces(slots, slot_hours, scaling);
    let traces: Vec<f64> = own.iter().flat_map(|&at| &all[at * slots..(at + 1) * slots]).copied().collect();
    let sizes: Vec<f64> = own.iter().map(|&at| world.tenants[at].servers.len() as f64).collect();
    let found = classify(&traces, slots, &sizes, &Settings::default())?;
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
    use super::super::world::{Inventory, Traces};
    use super::*;
    use crate::grid::Tenant;
    use crate::pattern::Pattern;

    #[test]
    fn the_youngest_go_until_the_others_fit_and_their_jobs_wait_for_them_again() {
        let running = |active| Some(Running { active, ..Running::new(0, 0.0, 0) });
        let mut jobs = vec![running(3), running(2)];
        let mut own: Vec<Task> = [(0, 9.0), (0, 1.0), (0, 9.0), (1, 9.0), (1, 9.0)]
            .map(|(job, end)| Task { job, since: 0.0, end })
            .into();
        let mut done = Done::default();
        let vain = give_way(&mut own, 2, 5.0, &mut jobs, &mut done);
        assert!((vain - 10.0).abs() < 1e-9, "{vain}");
        assert_eq!(own.iter().map(|task| task.job).collect::<Vec<_>>(), [0, 0]);
        assert_eq!((done.tasks, done.kills), (1, 2));
        let of = |job: usize| jobs[job].as_ref().map(|one| (one.active, one.waiting)).unwrap();
        assert_eq!((of(0), of(1)), ((2, 0), (0, 2)));
    }

    #[test]
    fn tasks_go_to_servers_in_proportion_to_their_free_cores_or_fill_the_first_that_is_met() {
        let kind = Kind { width: 1, stages: 1, task_s: 60.0 };
        let mut random = Sequence::new(1);
        let mut first = |width, pack| {
            let (mut tasks, mut free) = ([Vec::new(), Vec::new()], [8, 2]);
            let mut job = Running::new(0, 0.0, width);
            start(&mut job, (0, &kind), 0.0, &mut tasks, &mut free, &mut random, (pack, 8));
            assert_eq!((job.waiting, job.active), (0, width));
            assert!((0..2).all(|at| tasks[at].len() as i64 + free[at] == [8, 2][at]));
            tasks[0].len()
        };
        let on_first: usize = (0..1000).map(|_| first(1, false)).sum();
        // Standard error 13; five of them.
        assert!(on_first.abs_diff(800) < 63, "{on_first} of 1,000 on four fifths of the cores");
        assert!((0..50).map(|_| first(2, true)).all(|n| n == 0 || n == 2));
    }

    #[test]
    fn a_reserve_counts_as_used_now_on_average_and_at_the_peak() {
        let world = World::synthetic(&Scheduling::default().center);
        let rooms = |reserve| {
            let asked = Scheduling { reserve, ..Scheduling::default() };
            history(&asked, &world, &Scaling::none()).unwrap().1
        };
        for (with, without) in rooms(3).iter().zip(rooms(0)) {
            for (one, other) in
                [(with.mean, without.mean), (with.peak, without.peak), (with.now, without.now)]
            {
                assert!((one - other - 0.25).abs() < 1e-12, "{with:?} {without:?}");
            }
        }
    }

    #[test]
    fn a_class_that_is_chosen_again_adds_no_server_twice() {
        let room = Room { pattern: Pattern::Constant, mean: 0.2, peak: 0.2, now: 0.2, capacity: 24.0 };
        let mut job = Running::new(0, 0.0, 1);
        for seed in 0..20 {
            let classes = [vec![0, 1], vec![2, 3]];
            let mut random = Sequence::new(seed);
            choose(&mut job, Length::Long, (&[room, room], &classes), &[12; 4], 12, &mut random);
        }
        job.servers.sort_unstable();
        assert_eq!((job.classes.len(), &job.servers[..]), (2, &[0, 1, 2, 3][..]));
    }

    #[test]
    fn what_was_in_vain_is_a_share_of_all_that_was_computed() {
        let sums = Sums { vain: 30.0, useful: 90.0, ..Sums::default() };
        assert!((sums.shared(Done::default(), 1.0).vain - 0.25).abs() < 1e-12);
    }

    #[test]
    fn a_job_looks_for_room_while_one_of_its_classes_may_have_some() {
        for (classes, all_full, is) in [
            (&[][..], false, false),
            (&[], true, true),
            (&[0, 1], false, false),
            (&[1], false, false),
            (&[0, 2], false, true),
            (&[1], true, true),
        ] {
            assert_eq!(hopeless(classes, &[true, false, true], all_full), is, "{classes:?} {all_full}");
        }
    }

    #[test]
    fn batch_work_gets_no_core_of_which_a_primary_tenant_uses_a_part() {
        let servers = 6;
        let tenants = (0..3).map(|number| Tenant {
            environment: number,
            reimages: 1.0,
            peak: 0.3,
            space: 2.0,
            servers: vec![2 * number, 2 * number + 1],
        });
        let found =
            Inventory { tenants: tenants.collect(), rack_of: vec![0; servers], balance: vec![1.0; servers] };
        let traces = Traces { cpu: &[0.3; 3 * 96], slots: 96, slot_s: 3600.0 };
        let world = World::recorded(&Center::default(), found, traces).unwrap();
        // More work than there is room for: 3.6 of 12 cores are the tenant's, four its reserve, thus four are left.
        let asked = Scheduling {
            scheduler: Scheduler::Balanced,
            utilisation: None,
            days: 1.0,
            demand: 20.0,
            ..Scheduling::default()
        };
        let done = scheduling(&world, &asked).unwrap();
        assert!((done.primary - 0.3).abs() < 1e-9, "{done:?}");
        let most = (3.6 + 4.0) / 12.0;
        assert!(done.used <= most + 1e-9 && done.used > 0.9 * most, "{done:?}");
    }

    fn small(scheduler: Scheduler, utilisation: f64) -> Done {
        let center = Center { servers: 500, tenants: 100, ..Center::default() };
        let world = World::synthetic(&center);
        let utilisation = Some(utilisation);
        scheduling(&world, &Scheduling { center, scheduler, utilisation, days: 1.0, ..Scheduling::default() })
            .unwrap()
    }

    #[test]
    fn history_kills_less_at_the_same_load_and_less_of_its_work_is_in_vain() {
        let [aware, balanced, history] =
            [Scheduler::Aware, Scheduler::Balanced, Scheduler::History].map(|one| small(one, 0.4));
        assert!(aware.kills > 100, "{aware:?}");
        assert!(history.kills * 2 < aware.kills, "{history:?} against {aware:?}");
        assert!(history.kills < balanced.kills && balanced.kills < aware.kills, "{balanced:?}");
        assert!(history.vain * 2.0 < aware.vain, "{history:?} against {aware:?}");
        assert!((aware.primary - history.primary).abs() < 1e-12);
        let all = |done: &Done| done.jobs + done.unfinished;
        assert!(all(&aware) == all(&history) && (aware.alone_job_s - history.alone_job_s).abs() < 1e-9);
    }

    #[test]
    fn a_job_waits_only_while_nobody_has_room_and_a_patient_one_longer() {
        let center = Center { servers: 500, tenants: 100, ..Center::default() };
        let world = World::synthetic(&center);
        let of = |scheduler, patience_s| {
            let asked = Scheduling {
                center: center.clone(),
                scheduler,
                patience_s,
                days: 1.0,
                ..Scheduling::default()
            };
            scheduling(&world, &asked).unwrap()
        };
        let balanced = of(Scheduler::Balanced, None);
        assert!(balanced.mean_waiting_s < 5.0, "{balanced:?}");
        let (patient, hasty) = (of(Scheduler::History, None), of(Scheduler::History, Some(60.0)));
        assert!(hasty.mean_waiting_s < 0.8 * patient.mean_waiting_s, "{hasty:?} against {patient:?}");
        assert_eq!(of(Scheduler::History, Some(1e9)), patient);
    }

    #[test]
    fn nobody_is_killed_where_primary_tenants_do_nothing_and_jobs_take_their_time() {
        let done = small(Scheduler::Balanced, 0.01);
        assert!(done.kills == 0 && done.jobs > 10 && done.unfinished == 0 && done.vain == 0.0, "{done:?}");
        // A job waits for the next step after each stage, and for a server now and then.
        let ratio = done.mean_job_s / done.alone_job_s;
        assert!((1.0..1.4).contains(&ratio), "{done:?}");
    }

    #[test]
    fn odd_questions_are_refused() {
        let asked = Scheduling::default();
        let world = World::synthetic(&asked.center);
        for wrong in [
            Scheduling { reserve: 12, ..asked.clone() },
            Scheduling { step_s: 0.0, ..asked.clone() },
            Scheduling { utilisation: Some(0.0), ..asked.clone() },
        ] {
            assert_eq!(scheduling(&world, &wrong).unwrap_err().code(), "harvest_range");
        }
    }
}
