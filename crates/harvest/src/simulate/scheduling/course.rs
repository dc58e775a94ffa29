//! The course of a simulation: what becomes of servers and jobs from step to step.

use super::super::jobs::{kinds, Kind, Running, Task, KINDS};
use super::super::world::{Scaling, World};
use super::classes::{choose, history, hopeless, left, Members};
use super::tasks::{give_way, start, Way};
use super::{Done, Scheduler, Scheduling};
use crate::error::HarvestError;
use crate::jobs::{LengthMemory, Thresholds};
use crate::select::Room;
use crate::sequence::Sequence;

/// All that changes, and what it goes by.
pub(super) struct Course<'a> {
    world: &'a World,
    asked: &'a Scheduling,
    scaling: Scaling,
    members: Members,
    rooms: Vec<Room>,
    /// Tasks that each server may have by its past, by length of job.
    left: [Vec<i64>; 3],
    kinds: Vec<Kind>,
    /// Jobs a second.
    rate: f64,
    // Arrivals have draws of their own, so that all schedulers meet the same jobs.
    arrivals: Sequence,
    placing: Sequence,
    next_arrival: f64,
    /// Tasks by server, the youngest last.
    tasks: Vec<Vec<Task>>,
    free: Vec<i64>,
    loads: Vec<f64>,
    jobs: Vec<Option<Running>>,
    queue: Vec<usize>,
    memory: LengthMemory,
    thresholds: Thresholds,
    done: Done,
    sums: Sums,
}

/// Where a job found no room in this step: its classes; of a job without classes, anywhere.
struct Full {
    classes: Vec<bool>,
    all: bool,
}

impl<'a> Course<'a> {
    pub(super) fn new(world: &'a World, asked: &'a Scheduling) -> Result<Self, HarvestError> {
        let scaling = Scaling::to_mean(world, asked.utilisation, asked.root)?;
        let servers = world.rack_of.len();
        let (classes, rooms) = history(asked, world, &scaling)?;
        let left = left(asked, &rooms, &classes, servers);
        let mut random = Sequence::new(asked.center.seed ^ 0x10b5);
        let kinds = kinds(&mut random);
        let work: f64 =
            kinds.iter().map(|k| (k.width * k.stages) as f64 * k.task_s).sum::<f64>() / KINDS as f64;
        Ok(Self {
            world,
            asked,
            scaling,
            members: Members::new(classes, servers),
            rooms,
            left,
            kinds,
            rate: asked.demand * (f64::from(asked.cores) * servers as f64) / work,
            arrivals: Sequence::new(random.word()),
            placing: Sequence::new(random.word()),
            next_arrival: 0.0,
            tasks: (0..servers).map(|_| Vec::new()).collect(),
            free: vec![0; servers],
            loads: vec![0.0; world.tenants.len()],
            jobs: Vec::new(),
            queue: Vec::new(),
            memory: LengthMemory::default(),
            thresholds: Thresholds::default(),
            done: Done::default(),
            sums: Sums::default(),
        })
    }

