//! What a request costs: a compiled clone document at work, shared by all threads of a server.

mod locks;
mod pauses;

use std::sync::{Mutex, PoisonError};

use hindmost_clock::{Clock, MonotonicClock, Nanos};
use hindmost_clone::{Program, Request, Sequence, Utilisation};
use hindmost_random::Draws;

pub(crate) use locks::{Lock, Manner, Meanwhile, Waiter};
pub(crate) use pauses::Pauses;

/// A program with everything of it that threads share.
pub(crate) struct Work {
    pub(crate) program: Program,
    pub(crate) takes_no_time: bool,
    seed: u64,
    /// When the server started: what disturbances by the clock count from.
    pub(crate) origin: Nanos,
    /// By number in the document; each an array.
    locks: Vec<Box<[Lock]>>,
    waiters: Box<[Waiter]>,
    /// Where service times depend on the load.
    load: Option<Mutex<Utilisation>>,
    /// Where service times hang together, in the order of service, whichever thread it is that serves.
    sequence: Option<Mutex<Sequence>>,
}

impl Work {
    pub(crate) fn new(program: Program, seed: u64, origin: Nanos) -> Self {
        let order = &program.document().order;
        let remembers = order.autocorrelation != 0.0 || !order.regimes.is_empty();
        let locks = program.locks.iter();
        Self {
            takes_no_time: program.takes_no_time(),
            seed,
            origin,
            locks: locks.map(|lock| (0..lock.instances).map(|_| Lock::default()).collect()).collect(),
            waiters: (0..program.threads).map(|_| Waiter::default()).collect(),
            load: program.depends_on_load().then(|| Mutex::new(program.utilisation())),
            sequence: remembers.then(|| Mutex::new(program.sequence())),
            program,
        }
    }

    /// Threads of the server.
    pub(crate) fn threads(&self) -> usize {
        self.waiters.len()
    }

    /// The random numbers of request `index`, in the order of service.
    pub(crate) fn draws(&self, index: u64) -> Draws {
        Draws::of(self.seed, index)
    }

    /// What a request takes whose service begins at `start`: when it should, whatever a thread needs between two services.
    /// `kind`: if the request names one.
    pub(crate) fn begin(&self, start: Nanos, own: &mut Sequence, draws: Draws, kind: Option<u32>) -> Request {
        let (load, others) = self.load.as_ref().map_or((0.0, 0.0), |load| {
            let mut load = load.lock().unwrap_or_else(PoisonError::into_inner);
            let since = start.saturating_sub(self.origin).0 as f64;
            let average = load.at(since);
            let others = f64::from(load.busy()) / (self.threads().max(2) - 1) as f64;
            load.begin(since);
            (average, others)
        });
        let draw = |sequence: &mut Sequence| match kind {
            Some(kind) => self.program.request_of_kind(kind, sequence, draws, load, others),
            None => self.program.request(sequence, draws, load, others),
        };
        match &self.sequence {
            Some(shared) => draw(&mut shared.lock().unwrap_or_else(PoisonError::into_inner)),
            None => draw(own),
        }
    }

    /// The service of a request ended at `moment`, or should have.
    pub(crate) fn end(&self, moment: Nanos) {
        if let Some(load) = &self.load {
            let mut load = load.lock().unwrap_or_else(PoisonError::into_inner);
            load.end(moment.saturating_sub(self.origin).0 as f64);
        }
    }

    /// Pauses of one thread.
    pub(crate) fn pauses(&self, thread: usize) -> Pauses {
        Pauses::new(&self.program, self.seed, thread as u32, self.origin)
    }

    pub(crate) fn lock(&self, place: usize, instance: u32) -> &Lock {
        &self.locks[place][instance as usize]
    }

    pub(crate) fn waiters(&self) -> &[Waiter] {
        &self.waiters
    }

    /// How to wait for lock number `place`.
    pub(crate) fn manner(&self, place: usize) -> Manner {
        let lock = &self.program.locks[place];
        Manner { release: lock.release, spin_ns: lock.spin_ns, wake_ns: lock.wake_ns }
    }
}

/// The present moment.
#[inline]
pub(crate) fn now() -> Nanos {
    MonotonicClock.now()
}
