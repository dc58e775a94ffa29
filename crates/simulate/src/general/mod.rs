//! Event-by-event simulation of every feature of a document.

mod calendar;
mod locks;
mod reorder;
mod state;
mod stops;

use std::sync::atomic::{AtomicBool, Ordering};

use hindmost_clone::arrivals::route;
use hindmost_clone::{Hold, Program};
use hindmost_random::Draws;

use crate::arrivals::think;
use crate::{Arrivals, Design, Row, SimulateError, Sink};
use calendar::Event;
use state::{Job, Server, Step};

pub(crate) use state::LockUse;

/// Events between two checks of the stop flag.
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
    let mut server = Server::new(program, design, rate, sink)?;
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

impl<S: Sink> Server<'_, S> {
    /// Schedule the first arrivals.
    fn open(&mut self) {
        if let Arrivals::Closed { clients, think_us } = self.design.arrivals {
            for client in 0..u64::from(clients).min(self.design.total()) {
                // Clients have numbers from the far end, so that no request shares their draws.
                let at_ns = think(Draws::new(self.design.seed, u64::MAX - client), think_us);
                self.calendar.enter(at_ns, Event::Arrival);
            }
        } else {
            self.next_scheduled();
        }
    }

    fn next_scheduled(&mut self) {
        let index = self.arrived;
        let there = index < self.design.total();
        self.scheduled_ns = there.then(|| self.moments.next(index, Draws::new(self.design.seed, index)));
    }

    /// Process the next event; return `false` if there is none.
    fn step(&mut self) -> bool {
        let next = self.calendar.next_ns();
        if let Some(scheduled_ns) = self.scheduled_ns {
            if next.is_none_or(|next| scheduled_ns < next) {
                self.now_ns = scheduled_ns;
                self.arrive();
                self.next_scheduled();
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
            Event::SpinEnd { thread, state } => self.end_spin(thread, state),
        }
        true
    }

    fn arrive(&mut self) {
        if self.arrived == self.design.total() {
            return; // a client of a closed loop after the last request
        }
        let queue = match self.queues.len() {
            1 => 0,
            n => route(Draws::new(self.design.seed, self.arrived), n),
        };
        self.arrived += 1;
        let idle = self.idle.iter().any(|&thread| self.queue_of(thread) == queue);
        self.arrival_costs[queue].arrive(self.now_ns, idle, self.program);
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

    /// Assign requests of a queue to threads that are idle and not stopped.
    fn dispatch(&mut self, queue: usize) {
        while !self.queues[queue].is_empty() {
            let Some(place) = self.ready(queue) else { return };
            let thread = self.idle.remove(place).expect("a place among the idle");
            let arrival_ns = self.queues[queue].pop_front().expect("the queue is not empty");
            self.start(thread, arrival_ns);
        }
    }

    /// Return the position among the idle threads of one that can serve a queue now. Stopped threads come back
    /// by an event.
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
        let draws = Draws::new(self.design.seed, self.started);
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
        if self.depends_on_load {
            self.utilisation.begin(self.now_ns);
        }
        self.proceed(thread);
    }

    /// Return the load, and the fraction of the other threads that are busy, when a request begins.
    fn loads(&mut self) -> (f64, f64) {
        if !self.depends_on_load {
            return (0.0, 0.0);
        }
        let others = f64::from(self.utilisation.busy()) / f64::from((self.program.threads - 1).max(1));
        (self.utilisation.average_at(self.now_ns), others)
    }

    /// A step is complete; a service only if no request arrived during it.
    fn done(&mut self, thread: u32) {
        match self.steps[self.workers[thread as usize].job.step] {
            Step::Lock(_) => self.release(thread),
            Step::Service if self.arrival_costs[self.queue_of(thread)].unspent_ns > 0.0 => {
                return self.serve(thread, 0.0);
            }
            Step::Service => {}
        }
        self.workers[thread as usize].job.step += 1;
        self.proceed(thread);
    }

    /// Start the next step of a thread's request, or end the request.
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

    /// A thread works, and pays the cost of arrivals meanwhile.
    fn serve(&mut self, thread: u32, work_ns: f64) {
        let queue = self.queue_of(thread);
        let unspent_ns = std::mem::take(&mut self.arrival_costs[queue].unspent_ns);
        let worker = &mut self.workers[thread as usize];
        worker.job.demand_ns += unspent_ns;
        let done = worker.stops.done_at(self.now_ns, work_ns + unspent_ns);
        self.calendar.enter(done, Event::Done { thread });
    }

    fn finish(&mut self, thread: u32) {
        let now = self.now_ns;
        let job = self.workers[thread as usize].job;
        if self.depends_on_load {
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

    /// Return lock and instance of a thread's step.
    fn current_lock(&self, thread: u32) -> (usize, usize) {
        let job = &self.workers[thread as usize].job;
        match self.steps[job.step] {
            Step::Lock(lock) => (lock, job.hold.instance as usize),
            Step::Service => unreachable!("only called for threads at a lock"),
        }
    }

    /// Whether a thread's request comes after the warm-up.
    fn counts(&self, thread: u32) -> bool {
        self.workers[thread as usize].job.number >= self.design.warmup
    }
}
