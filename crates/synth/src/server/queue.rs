//! Where requests wait for service: one queue, first come, first served, for one thread or for several.
//!
//! ```text
//!   per_thread:  queue -> thread        shared:  queue -+-> thread
//!                queue -> thread                        +-> thread
//! ```
//!
//! Locks are taken in the order sockets, client, queue.

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
    /// Clients that were left with bytes unread.
    unread: VecDeque<Arc<Client>>,
    /// Connections that were closed.
    closed: Vec<Token>,
}

/// The queue, and what else is to be done at the sockets that fill it.
pub(super) struct RequestQueue {
    pub(super) shared: Arc<Shared>,
    state: Mutex<State>,
    /// Requests in the queue, for a look without the lock.
    length: AtomicUsize,
    /// What arrivals cost the threads that serve this queue.
    pub(super) arrival_cost: ArrivalCost,
    /// Whether clients are unread or closed: no event will announce it.
    has_leftovers: AtomicBool,
}

impl RequestQueue {
    /// A queue that so many threads serve.
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

    /// Requests have arrived: they join the queue; `jobs` is empty afterwards.
    pub(super) fn arrive(&self, jobs: &mut Vec<Job>) {
        if jobs.iter().any(|job| job.takes_service) {
            self.arrival_cost.requests_arrive(!self.is_empty());
        }
        self.push(jobs);
    }

    /// Puts requests at the end of the queue; `jobs` is empty afterwards.
    pub(super) fn push(&self, jobs: &mut Vec<Job>) {
        if jobs.is_empty() {
            return;
        }
        let mut state = self.lock();
        state.jobs.extend(jobs.drain(..));
        self.length.store(state.jobs.len(), Ordering::Release);
    }

    /// The request that has waited longest, and its number in the order of service, by which its times are drawn.
    #[inline]
    pub(super) fn pop(&self) -> Option<(Job, u64)> {
        if self.is_empty() {
            return None;
        }
        let mut state = self.lock();
        let job = state.jobs.pop_front()?;
        self.length.store(state.jobs.len(), Ordering::Release);
        // With the queue locked: its threads begin in the order of their numbers.
        let index = if job.takes_service { self.shared.next_index() } else { 0 };
        Some((job, index))
    }

    /// Moves up to `most` requests into `batch`.
    pub(super) fn pop_batch(&self, most: usize, batch: &mut Vec<Job>) {
        if self.is_empty() {
            return;
        }
        let mut state = self.lock();
        let count = most.min(state.jobs.len());
        batch.extend(state.jobs.drain(..count));
        self.length.store(state.jobs.len(), Ordering::Release);
    }

    /// Remembers a client that is left with bytes unread, so that the others get their turn.
    pub(super) fn leave_unread(&self, client: &Arc<Client>) {
        self.lock().unread.push_back(Arc::clone(client));
        self.has_leftovers.store(true, Ordering::Release);
    }

    /// Remembers a connection that was closed.
    pub(super) fn leave_closed(&self, token: Token) {
        self.lock().closed.push(token);
        self.has_leftovers.store(true, Ordering::Release);
    }

    #[inline]
    pub(super) fn has_leftovers(&self) -> bool {
        self.has_leftovers.load(Ordering::Acquire)
    }

    /// Moves what was left into the two lists, for whoever is at the sockets.
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