    /// Whether jobs are there that are not done.
    pub(super) fn waits(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Primary tenants take what they need, jobs come where `counted`, and those that wait look for servers.
    pub(super) fn step(&mut self, now: f64, counted: bool) {
        let hour = self.world.history_hours() + now / 3600.0;
        for (tenant, load) in self.loads.iter_mut().enumerate() {
            *load = self.scaling.of(self.world.load(tenant, hour));
        }
        (0..self.tasks.len()).for_each(|server| self.yield_to_primary(server, now, counted));
        self.members.count(&self.free);
        while counted && self.next_arrival <= now {
            self.next_arrival -= (1.0 - self.arrivals.unit()).ln() / self.rate;
            let kind = self.arrivals.below(KINDS);
            self.queue.push(self.jobs.len());
            self.jobs.push(Some(Running::new(kind, now, self.kinds[kind].width)));
        }
        let mut full = Full { classes: vec![false; self.rooms.len()], all: false };
        let mut queue = std::mem::take(&mut self.queue);
        queue.retain(|&number| self.goes_on(number, now, &mut full));
        self.queue = queue;
    }

    /// Cores of a server that batch tasks may have.
    fn budget(&self) -> i64 {
        i64::from(self.asked.cores - self.asked.reserve)
    }

    fn yield_to_primary(&mut self, server: usize, now: f64, counted: bool) {
        let share = (self.loads[self.world.tenant_of[server] as usize] * self.world.balance[server]).min(1.0);
        let primary = share * f64::from(self.asked.cores);
        let room = self.budget() - primary.ceil() as i64;
        let own = &mut self.tasks[server];
        self.sums.vain += give_way(own, room, now, &mut self.jobs, &mut self.done);
        self.free[server] = room - own.len() as i64;
        if counted {
            self.done.primary += primary;
            self.done.used += primary + own.len() as f64;
        }
    }

    /// A job's next stage, or its end; whether it goes on.
    fn goes_on(&mut self, number: usize, now: f64, full: &mut Full) -> bool {
        let job = self.jobs[number].as_mut().expect("queued jobs are there");
        let kind = &self.kinds[job.kind];
        if job.waiting == 0 && job.active == 0 {
            job.stage += 1;
            job.waiting = kind.width;
        }
        if job.stage == kind.stages {
            self.done.jobs += 1;
            self.sums.useful += (kind.width * kind.stages) as f64 * kind.task_s;
            self.sums.alone += kind.stages as f64 * kind.task_s;
            self.sums.total += now - job.since;
            self.memory.ran(&job.kind.to_string(), now - job.since);
            self.jobs[number] = None;
            return false;
        }
        let patience_s = self.asked.patience_s;
        let length = self.memory.length(&job.kind.to_string(), &self.thresholds);
        let asks = job
            .waited_s
            .is_none_or(|waited| !job.classes.is_empty() && patience_s.is_some_and(|most| waited >= most));
        if asks {
            job.waited_s = Some(0.0);
            if self.asked.scheduler.knows_history() {
                choose(job, length, &self.rooms, &self.members, self.asked.cores, &mut self.placing);
            }
        }
        if !hopeless(&job.classes, &full.classes, full.all) {
            let most = (self.asked.cores - self.asked.reserve) as usize;
            let classes = job.classes.clone();
            let pack = self.asked.scheduler == Scheduler::Aware;
            let way = Way { pack, most, left: None, among: &classes };
            let mut start = |job: &mut Running, way| {
                let free = (&mut self.free[..], &mut self.members);
                start(job, (number, kind), now, &mut self.tasks, free, &mut self.placing, way);
            };
            if self.asked.scheduler == Scheduler::Headroom {
                let by_past = Way { left: Some(&self.left[length as usize]), ..way };
                start(job, by_past);
                start(job, Way { among: &[], ..by_past });
            }
            start(job, way);
            if job.waiting > 0 && job.classes.is_empty() {
                full.all = true;
            } else if job.waiting > 0 {
                job.classes.iter().for_each(|&class| full.classes[class] = true);
            }
        }
        if job.waiting > 0 {
            self.sums.waiting += self.asked.step_s;
            job.waited_s = job.waited_s.map(|waited| waited + self.asked.step_s);
        }
        true
    }

    /// What became of all jobs, where the simulation ends and jobs came in so many steps.
    pub(super) fn over(mut self, end: f64, coming: usize) -> Done {
        for job in self.jobs.iter().flatten() {
            self.done.unfinished += 1;
            self.sums.total += end - job.since;
            self.sums.alone += self.kinds[job.kind].stages as f64 * self.kinds[job.kind].task_s;
        }
        let all_cores = f64::from(self.asked.cores) * self.tasks.len() as f64;
        self.sums.shared(self.done, all_cores * coming.max(1) as f64)
    }
}

/// Seconds summed up over jobs, but for `vain` and `useful`, which are core seconds.
#[derive(Default)]
pub(super) struct Sums {
    pub(super) total: f64,
    pub(super) alone: f64,
    pub(super) waiting: f64,
    pub(super) vain: f64,
    pub(super) useful: f64,
}

impl Sums {
    /// Shared among all jobs, and among all cores in the time in which jobs came.
    pub(super) fn shared(&self, done: Done, core_steps: f64) -> Done {
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
