//! State of the simulated server: queues, threads, locks and calendar.

use std::collections::VecDeque;

use hindmost_clone::{Hold, LockPlace, Program, Queue, Sequence, Utilisation};
use hindmost_random::Draws;

use super::calendar::Calendar;
use super::reorder::Reorder;
use super::stops::Stops;
use crate::arrivals::Moments;
use crate::SimulateError;
use crate::{Design, Sink};

/// The simulated server between two events.
pub(super) struct Server<'a, S> {
    pub(super) program: &'a Program,
    pub(super) design: &'a Design,
    pub(super) moments: Moments<'a>,
    /// In an open loop: when the next request arrives.
    pub(super) scheduled_ns: Option<f64>,
    pub(super) arrived: u64,
    pub(super) started: u64,
    pub(super) now_ns: f64,
    /// One per queue.
    pub(super) arrival_costs: Box<[ArrivalCost]>,
    pub(super) calendar: Calendar,
    /// One queue, or one per thread: arrival times of the waiting requests.
    pub(super) queues: Box<[VecDeque<f64>]>,
    pub(super) workers: Box<[Worker]>,
    /// Threads without a request; the one that has been idle longest is first.
    pub(super) idle: VecDeque<u32>,
    pub(super) steps: Box<[Step]>,
    pub(super) locks: Box<[Box<[LockState]>]>,
    pub(super) uses: Vec<LockUse>,
    pub(super) sequence: Sequence,
    pub(super) utilisation: Utilisation,
    /// Whether anything depends on the load; otherwise its average is not computed.
    pub(super) depends_on_load: bool,
    pub(super) rows: Reorder<'a, S>,
}

/// Work that arrivals at a queue cause for its threads.
#[derive(Clone, Copy, Default)]
pub(super) struct ArrivalCost {
    /// Cost not yet paid: the thread that next begins or ends a service pays it. For a single thread this is
    /// exact.
    pub(super) unspent_ns: f64,
    /// The end of the current arrival's processing; arrivals before it cost nothing more.
    pub(super) until_ns: f64,
}

impl ArrivalCost {
    pub(super) fn arrive(&mut self, now_ns: f64, idle: bool, program: &Program) {
        if now_ns < self.until_ns {
            return;
        }
        let cost_ns = if idle { program.wake_ns } else { program.arrival_ns };
        self.unspent_ns += cost_ns;
        self.until_ns = now_ns + cost_ns;
    }
}

/// The next step of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Lock(usize),
    Service,
}

pub(super) struct Worker {
    pub(super) stops: Stops,
    pub(super) job: Job,
    pub(super) wait: Option<Wait>,
    /// Number of the waiting state, which identifies outdated events.
    pub(super) state: u32,
    /// Start of waiting.
    pub(super) since_ns: f64,
    /// Whether its resumption is in the calendar.
    pub(super) resumes: bool,
}

/// The request that a thread is serving.
#[derive(Clone, Copy)]
pub(super) struct Job {
    pub(super) number: u64,
    pub(super) draws: Draws,
    pub(super) step: usize,
    pub(super) arrival_ns: f64,
    pub(super) start_ns: f64,
    pub(super) work_ns: f64,
    pub(super) demand_ns: f64,
    pub(super) lock_wait_ns: f64,
    pub(super) hold: Hold,
    pub(super) kind: u32,
}

/// One lock of an array.
#[derive(Clone, Debug, Default)]
pub(crate) struct LockState {
    pub(super) held: bool,
    /// Waiting threads, the oldest first. With barging, a thread that falls asleep or wakes goes to the end.
    pub(super) waiters: VecDeque<u32>,
}

/// How a waiter waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    Spins,
    Sleeps,
    Wakes,
}

/// Statistics of one array of locks, without warm-up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LockUse {
    /// How often it was taken.
    pub(crate) taken: u64,
    /// How often a thread had to wait for it.
    pub(crate) waited: u64,
    /// How often a waiter fell asleep.
    pub(crate) slept: u64,
    /// Total waiting time in ns.
    pub(crate) wait_ns: f64,
    /// Total holding time in ns.
    pub(crate) held_ns: f64,
}

impl<'a, S: Sink> Server<'a, S> {
    pub(super) fn new(
        program: &'a Program,
        design: &'a Design,
        rate: Option<f64>,
        sink: &'a mut S,
    ) -> Result<Self, SimulateError> {
        let threads = program.threads;
        let at = |place: LockPlace| {
            let locks = program.locks.iter().enumerate();
            locks.filter(move |(_, lock)| lock.at == place).map(|(number, _)| Step::Lock(number))
        };
        let steps = at(LockPlace::Before).chain([Step::Service]).chain(at(LockPlace::After)).collect();
        let nothing = Job {
            number: 0,
            draws: Draws::new(design.seed, 0),
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
        Ok(Self {
            program,
            design,
            moments: Moments::new(&design.arrivals, rate, design.seed)?,
            scheduled_ns: None,
            arrived: 0,
            started: 0,
            now_ns: 0.0,
            arrival_costs: vec![ArrivalCost::default(); queues].into(),
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
            depends_on_load: program.depends_on_load(),
            rows: Reorder::new(sink),
        })
    }
}
