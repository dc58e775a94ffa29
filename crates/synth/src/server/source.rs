//! Where the requests of a hall come from: sockets, or this process itself.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};

use mio::Waker;

use super::hall::{Hall, Ticket};
use super::sockets::{Sockets, TICK};
use crate::work::now;
use crate::SynthError;

pub(super) enum Source {
    /// Clients.
    Sockets { sockets: Box<Mutex<Sockets>>, waker: Arc<Waker> },
    /// Somebody in this process, who rings when there is something.
    Inside(Bell),
    /// Every free thread has its next request at once, until there were so many.
    Always { most: u64, made: AtomicU64 },
}

impl Source {
    /// See [`Hall::look`].
    pub(super) fn look(&self, hall: &Hall, sleeps: bool) -> Result<(), SynthError> {
        match self {
            Self::Sockets { sockets, waker } => {
                let sleeps = sleeps && !hall.has_requests();
                let mut sockets = match sockets.try_lock() {
                    Ok(sockets) => sockets,
                    Err(TryLockError::Poisoned(poison)) => poison.into_inner(),
                    // Another thread is at it, and stamps what comes.
                    Err(TryLockError::WouldBlock) if !sleeps => return Ok(()),
                    Err(TryLockError::WouldBlock) => {
                        if hall.has_chores() {
                            let _ = waker.wake();
                        }
                        let sockets: MutexGuard<_> = sockets.lock().unwrap_or_else(PoisonError::into_inner);
                        sockets
                    }
                };
                let sleeps = sleeps && !hall.has_requests() && !hall.has_chores();
                sockets.look(hall, sleeps)
            }
            Self::Inside(bell) => {
                if sleeps {
                    bell.wait(|| hall.has_requests());
                }
                Ok(())
            }
            Self::Always { .. } => Ok(()),
        }
    }

    /// Something was put into the queue from inside.
    pub(super) fn ring(&self) {
        if let Self::Inside(bell) = self {
            bell.ring();
        }
    }

    /// A request that need not have waited in the queue.
    #[inline]
    pub(super) fn make(&self) -> Option<Ticket> {
        let Self::Always { most, made } = self else {
            return None;
        };
        if made.fetch_add(1, Ordering::Relaxed) >= *most {
            return None;
        }
        Some(Ticket { client: None, number: 0, serve: true, arrival: now() })
    }
}

/// Wakes threads that have nothing to do.
#[derive(Default)]
pub(super) struct Bell {
    sleepers: Mutex<u32>,
    rung: Condvar,
}

impl Bell {
    fn wait(&self, ready: impl Fn() -> bool) {
        let mut sleepers = self.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
        if ready() {
            return;
        }
        *sleepers += 1;
        let waited = self.rung.wait_timeout(sleepers, TICK);
        *waited.unwrap_or_else(PoisonError::into_inner).0 -= 1;
    }

    /// Something has come.
    fn ring(&self) {
        if *self.sleepers.lock().unwrap_or_else(PoisonError::into_inner) > 0 {
            self.rung.notify_one();
        }
    }
}
