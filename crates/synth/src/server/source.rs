//! Where the requests of a hall come from: sockets, or this process itself.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use mio::Waker;

use super::hall::{Hall, Ticket};
use super::schedule::Schedule;
use super::sockets::Sockets;
use crate::work::now;
use crate::SynthError;

pub(super) enum Source {
    /// Clients.
    Sockets { sockets: Box<Mutex<Sockets>>, waker: Arc<Waker> },
    /// Requests that are due at moments which are known beforehand.
    Due(Schedule),
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
            Self::Due(schedule) => {
                schedule.look(hall, sleeps);
                Ok(())
            }
            Self::Always { .. } => Ok(()),
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
