//! Event by event: all that a document can say.

mod calendar;
mod locks;
mod reorder;
mod stops;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

use hindmost_clone::arrivals::route;
use hindmost_clone::{Hold, LockPlace, Program, Queue, Sequence, Utilisation};
use hindmost_random::Draws;

use crate::arrivals::{think, Moments};
use crate::{Arrivals, Design, Row, SimulateError, Sink};
use calendar::{Calendar, Event};
use locks::{LockState, Wait};
use reorder::Reorder;
use stops::Stops;

pub(crate) use locks::LockUse;

/// So many events go by between two looks at the stop sign.
const BLOCK: u32 = 4_096;

pub(crate) fn run(
    program: &Program,
    design: &Design,
    rate: Option<f64>,
    sink: &mut impl Sink,
    stop: &AtomicBool,
) -> Result<Vec<LockUse>, SimulateError> {
    if program.stopped_share() >= 1.0 {
        return Err(SimulateError::NeverRuns { share: program.stopped_share() });
    }
    let mut server = Server::new(program, design, rate, sink);
    server.open();
    let mut left = BLOCK;
    while server.step() {
        left -= 1;
        if left == 0 {
            left = BLOCK;
            if stop.load(Ordering::Relaxed) {
                return Err(SimulateError::Interrupted);
            }
        }
    }
    Ok(server.uses)
}

/// The server in the middle of it.
struct Server<'a, S> {
    program: &'a Program,
    design: &'a Design,
    moments: Moments<'a>,
    /// Of an open loop: when the next request arrives.
    due_ns: Option<f64>,
    arrived: u64,
    started: u64,
    now_ns: f64,
    /// Of each queue: what taking requests in takes of its threads.
    intakes: Box<[Intake]>,
    calendar: Calendar,
    /// One, or one a thread: when those in it arrived.
    queues: Box<[VecDeque<f64>]>,
    workers: Box<[Worker]>,
    /// Threads without a request, the one that has been idle longest first.
    idle: VecDeque<u32>,
    steps: Box<[Step]>,
    locks: Box<[Box<[LockState]>]>,
    uses: Vec<LockUse>,
    sequence: Sequence,
    utilisation: Utilisation,
    /// Whether anything depends on the load; otherwise its average is not kept.
    watches_load: bool,
    rows: Reorder<'a, S>,
}

/// What taking in the requests of a queue takes of its threads.
#[derive(Clone, Copy, Default)]
struct Intake {
    /// Not given yet: whichever begins or ends a service next gives it. Of a single thread this is exact: it is at it.
    owed_ns: f64,
    /// Until then somebody takes in, and who arrives is taken in with the others.
    until_ns: f64,
}

impl Intake {
    fn arrive(&mut self, now_ns: f64, idle: bool, program: &Program) {
        if now_ns < self.until_ns {
            return;
        }
        let takes_ns = if idle { program.wake_ns } else { program.arrival_ns };
        self.owed_ns += takes_ns;
        self.until_ns = now_ns + takes_ns;
    }
}

/// A stage of a request's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Lock(usize),
    Service,
}

struct Worker {
    stops: Stops,
    job: Job,
    wait: Option<Wait>,
    /// Number of the state of waiting, by which events that came too late are known.
    state: u32,
    /// Waiting began.
    since_ns: f64,
    /// Told already that it will run again.
    resumes: bool,
}

/// The request that a thread is at.
#[derive(Clone, Copy)]
struct Job {
    number: u64,
    draws: Draws,
    step: usize,
    arrival_ns: f64,
    start_ns: f64,
    work_ns: f64,
    demand_ns: f64,
    lock_wait_ns: f64,
    hold: Hold,
    kind: u32,
}

