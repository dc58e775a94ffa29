//! The server: threads, each with its own sockets, queue and service times.

mod connection;
mod floor;
mod inbox;
mod slots;
mod worker;

use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use hindmost_clock::{Clock, MonotonicClock, Nanos};
use mio::net::TcpListener;
use mio::Waker;

use crate::account::{Ledger, Report};
use crate::store::Store;
use crate::{affinity, ServerConfig, SynthError};
use worker::{Door, Worker};

#[cfg(any(test, fuzzing))]
pub(crate) use inbox::Inbox;

/// What all threads of a server share.
pub(crate) struct Shared {
    pub(crate) store: Store,
    pub(crate) started: Nanos,
    ledgers: Box<[Ledger]>,
    connections: AtomicUsize,
    /// Set when a thread cannot go on, so that the others do not either.
    failed: AtomicBool,
}

impl Shared {
    pub(crate) fn new(config: &ServerConfig) -> Self {
        let started = MonotonicClock.now();
        Self {
            store: Store::new(config.memory_mib << 20, started),
            started,
            ledgers: (0..config.threads).map(|_| Ledger::default()).collect(),
            connections: AtomicUsize::new(0),
            failed: AtomicBool::new(false),
        }
    }

    pub(crate) fn ledger(&self, thread: usize) -> &Ledger {
        &self.ledgers[thread]
    }

    pub(crate) fn threads(&self) -> usize {
        self.ledgers.len()
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    pub(crate) fn report(&self) -> Report {
        Report::of(&self.ledgers)
    }
}

/// A server that listens, but does not answer yet.
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    workers: Vec<Worker>,
    wakers: Vec<Arc<Waker>>,
}

impl Server {
    /// Checks the document, takes the port and everything else that could be missing later.
    pub fn bind(config: &ServerConfig) -> Result<Self, SynthError> {
        config.validate()?;
        for thread in 0..config.threads {
            if let Some(cpu) = config.cpu_of(thread) {
                affinity::check(cpu).map_err(|source| SynthError::Pin { thread, cpu, source })?;
            }
        }
        let failed = |source| SynthError::Bind { address: config.address.clone(), source };
        let listener = TcpListener::bind(config.socket_address()?).map_err(failed)?;
        lengthen_queue(&listener).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let shared = Arc::new(Shared::new(config));

        let mut workers = Vec::with_capacity(config.threads);
        let mut wakers = Vec::with_capacity(config.threads);
        let mut desks = Vec::with_capacity(config.threads);
        for thread in 0..config.threads {
            let (sender, receiver) = mpsc::channel();
            let worker = Worker::new(config, thread, Arc::clone(&shared), receiver)?;
            wakers.push(worker.waker());
            desks.push((sender, worker.waker()));
            workers.push(worker);
        }
        workers[0].open(Door::new(listener, desks))?;
        Ok(Self { address, shared, workers, wakers })
    }

    /// Where clients find the server.
    pub fn local_address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is set (an idle server looks every 100 ms), or until a thread fails.
    pub fn run(self, stop: &AtomicBool) -> Result<Report, SynthError> {
        let Self { shared, workers, wakers, .. } = self;
        thread::scope(|scope| {
            let threads: Vec<_> = workers
                .into_iter()
                .map(|worker| {
                    let (shared, wakers) = (&shared, &wakers);
                    scope.spawn(move || {
                        let alarm = Alarm { shared, wakers };
                        worker.run(stop, &shared.failed).inspect(|()| std::mem::forget(alarm))
                    })
                })
                .collect();
            // Every thread is joined; the first error is told.
            let mut outcome = Ok(());
            for (thread, handle) in threads.into_iter().enumerate() {
                let end = handle.join().unwrap_or(Err(SynthError::Panicked { thread }));
                outcome = outcome.and(end);
            }
            outcome
        })?;
        Ok(shared.report())
    }

    /// Binds and serves from a thread of its own, until the handle is dropped.
    pub fn spawn(config: &ServerConfig) -> Result<Running, SynthError> {
        let server = Self::bind(config)?;
        let stop = Arc::new(AtomicBool::new(false));
        let (address, shared, wakers) = (server.address, Arc::clone(&server.shared), server.wakers.clone());
        let flag = Arc::clone(&stop);
        let thread = thread::Builder::new()
            .name("synth".to_owned())
            .spawn(move || server.run(&flag))
            .map_err(SynthError::system("start a thread"))?;
        Ok(Running { address, shared, stop, wakers, thread: Some(thread) })
    }
}

/// A queue for new connections as long as the host allows (`net.core.somaxconn`); the library's of 128
/// drops connections that come in hundreds, and each tries again after a second.
#[allow(unsafe_code)]
fn lengthen_queue(listener: &TcpListener) -> std::io::Result<()> {
    // SAFETY: no pointers are passed; a second listen(2) on a listening socket changes its queue's length.
    if unsafe { libc::listen(listener.as_raw_fd(), i32::MAX) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    Ok(())
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

/// A server at work. It stops, and its threads are joined, when this is dropped.
pub struct Running {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Arc<AtomicBool>,
    wakers: Vec<Arc<Waker>>,
    thread: Option<JoinHandle<Result<Report, SynthError>>>,
}

impl Running {
    /// Where clients find the server.
    pub fn local_address(&self) -> SocketAddr {
        self.address
    }

    /// The figures so far.
    pub fn report(&self) -> Report {
        self.shared.report()
    }

    /// Stops the server and waits for its threads.
    pub fn stop(mut self) -> Result<Report, SynthError> {
        self.end().unwrap_or_else(|| Ok(self.shared.report()))
    }

    fn end(&mut self) -> Option<Result<Report, SynthError>> {
        self.stop.store(true, Ordering::Relaxed);
        wake(&self.wakers);
        self.thread.take().map(|thread| thread.join().unwrap_or(Err(SynthError::Panicked { thread: 0 })))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// Wakes threads that may sleep. A failure means that one notices at its next tick instead.
fn wake(wakers: &[Arc<Waker>]) {
    for waker in wakers {
        let _ = waker.wake();
    }
}
