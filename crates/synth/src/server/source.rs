//! Sources of a queue's requests: sockets, or this process.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};

use mio::Waker;

use super::job::Job;
use super::queue::RequestQueue;
use super::schedule::Schedule;
use super::sockets::Sockets;
use crate::work::now;
use crate::SynthError;

pub(super) enum Source {
    /// Clients' sockets.
    Sockets { sockets: Box<Mutex<Sockets>>, waker: Arc<Waker> },
    /// An open-loop schedule.
    Schedule(Schedule),
    /// Closed loop: every free thread gets its next request at once, up to `most` requests.
    BackToBack { most: u64, count: AtomicU64 },
}

impl Source {
    /// See [`super::station::Station::poll`].
    pub(super) fn poll(&self, queue: &RequestQueue, may_sleep: bool) -> Result<(), SynthError> {
        match self {
            Self::Sockets { sockets, waker } => {
                let may_sleep = may_sleep && queue.is_empty();
                let mut sockets = match sockets.try_lock() {
                    Ok(sockets) => sockets,
                    Err(TryLockError::Poisoned(poison)) => poison.into_inner(),
                    // Another thread polls them and stamps arrivals.
                    Err(TryLockError::WouldBlock) if !may_sleep => return Ok(()),
                    Err(TryLockError::WouldBlock) => {
                        if queue.has_leftovers() {
                            let _ = waker.wake();
                        }
                        sockets.lock().unwrap_or_else(PoisonError::into_inner)
                    }
                };
                let may_sleep = may_sleep && queue.is_empty() && !queue.has_leftovers();
                sockets.poll(queue, may_sleep)
            }
            Self::Schedule(schedule) => {
                schedule.poll(queue, may_sleep);
                Ok(())
            }
            Self::BackToBack { .. } => Ok(()),
        }
    }

    /// Return a closed-loop request, which does not wait in the queue.
    #[inline]
    pub(super) fn next_closed_loop(&self) -> Option<Job> {
        let Self::BackToBack { most, count } = self else {
            return None;
        };
        if count.fetch_add(1, Ordering::Relaxed) >= *most {
            return None;
        }
        Some(Job::in_process(now()))
    }
}