impl<'a, S: Sink> Server<'a, S> {
    fn new(program: &'a Program, design: &'a Design, rate: Option<f64>, sink: &'a mut S) -> Self {
        let threads = program.threads;
        let at = |place: LockPlace| {
            let locks = program.locks.iter().enumerate();
            locks.filter(move |(_, lock)| lock.at == place).map(|(number, _)| Step::Lock(number))
        };
        let steps = at(LockPlace::Before).chain([Step::Service]).chain(at(LockPlace::After)).collect();
        let nothing = Job {
            number: 0,
            draws: Draws::of(design.seed, 0),
            step: 0,
            arrival_ns: 0.0,
            start_ns: 0.0,
            work_ns: 0.0,
            demand_ns: 0.0,
            lock_wait_ns: 0.0,
            hold: Hold { instance: 0, hold_ns: 0.0 },
            kind: 0,
        };
        let worker = |thread| Worker {
            stops: Stops::new(program, design.seed, thread),
            job: nothing,
            wait: None,
            state: 0,
            since_ns: 0.0,
            resumes: false,
        };
        let queues = if program.queue == Queue::Shared { 1 } else { threads as usize };
        Self {
            program,
            design,
            moments: Moments::new(&design.arrivals, rate),
            due_ns: None,
            arrived: 0,
            started: 0,
            now_ns: 0.0,
            intakes: vec![Intake::default(); queues].into(),
            calendar: Calendar::default(),
            queues: vec![VecDeque::new(); queues].into(),
            workers: (0..threads).map(worker).collect(),
            idle: (0..threads).collect(),
            steps,
            locks: program
                .locks
                .iter()
                .map(|lock| vec![LockState::default(); lock.instances as usize].into())
                .collect(),
            uses: vec![LockUse::default(); program.locks.len()],
            sequence: program.sequence(),
            utilisation: program.utilisation(),
            watches_load: program.depends_on_load(),
            rows: Reorder::new(sink),
        }
    }

    /// The first arrivals.
    fn open(&mut self) {
        if let Arrivals::Closed { clients, think_us } = self.design.arrivals {
            for client in 0..u64::from(clients).min(self.design.total()) {
                // Clients have numbers from the far end, so that their first thoughts are nobody else's.
                let at_ns = think(Draws::of(self.design.seed, u64::MAX - client), think_us);
                self.calendar.enter(at_ns, Event::Arrival);
            }
        } else {
            self.next_due();
        }
    }

    fn next_due(&mut self) {
        let index = self.arrived;
        let there = index < self.design.total();
        self.due_ns = there.then(|| self.moments.next(index, Draws::of(self.design.seed, index)));
    }

    /// The next event; `false` where there is none.
    fn step(&mut self) -> bool {
        let next = self.calendar.next_ns();
        if let Some(due_ns) = self.due_ns {
            if next.is_none_or(|next| due_ns < next) {
                self.now_ns = due_ns;
                self.arrive();
                self.next_due();
                return true;
            }
        }
        let Some((now_ns, event)) = self.calendar.take() else { return false };
        self.now_ns = now_ns;
        match event {
            Event::Arrival => self.arrive(),
            Event::Done { thread } => self.done(thread),
            Event::Resume { thread } => {
                self.workers[thread as usize].resumes = false;
                self.dispatch(self.queue_of(thread));
            }
            Event::Try { thread, state } => self.retry(thread, state),
            Event::SpinEnd { thread, state } => self.spun(thread, state),
        }
        true
    }

    fn arrive(&mut self) {
        if self.arrived == self.design.total() {
            return; // a client of a closed loop that is no longer needed
        }
        let queue = match self.queues.len() {
            1 => 0,
            n => route(Draws::of(self.design.seed, self.arrived), n),
        };
        self.arrived += 1;
        let idle = self.idle.iter().any(|&thread| self.queue_of(thread) == queue);
        self.intakes[queue].arrive(self.now_ns, idle, self.program);
        self.queues[queue].push_back(self.now_ns);
        self.dispatch(queue);
    }

    fn queue_of(&self, thread: u32) -> usize {
        if self.queues.len() == 1 {
            0
        } else {
            thread as usize
        }
    }

    /// Gives requests of a queue to threads that are idle and run.
    fn dispatch(&mut self, queue: usize) {
        while !self.queues[queue].is_empty() {
            let Some(place) = self.ready(queue) else { return };
            let thread = self.idle.remove(place).expect("a place among the idle");
            let arrival_ns = self.queues[queue].pop_front().expect("it is not empty");
            self.start(thread, arrival_ns);
        }
    }

    /// Place among the idle of a thread that can take from a queue now. Those that stand still are heard of later.
    fn ready(&mut self, queue: usize) -> Option<usize> {
        for place in 0..self.idle.len() {
            let thread = self.idle[place];
            if self.queue_of(thread) != queue {
                continue;
            }
            let worker = &mut self.workers[thread as usize];
            let runs = worker.stops.runs_at(self.now_ns);
            if runs <= self.now_ns {
                return Some(place);
            }
            if !std::mem::replace(&mut worker.resumes, true) {
                self.calendar.enter(runs, Event::Resume { thread });
            }
        }
        None
    }

