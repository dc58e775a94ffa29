//! One first-come-first-served queue in front of all workers.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use super::connection::Connection;

/// Requests that can wait before the queue has to allocate.
const ROOM: usize = 1 << 16;

/// A request that waits for a worker.
pub struct Waiting {
    /// Which request it is: what it asks for follows from this and the seed.
    pub number: u64,
    /// How many arrived before it.
    pub place: usize,
    /// When it was whole.
    pub arrival_ns: u64,
    /// Where the reply goes, and its turn there.
    pub connection: Arc<Connection>,
    pub turn: u64,
    /// Whether the connection goes on after it.
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
        let state = State { waiting: VecDeque::with_capacity(ROOM), closed: false };
        Self { state: Mutex::new(state), filled: Condvar::new() }
    }

    /// Puts a request behind all others, and wakes a worker that has nothing to do.
    pub fn put(&self, waiting: Waiting) {
        self.state().waiting.push_back(waiting);
        self.filled.notify_one();
    }

    /// Takes the request that came first, waiting for one; `None` when the queue is closed.
    pub fn take(&self) -> Option<Waiting> {
        let state = self.state();
        let empty = |state: &mut State| state.waiting.is_empty() && !state.closed;
        let mut state = self.filled.wait_while(state, empty).expect("no holder panics");
        state.waiting.pop_front()
    }

    /// Ends it: nothing waits any longer. Returns how many did.
    pub fn close(&self) -> u64 {
        let mut state = self.state();
        state.closed = true;
        let discarded = state.waiting.len() as u64;
        state.waiting.clear();
        self.filled.notify_all();
        discarded
    }

    /// Whether it has ended.
    pub fn is_closed(&self) -> bool {
        self.state().closed
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder panics")
    }
}
