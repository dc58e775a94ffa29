//! State of a simulation, and how a step changes it.

use super::super::jobs::{kinds, Kind, Running, Task, KINDS};
use super::super::world::{Scaling, World};
use super::classes::{choose_classes, is_full, learn_classes, task_limits, Members};
use super::tasks::{give_way, start, PlacementRule};
use super::{Done, Scheduler, Scheduling};
use crate::error::HarvestError;
use crate::jobs::{LengthMemory, Thresholds};
use crate::select::ClassState;
use crate::sequence::Sequence;

/// The state, and the parameters that drive it.
pub(super) struct Simulation<'a> {
    world: &'a World,
    scenario: &'a Scheduling,
    scaling: Scaling,
    members: Members,
    /// States of the learned classes.
    states: Vec<ClassState>,
    /// Most tasks of each server by its history, by length of job.
    task_limits: [Vec<i64>; 3],
    kinds: Vec<Kind>,
    /// Jobs per second.
    rate: f64,
    // Arrivals have their own random sequence, so that all schedulers meet the same jobs.
    arrivals: Sequence,
    placing: Sequence,
    next_arrival: f64,
    /// Tasks by server, youngest last.
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

/// Where a job found no free core in this step: by class, and for jobs without classes.
struct Full {
    classes: Vec<bool>,
    all: bool,
}

impl<'a> Simulation<'a> {
    pub(super) fn new(world: &'a World, scenario: &'a Scheduling) -> Result<Self, HarvestError> {
        let scaling = Scaling::to_mean(world, scenario.utilisation, scenario.root)?;
        let servers = world.rack_of.len();
        let (classes, states) = learn_classes(scenario, world, &scaling)?;
        let task_limits = task_limits(scenario, &states, &classes, servers);
        let mut random = Sequence::new(scenario.center.seed ^ 0x10b5);
        let kinds = kinds(&mut random);
        let work: f64 =
            kinds.iter().map(|k| (k.width * k.stages) as f64 * k.task_s).sum::<f64>() / KINDS as f64;
        Ok(Self {
            world,
            scenario,
            scaling,
            members: Members::new(classes, servers),
            states,
            task_limits,
            kinds,
            rate: scenario.demand * (f64::from(scenario.cores) * servers as f64) / work,
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

    /// Return whether there are unfinished jobs.
    pub(super) fn has_jobs(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Simulate one step: primary tenants take their cores, jobs arrive if `counted`, and waiting jobs look for
    /// servers.
    pub(super) fn step(&mut self, now: f64, counted: bool) {
        let hour = self.world.history_hours() + now / 3600.0;
        for (tenant, load) in self.loads.iter_mut().enumerate() {
            *load = self.scaling.apply(self.world.load(tenant, hour));
        }
        (0..self.tasks.len()).for_each(|server| self.yield_to_primary(server, now, counted));
        self.members.count(&self.free);
        while counted && self.next_arrival <= now {
            self.next_arrival -= (1.0 - self.arrivals.unit()).ln() / self.rate;
            let kind = self.arrivals.below(KINDS);
            self.queue.push(self.jobs.len());
            self.jobs.push(Some(Running::new(kind, now, self.kinds[kind].width)));
        }
        let mut full = Full { classes: vec![false; self.states.len()], all: false };
        let mut queue = std::mem::take(&mut self.queue);
        queue.retain(|&number| self.advance(number, now, &mut full));
        self.queue = queue;
    }

    /// Cores per server for batch tasks.
    fn budget(&self) -> i64 {
        i64::from(self.scenario.cores - self.scenario.reserve)
    }

    fn yield_to_primary(&mut self, server: usize, now: f64, counted: bool) {
        let share = (self.loads[self.world.tenant_of[server] as usize] * self.world.balance[server]).min(1.0);
        let primary = share * f64::from(self.scenario.cores);
        let available = self.budget() - primary.ceil() as i64;
        let own = &mut self.tasks[server];
        self.sums.vain += give_way(own, available, now, &mut self.jobs, &mut self.done);
        self.free[server] = available - own.len() as i64;
        if counted {
            self.done.primary += primary;
            self.done.used += primary + own.len() as f64;
        }
    }

    /// Start a job's next stage or end the job. Return whether it continues.
    fn advance(&mut self, number: usize, now: f64, full: &mut Full) -> bool {
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
            self.memory.record(&job.kind.to_string(), now - job.since);
            self.jobs[number] = None;
            return false;
        }
        let patience_s = self.scenario.patience_s;
        let length = self.memory.length(&job.kind.to_string(), &self.thresholds);
        let chooses_classes = job
            .waited_s
            .is_none_or(|waited| !job.classes.is_empty() && patience_s.is_some_and(|most| waited >= most));
        if chooses_classes {
            job.waited_s = Some(0.0);
            if self.scenario.scheduler.knows_history() {
                choose_classes(
                    job,
                    length,
                    &self.states,
                    &self.members,
                    self.scenario.cores,
                    &mut self.placing,
                );
            }
        }
        if !is_full(&job.classes, &full.classes, full.all) {
            let most = (self.scenario.cores - self.scenario.reserve) as usize;
            let classes = job.classes.clone();
            let pack = self.scenario.scheduler == Scheduler::Aware;
            let rule = PlacementRule { pack, most, limits: None, among: &classes };
            let mut start = |job: &mut Running, rule| {
                let free = (&mut self.free[..], &mut self.members);
                start(job, (number, kind), now, &mut self.tasks, free, &mut self.placing, rule);
            };
            if self.scenario.scheduler == Scheduler::Headroom {
                let by_history = PlacementRule { limits: Some(&self.task_limits[length as usize]), ..rule };
                start(job, by_history);
                start(job, PlacementRule { among: &[], ..by_history });
            }
            start(job, rule);
            if job.waiting > 0 && job.classes.is_empty() {
                full.all = true;
            } else if job.waiting > 0 {
                job.classes.iter().for_each(|&class| full.classes[class] = true);
            }
        }
        if job.waiting > 0 {
            self.sums.waiting += self.scenario.step_s;
            job.waited_s = job.waited_s.map(|waited| waited + self.scenario.step_s);
        }
        true
    }

    /// Return the result. The simulation ends at `end`; jobs arrived in the first `arrival_steps` steps.
    pub(super) fn finish(mut self, end: f64, arrival_steps: usize) -> Done {
        for job in self.jobs.iter().flatten() {
            self.done.unfinished += 1;
            self.sums.total += end - job.since;
            self.sums.alone += self.kinds[job.kind].stages as f64 * self.kinds[job.kind].task_s;
        }
        let all_cores = f64::from(self.scenario.cores) * self.tasks.len() as f64;
        self.sums.averages(self.done, all_cores * arrival_steps.max(1) as f64)
    }
}

/// Sums over jobs in seconds; `vain` and `useful` are in core seconds.
#[derive(Default)]
pub(super) struct Sums {
    pub(super) total: f64,
    pub(super) alone: f64,
    pub(super) waiting: f64,
    pub(super) vain: f64,
    pub(super) useful: f64,
}

impl Sums {
    /// Return means per job, and shares of all cores in the time in which jobs arrived.
    pub(super) fn averages(&self, done: Done, core_steps: f64) -> Done {
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