    fn start(&mut self, thread: u32, arrival_ns: f64) {
        let draws = Draws::of(self.design.seed, self.started);
        let (load, others) = self.loads();
        let request = self.program.request(&mut self.sequence, draws, load, others);
        let demand_ns = request.service_ns + request.noise_ns;
        self.workers[thread as usize].job = Job {
            number: self.started,
            draws,
            step: 0,
            arrival_ns,
            start_ns: self.now_ns,
            work_ns: demand_ns,
            demand_ns,
            lock_wait_ns: 0.0,
            hold: Hold { instance: 0, hold_ns: 0.0 },
            kind: request.kind,
        };
        self.started += 1;
        if self.watches_load {
            self.utilisation.begin(self.now_ns);
        }
        self.proceed(thread);
    }

    /// The load, and the share of the other threads that are busy, as a request begins.
    fn loads(&mut self) -> (f64, f64) {
        if !self.watches_load {
            return (0.0, 0.0);
        }
        let others = f64::from(self.utilisation.busy()) / f64::from((self.program.threads - 1).max(1));
        (self.utilisation.at(self.now_ns), others)
    }

    /// A step is over; a service only if nobody arrived in it.
    fn done(&mut self, thread: u32) {
        match self.steps[self.workers[thread as usize].job.step] {
            Step::Lock(_) => self.release(thread),
            Step::Service if self.intakes[self.queue_of(thread)].owed_ns > 0.0 => {
                return self.serve(thread, 0.0);
            }
            Step::Service => {}
        }
        self.workers[thread as usize].job.step += 1;
        self.proceed(thread);
    }

    /// Begins the next step of a thread's request, or ends the request.
    fn proceed(&mut self, thread: u32) {
        loop {
            let worker = &mut self.workers[thread as usize];
            match self.steps.get(worker.job.step) {
                None => return self.finish(thread),
                Some(Step::Service) => {
                    let work_ns = worker.job.work_ns;
                    return self.serve(thread, work_ns);
                }
                Some(&Step::Lock(lock)) => {
                    if let Some(hold) = self.program.locks[lock].hold(worker.job.draws) {
                        worker.job.hold = hold;
                        return self.acquire(thread);
                    }
                    worker.job.step += 1;
                }
            }
        }
    }

    /// A thread works, and gives what is owed to those that arrived.
    fn serve(&mut self, thread: u32, work_ns: f64) {
        let queue = self.queue_of(thread);
        let owed_ns = std::mem::take(&mut self.intakes[queue].owed_ns);
        let worker = &mut self.workers[thread as usize];
        worker.job.demand_ns += owed_ns;
        let done = worker.stops.done_at(self.now_ns, work_ns + owed_ns);
        self.calendar.enter(done, Event::Done { thread });
    }

    fn finish(&mut self, thread: u32) {
        let now = self.now_ns;
        let job = self.workers[thread as usize].job;
        if self.watches_load {
            self.utilisation.end(now);
        }
        self.rows.put(
            job.number,
            Row {
                arrival_ns: job.arrival_ns,
                start_ns: job.start_ns,
                finish_ns: now,
                demand_ns: job.demand_ns,
                lock_wait_ns: job.lock_wait_ns,
                kind: job.kind,
            },
        );
        if let Arrivals::Closed { think_us, .. } = self.design.arrivals {
            let thinks = think(job.draws, think_us);
            self.calendar.enter(now + self.program.outside_ns + thinks, Event::Arrival);
        }
        self.idle.push_back(thread);
        self.dispatch(self.queue_of(thread));
    }

    /// Lock and instance of a thread's step.
    fn wanted(&self, thread: u32) -> (usize, usize) {
        let job = &self.workers[thread as usize].job;
        match self.steps[job.step] {
            Step::Lock(lock) => (lock, job.hold.instance as usize),
            Step::Service => unreachable!("asked of threads at a lock alone"),
        }
    }

    /// Whether a thread's request comes after the warm-up.
    fn counts(&self, thread: u32) -> bool {
        self.workers[thread as usize].job.number >= self.design.warmup
    }
}
