//! One first-come-first-served queue in front of all workers.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use super::connection::Connection;

/// Requests that can wait before the queue has to allocate.
const INITIAL_CAPACITY: usize = 1 << 16;

/// A request that waits for a worker.
pub struct Waiting {
    /// Number of the request, which together with the seed determines its content.
    pub number: u64,
    /// Number of requests that arrived before it.
    pub place: usize,
    /// When it was complete.
    pub arrival_ns: u64,
    /// The connection of the reply, and its turn there.
    pub connection: Arc<Connection>,
    pub turn: u64,
    /// Whether the connection stays open after it.
    pub keep: bool,
}

struct State {
    waiting: VecDeque<Waiting>,
    closed: bool,
}

/// Filled by the reader, emptied by the workers.
pub struct Queue {
    state: Mutex<State>,
    filled: Condvar,
}

impl Queue {
    pub fn new() -> Self {
        let state = State { waiting: VecDeque::with_capacity(INITIAL_CAPACITY), closed: false };
        Self { state: Mutex::new(state), filled: Condvar::new() }
    }

    /// Append a request, and wake an idle worker.
    pub fn put(&self, waiting: Waiting) {
        self.state().waiting.push_back(waiting);
        self.filled.notify_one();
    }

    /// Take the oldest request, waiting for one if needed; `None` if the queue is closed.
    pub fn take(&self) -> Option<Waiting> {
        let state = self.state();
        let empty = |state: &mut State| state.waiting.is_empty() && !state.closed;
        let mut state = self.filled.wait_while(state, empty).expect("no holder panics");
        state.waiting.pop_front()
    }

    /// Close the queue and return the number of discarded requests.
    pub fn close(&self) -> u64 {
        let mut state = self.state();
        state.closed = true;
        let discarded = state.waiting.len() as u64;
        state.waiting.clear();
        self.filled.notify_all();
        discarded
    }

    /// Whether it is closed.
    pub fn is_closed(&self) -> bool {
        self.state().closed
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder panics")
    }
}
