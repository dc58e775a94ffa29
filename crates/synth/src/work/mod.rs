//! The cost of requests: a compiled clone document, shared by all threads of a server.

mod locks;
mod pauses;

use std::sync::{Mutex, PoisonError};

use hindmost_clock::{Clock, MonotonicClock, Nanos};
use hindmost_clone::{Program, Request, Sequence, Utilisation};
use hindmost_random::Draws;

pub(crate) use locks::{Lock, WaitPolicy, Waiter, WhileWaiting};
pub(crate) use pauses::Pauses;

/// A program and the state that threads share.
pub(crate) struct Work {
    pub(crate) program: Program,
    pub(crate) takes_no_time: bool,
    seed: u64,
    /// Start of the server: the origin of disturbances by the clock.
    pub(crate) origin: Nanos,
    /// Locks by number in the document; each is an array.
    locks: Vec<Box<[Lock]>>,
    waiters: Box<[Waiter]>,
    /// Utilisation, if service times depend on the load.
    load: Option<Mutex<Utilisation>>,
    /// Shared sequence, if service times are correlated in the order of service across threads.
    sequence: Option<Mutex<Sequence>>,
}

impl Work {
    pub(crate) fn new(program: Program, seed: u64, origin: Nanos) -> Self {
        let order = &program.document().order;
        let is_correlated = order.autocorrelation != 0.0 || !order.regimes.is_empty();
        let locks = program.locks.iter();
        Self {
            takes_no_time: program.takes_no_time(),
            seed,
            origin,
            locks: locks.map(|lock| (0..lock.instances).map(|_| Lock::default()).collect()).collect(),
            waiters: (0..program.threads).map(|_| Waiter::default()).collect(),
            load: program.depends_on_load().then(|| Mutex::new(program.utilisation())),
            sequence: is_correlated.then(|| Mutex::new(program.sequence())),
            program,
        }
    }

    /// Return the number of threads.
    pub(crate) fn threads(&self) -> usize {
        self.waiters.len()
    }

    /// Return the random draws of request `index` in the order of service.
    pub(crate) fn draws(&self, index: u64) -> Draws {
        Draws::new(self.seed, index)
    }

    /// Draw the demands of a request whose service starts at `start`, its scheduled start. `kind` is given if the
    /// request names one.
    pub(crate) fn begin(&self, start: Nanos, own: &mut Sequence, draws: Draws, kind: Option<u32>) -> Request {
        let (load, busy_share) = self.load.as_ref().map_or((0.0, 0.0), |load| {
            let mut load = load.lock().unwrap_or_else(PoisonError::into_inner);
            let elapsed_ns = start.saturating_sub(self.origin).0 as f64;
            let average = load.average_at(elapsed_ns);
            let busy_share = f64::from(load.busy()) / (self.threads().max(2) - 1) as f64;
            load.begin(elapsed_ns);
            (average, busy_share)
        });
        let draw = |sequence: &mut Sequence| match kind {
            Some(kind) => self.program.request_of_kind(kind, sequence, draws, load, busy_share),
            None => self.program.request(sequence, draws, load, busy_share),
        };
        match &self.sequence {
            Some(shared) => draw(&mut shared.lock().unwrap_or_else(PoisonError::into_inner)),
            None => draw(own),
        }
    }

    /// Record the scheduled end of a service.
    pub(crate) fn end(&self, time: Nanos) {
        if let Some(load) = &self.load {
            let mut load = load.lock().unwrap_or_else(PoisonError::into_inner);
            load.end(time.saturating_sub(self.origin).0 as f64);
        }
    }

    /// Return the pauses of one thread.
    pub(crate) fn pauses(&self, thread: usize) -> Pauses {
        Pauses::new(&self.program, self.seed, thread as u32, self.origin)
    }

    pub(crate) fn lock(&self, place: usize, instance: u32) -> &Lock {
        &self.locks[place][instance as usize]
    }

    pub(crate) fn waiters(&self) -> &[Waiter] {
        &self.waiters
    }

    /// Return how to wait for lock number `place`.
    pub(crate) fn wait_policy(&self, place: usize) -> WaitPolicy {
        let lock = &self.program.locks[place];
        WaitPolicy { release: lock.release, spin_ns: lock.spin_ns, wake_ns: lock.wake_ns }
    }
}

/// Return the current time.
#[inline]
pub(crate) fn now() -> Nanos {
    MonotonicClock.now()
}
