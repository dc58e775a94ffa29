//! What a connection has sent: bytes, and the requests found in them that still wait for service.

use std::collections::VecDeque;

use hindmost_clock::Nanos;

use crate::memcached::{Command, Parser, Step};

/// First size of a buffer: hundreds of usual requests.
const SMALL: usize = 16 << 10;
/// Bytes of waiting requests beyond which a connection is not read, so that the client's own send
/// buffer fills and it has to wait.
const READ_AHEAD: usize = 256 << 10;
/// Waiting requests beyond which no more are looked for.
const MAX_PENDING: usize = 16 << 10;

/// A request that waits for service.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    pub(crate) command: Command,
    pub(crate) arrival: Nanos,
    length: usize,
}

/// ```text
///   bytes:  | gone | waiting requests | not yet understood | free |
///                  ^ served           ^ parsed             ^ filled
/// ```
#[derive(Default)]
pub(crate) struct Inbox {
    bytes: Vec<u8>,
    served: usize,
    parsed: usize,
    filled: usize,
    parser: Parser,
    pending: VecDeque<Pending>,
}

impl Inbox {
    /// Room for more bytes; `None` while too much waits.
    pub(crate) fn space(&mut self) -> Option<&mut [u8]> {
        if self.served == self.filled {
            (self.served, self.parsed, self.filled) = (0, 0, 0);
            if self.bytes.len() > READ_AHEAD {
                self.bytes = Vec::new();
            }
        }
        let waiting = self.parsed - self.served;
        // One request may be longer than the read-ahead, but only once everything before it is short.
        let limit =
            if waiting < READ_AHEAD { READ_AHEAD.max(waiting + self.parser.need()) } else { READ_AHEAD };
        if self.filled - self.served >= limit {
            return None;
        }
        if self.filled == self.bytes.len() {
            if self.served > self.bytes.len() / 2 || (self.served > 0 && self.bytes.len() >= limit) {
                self.bytes.copy_within(self.served..self.filled, 0);
                self.parsed -= self.served;
                self.filled -= self.served;
                self.served = 0;
            } else {
                let larger = (2 * self.bytes.len()).clamp(SMALL, limit.max(SMALL));
                self.bytes.resize(larger, 0);
            }
        }
        Some(&mut self.bytes[self.filled..])
    }

    /// Says that `count` bytes were put into the space.
    pub(crate) fn fill(&mut self, count: usize) {
        self.filled += count;
    }

    /// Looks for the next request; true if one was found and now waits.
    pub(crate) fn advance(&mut self, arrival: Nanos) -> bool {
        while self.pending.len() < MAX_PENDING {
            match self.parser.step(&self.bytes[self.parsed..self.filled]) {
                Step::More => return false,
                Step::Skip(length) => {
                    self.parsed += length;
                    match self.pending.back_mut() {
                        Some(last) => last.length += length,
                        None => self.served += length,
                    }
                }
                Step::Frame(command, length) => {
                    self.parsed += length;
                    self.pending.push_back(Pending { command, arrival, length });
                    return true;
                }
            }
        }
        false
    }

    /// Requests that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.pending.len()
    }

    /// Whether requests may lie in the bytes that were not looked for, because too many wait.
    pub(crate) fn is_full(&self) -> bool {
        self.pending.len() >= MAX_PENDING
    }

    /// The oldest request that waits, and its bytes.
    pub(crate) fn front(&self) -> Option<(&Pending, &[u8])> {
        let first = self.pending.front()?;
        Some((first, &self.bytes[self.served..self.served + first.length]))
    }

    /// Forgets the oldest request.
    pub(crate) fn pop(&mut self) {
        if let Some(first) = self.pending.pop_front() {
            self.served += first.length;
        }
    }
}
