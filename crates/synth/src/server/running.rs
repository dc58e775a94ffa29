//! A server in a separate thread.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use mio::Waker;

use super::pool::{wake, WorkerPool};
use crate::record::{LiveTotals, ServerSummary};
use crate::shared::Shared;
use crate::SynthError;

/// A running server. Dropping it stops the server and joins its threads.
pub struct Running {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Arc<AtomicBool>,
    wakers: Vec<Arc<Waker>>,
    thread: Option<JoinHandle<Result<ServerSummary, SynthError>>>,
}

impl Running {
    pub(super) fn start(address: SocketAddr, pool: WorkerPool) -> Result<Self, SynthError> {
        let stop = Arc::new(AtomicBool::new(false));
        let (shared, wakers) = (Arc::clone(&pool.shared), pool.wakers.clone());
        let flag = Arc::clone(&stop);
        let thread = thread::Builder::new()
            .name("synth".to_owned())
            .spawn(move || pool.run(&flag))
            .map_err(SynthError::system("start a thread"))?;
        Ok(Self { address, shared, stop, wakers, thread: Some(thread) })
    }

    /// Return the address of the server.
    pub fn local_address(&self) -> SocketAddr {
        self.address
    }

    /// Return the totals so far.
    pub fn totals(&self) -> LiveTotals {
        self.shared.totals()
    }

    /// Stop the server, and wait for its threads.
    ///
    /// # Panics
    /// Never: the thread exists until the server is stopped or dropped.
    pub fn stop(mut self) -> Result<ServerSummary, SynthError> {
        self.end().expect("the server runs until it is stopped")
    }

    fn end(&mut self) -> Option<Result<ServerSummary, SynthError>> {
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
