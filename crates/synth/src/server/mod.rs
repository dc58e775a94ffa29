//! The server: threads, the halls that they serve, and the sockets in front of them.

mod connection;
mod door;
mod hall;
mod inbox;
mod inside;
mod intake;
mod running;
mod schedule;
mod slots;
mod sockets;
mod source;
mod spin;
mod worker;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{mpsc, Arc, Mutex};
use std::thread;

use hindmost_clock::Nanos;
use hindmost_clone::{Program, Queue};
use hindmost_sys::socket::lengthen_backlog;
use hindmost_sys::this_thread;
use mio::net::TcpListener;
use mio::Waker;

use crate::account::{Account, Closed, Closing, Ledger, LogFile, Report};
use crate::store::Store;
use crate::work::{now, Work};
use crate::{ServerConfig, SynthError};
use door::Door;
use hall::Hall;
use sockets::Sockets;
use source::Source;
use worker::Worker;

#[cfg(any(test, fuzzing))]
pub(crate) use inbox::Inbox;
pub use inside::{Arrivals, Inside};
pub use running::Running;
pub(crate) use spin::{cpu_clock_cost, spin};

/// What all threads of a server share.
pub(crate) struct Shared {
    pub(crate) store: Store,
    pub(crate) work: Work,
    ledgers: Box<[Ledger]>,
    connections: AtomicUsize,
    /// Requests so far whose service has begun.
    requests: AtomicU64,
    /// Set when a thread cannot go on, so that the others do not either.
    failed: AtomicBool,
}

impl Shared {
    pub(crate) fn new(config: &ServerConfig, program: Program, origin: Nanos) -> Self {
        let work = Work::new(program, config.seed, origin);
        Self {
            store: Store::new(config.memory_mib << 20, work.origin),
            ledgers: (0..work.threads()).map(|_| Ledger::default()).collect(),
            work,
            connections: AtomicUsize::new(0),
            requests: AtomicU64::new(0),
            failed: AtomicBool::new(false),
        }
    }

    pub(crate) fn ledger(&self, thread: usize) -> &Ledger {
        &self.ledgers[thread]
    }

    pub(crate) fn threads(&self) -> usize {
        self.ledgers.len()
    }

    /// When it started.
    pub(crate) fn started(&self) -> Nanos {
        self.work.origin
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    pub(crate) fn report(&self) -> Report {
        Report::of(&self.ledgers)
    }

    /// The number of the request whose service begins now.
    #[inline]
    fn next_index(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed)
    }
}

/// A server that listens, but does not answer yet.
pub struct Server {
    address: SocketAddr,
    crew: Crew,
}

/// The threads of a server, not started yet.
struct Crew {
    shared: Arc<Shared>,
    workers: Vec<Worker>,
    wakers: Vec<Arc<Waker>>,
    closing: Closing,
}

impl Server {
    /// Checks the document, takes the port and everything else that could be missing later.
    pub fn bind(config: &ServerConfig) -> Result<Self, SynthError> {
        config.validate()?;
        let program = config.program()?;
        let threads = program.threads as usize;
        check_cpus(config, threads)?;
        let failed = |source| SynthError::Bind { address: config.address.clone(), source };
        let listener = TcpListener::bind(config.socket_address()?).map_err(failed)?;
        lengthen_backlog(&listener).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let closing = closing(config)?;

        let in_each = if program.queue == Queue::Shared { threads } else { 1 };
        let shared = Arc::new(Shared::new(config, program, now()));
        let (mut fronts, mut wakers, mut desks) = (Vec::new(), Vec::new(), Vec::new());
        for first in (0..threads).step_by(in_each) {
            let (sender, receiver) = mpsc::channel();
            let (sockets, waker) = Sockets::new(Arc::clone(&shared), config.protocol, first, receiver)?;
            fronts.push(sockets);
            wakers.push(Arc::clone(&waker));
            desks.push((sender, waker));
        }
        fronts[0].open(Door::new(listener, desks))?;
        let halls: Vec<_> = fronts
            .into_iter()
            .zip(&wakers)
            .map(|(sockets, waker)| {
                let source =
                    Source::Sockets { sockets: Box::new(Mutex::new(sockets)), waker: Arc::clone(waker) };
                Arc::new(Hall::new(Arc::clone(&shared), source, in_each))
            })
            .collect();
        let workers = (0..threads).map(|n| Worker::new(config, n, &shared, &halls[n / in_each])).collect();
        Ok(Self { address, crew: Crew { shared, workers, wakers, closing } })
    }

    /// Where clients find the server.
    pub fn local_address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is set (an idle server looks every 100 ms), or until a thread fails.
    pub fn run(self, stop: &AtomicBool) -> Result<Account, SynthError> {
        self.crew.run(stop)
    }

    /// Binds and serves from a thread of its own, until the handle is dropped.
    pub fn spawn(config: &ServerConfig) -> Result<Running, SynthError> {
        Running::new(Self::bind(config)?)
    }
}

fn check_cpus(config: &ServerConfig, threads: usize) -> Result<(), SynthError> {
    for thread in 0..threads {
        if let Some(cpu) = config.cpu_of(thread) {
            this_thread::can_pin(cpu).map_err(|source| SynthError::Pin { thread, cpu, source })?;
        }
    }
    Ok(())
}

fn closing(config: &ServerConfig) -> Result<Closing, SynthError> {
    let log = config.log.as_deref().map(LogFile::create).transpose()?;
    let cpus = config.cpus.clone().unwrap_or_else(this_thread::allowed_cpus);
    Ok(Closing::begin(config.occupy, &cpus, log))
}

impl Crew {
    fn run(self, stop: &AtomicBool) -> Result<Account, SynthError> {
        let Self { shared, workers, wakers, closing } = self;
        let closed = thread::scope(|scope| {
            let threads: Vec<_> = workers
                .into_iter()
                .map(|worker| {
                    let (shared, wakers) = (&shared, &wakers);
                    scope.spawn(move || {
                        let alarm = Alarm { shared, wakers };
                        worker.run(stop, &shared.failed).inspect(|_| std::mem::forget(alarm))
                    })
                })
                .collect();
            // Every thread is joined; the first error is told.
            let ends: Vec<Result<Closed, SynthError>> = threads
                .into_iter()
                .enumerate()
                .map(|(thread, handle)| handle.join().unwrap_or(Err(SynthError::Panicked { thread })))
                .collect();
            ends.into_iter().collect::<Result<Vec<_>, _>>()
        })?;
        closing.end(shared.report(), closed, &shared.work.program.kind_names())
    }
}

/// Stops the other threads when its own ends by an error or a panic.
struct Alarm<'a> {
    shared: &'a Shared,
    wakers: &'a [Arc<Waker>],
}

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        self.shared.failed.store(true, Ordering::Relaxed);
        wake(self.wakers);
    }
}

/// Wakes threads that may sleep. A failure means that one notices at its next tick instead.
fn wake(wakers: &[Arc<Waker>]) {
    for waker in wakers {
        let _ = waker.wake();
    }
}
