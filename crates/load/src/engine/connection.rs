//! One connection's state: what is still to be written, what is still to be answered.

use std::collections::VecDeque;

use crate::protocol::Outcome;
use crate::workload::Kind;

/// A request that waits for its reply.
#[derive(Clone, Copy, Debug)]
pub struct Pending {
    pub due_ns: u64,
    /// 0 until its write call.
    pub sent_ns: u64,
    pub kind: Kind,
}

/// Where a connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Can carry requests.
    Open,
    /// The attempt to connect has not ended.
    Connecting,
    /// To be tried again.
    Down,
}

/// The rest of a reply whose length is known and whose bytes are still arriving.
#[derive(Clone, Copy, Debug)]
pub struct Tail {
    pub bytes: u64,
    pub outcome: Outcome,
    pub closes: bool,
}

#[derive(Debug)]
pub struct Connection {
    pub state: State,
    /// Requests not yet answered, oldest first. Never grows beyond its first capacity.
    pub pending: VecDeque<Pending>,
    /// How many of `pending`, at its end, are not yet handed to the kernel.
    pub fresh: usize,
    /// Bytes to write, from `written` on. Never grows beyond its first capacity.
    pub out: Vec<u8>,
    pub written: usize,
    /// The kernel took less than it was given; we wait for room.
    pub blocked: bool,
    /// The unparsed start of a reply.
    pub head: Vec<u8>,
    pub tail: Option<Tail>,
}

impl Connection {
    pub fn new(requests: usize, out_bytes: usize, head_bytes: usize) -> Self {
        Self {
            state: State::Down,
            pending: VecDeque::with_capacity(requests),
            fresh: 0,
            out: Vec::with_capacity(out_bytes),
            written: 0,
            blocked: false,
            head: Vec::with_capacity(head_bytes),
            tail: None,
        }
    }

    /// Whether one more request of at most `bytes` can be taken without allocating.
    #[inline]
    pub fn has_room(&self, bytes: usize) -> bool {
        self.pending.len() < self.pending.capacity() && self.out.len() + bytes <= self.out.capacity()
    }

    /// Forgets everything but the capacity.
    pub fn reset(&mut self, state: State) {
        self.state = state;
        self.pending.clear();
        self.fresh = 0;
        self.out.clear();
        self.written = 0;
        self.blocked = false;
        self.head.clear();
        self.tail = None;
    }
}
