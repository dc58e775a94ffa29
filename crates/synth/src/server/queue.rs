//! The queue of waiting requests: first come, first served, for one or more threads.
//!
//! ```text
//!   per_thread:  queue -> thread        shared:  queue -+-> thread
//!                queue -> thread                        +-> thread
//! ```
//!
//! Locks are taken in the order: sockets, client, queue.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mio::Token;

use super::arrival_cost::ArrivalCost;
use super::job::{Client, Job};
use crate::shared::Shared;

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    /// Clients with unread bytes.
    unread: VecDeque<Arc<Client>>,
    /// Closed connections.
    closed: Vec<Token>,
}

/// The queue, and pending work at the sockets that fill it.
pub(super) struct RequestQueue {
    pub(super) shared: Arc<Shared>,
    state: Mutex<State>,
    /// Number of requests in the queue, readable without the lock.
    length: AtomicUsize,
    /// The cost of arrivals to the threads of this queue.
    pub(super) arrival_cost: ArrivalCost,
    /// Whether there are unread or closed clients: no event will announce them.
    has_leftovers: AtomicBool,
}

impl RequestQueue {
    /// Create the queue of a number of threads.
    pub(super) fn new(shared: Arc<Shared>, threads: usize) -> Self {
        let state = State { jobs: VecDeque::with_capacity(1 << 10), ..State::default() };
        Self {
            arrival_cost: ArrivalCost::new(shared.work.program.arrival_ns, threads),
            shared,
            state: Mutex::new(state),
            length: AtomicUsize::new(0),
            has_leftovers: AtomicBool::new(false),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.length.load(Ordering::Acquire) == 0
    }

    /// Add arrived requests to the queue; `jobs` is empty afterwards.
    pub(super) fn arrive(&self, jobs: &mut Vec<Job>) {
        if jobs.iter().any(|job| job.takes_service) {
            self.arrival_cost.requests_arrive(!self.is_empty());
        }
        self.push(jobs);
    }

    /// Append requests to the queue; `jobs` is empty afterwards.
    pub(super) fn push(&self, jobs: &mut Vec<Job>) {
        if jobs.is_empty() {
            return;
        }
        let mut state = self.lock();
        state.jobs.extend(jobs.drain(..));
        self.length.store(state.jobs.len(), Ordering::Release);
    }

    /// Remove the oldest request. Return it with its number in the order of service, which decides its random draws.
    #[inline]
    pub(super) fn pop(&self) -> Option<(Job, u64)> {
        if self.is_empty() {
            return None;
        }
        let mut state = self.lock();
        let job = state.jobs.pop_front()?;
        self.length.store(state.jobs.len(), Ordering::Release);
        // The lock ensures that services start in the order of their numbers.
        let index = if job.takes_service { self.shared.next_index() } else { 0 };
        Some((job, index))
    }

    /// Move up to `most` requests to `batch`.
    pub(super) fn pop_batch(&self, most: usize, batch: &mut Vec<Job>) {
        if self.is_empty() {
            return;
        }
        let mut state = self.lock();
        let count = most.min(state.jobs.len());
        batch.extend(state.jobs.drain(..count));
        self.length.store(state.jobs.len(), Ordering::Release);
    }

    /// Remember a client with unread bytes, so that other clients get their turn.
    pub(super) fn leave_unread(&self, client: &Arc<Client>) {
        self.lock().unread.push_back(Arc::clone(client));
        self.has_leftovers.store(true, Ordering::Release);
    }

    /// Remember a closed connection.
    pub(super) fn leave_closed(&self, token: Token) {
        self.lock().closed.push(token);
        self.has_leftovers.store(true, Ordering::Release);
    }

    #[inline]
    pub(super) fn has_leftovers(&self) -> bool {
        self.has_leftovers.load(Ordering::Acquire)
    }

    /// Move pending work into the two lists, for the thread that polls the sockets.
    pub(super) fn take_leftovers(&self, unread: &mut Vec<Arc<Client>>, closed: &mut Vec<Token>) {
        if !self.has_leftovers() {
            return;
        }
        let mut state = self.lock();
        unread.extend(state.unread.drain(..));
        closed.append(&mut state.closed);
        self.has_leftovers.store(false, Ordering::Release);
    }
}
