//! What a connection has sent: bytes, and the requests found in them that still wait for service.

use std::collections::VecDeque;

use super::command::{Command, Parser};
use super::context::Disposition;
use super::frame::Step;
use crate::Protocol;

/// First size of a buffer: hundreds of usual requests.
const SMALL: usize = 16 << 10;
/// Bytes of waiting requests beyond which a connection is not read, so that the client's own send
/// buffer fills and it has to wait.
const READ_AHEAD: usize = 256 << 10;
/// Waiting requests beyond which no more are looked for.
const MAX_PENDING: usize = 16 << 10;

/// A request whose reply is not on its way.
struct Pending {
    command: Command,
    /// Where its bytes begin in the stream.
    at: u64,
    length: usize,
    /// Its reply, where that waits for those of requests before it.
    done: Option<(Vec<u8>, Disposition)>,
}

/// ```text
///   bytes:  | gone | waiting requests | not yet understood | free |
///                  ^ served           ^ parsed             ^ filled
/// ```
pub(crate) struct Pipeline {
    bytes: Vec<u8>,
    /// Where the first byte kept lies in the stream.
    base: u64,
    served: usize,
    parsed: usize,
    filled: usize,
    parser: Parser,
    pending: VecDeque<Pending>,
    /// Number of the oldest request that waits; they are counted from 0.
    first: u64,
}

impl Pipeline {
    pub(crate) fn new(protocol: Protocol) -> Self {
        Self {
            bytes: Vec::new(),
            base: 0,
            served: 0,
            parsed: 0,
            filled: 0,
            parser: Parser::of(protocol),
            pending: VecDeque::new(),
            first: 0,
        }
    }

    /// Room for more bytes; `None` while too much waits.
    pub(crate) fn space(&mut self) -> Option<&mut [u8]> {
        if self.served == self.filled {
            self.base += self.served as u64;
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
                self.base += self.served as u64;
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

    /// Looks for the next request; its number if one was found and now waits.
    pub(crate) fn advance(&mut self) -> Option<u64> {
        while self.pending.len() < MAX_PENDING {
            match self.parser.step(&self.bytes[self.parsed..self.filled]) {
                Step::More => return None,
                Step::Skip(length) => {
                    self.parsed += length;
                    match self.pending.back_mut() {
                        Some(last) => last.length += length,
                        None => self.served += length,
                    }
                }
                Step::Frame(command, length) => {
                    let at = self.base + self.parsed as u64;
                    self.parsed += length;
                    self.pending.push_back(Pending { command, at, length, done: None });
                    return Some(self.first + self.pending.len() as u64 - 1);
                }
            }
        }
        None
    }

    /// Requests that wait, or are being served.
    pub(crate) fn waiting(&self) -> usize {
        self.pending.len()
    }

    /// Whether requests may lie in the bytes that were not looked for, because too many wait.
    pub(crate) fn is_full(&self) -> bool {
        self.pending.len() >= MAX_PENDING
    }

    /// Whether nothing before this request waits for its reply.
    #[inline]
    pub(crate) fn is_first(&self, number: u64) -> bool {
        number == self.first
    }

    /// A request that waits, and its bytes.
    #[inline]
    pub(crate) fn request(&self, number: u64) -> Option<(Command, &[u8])> {
        let pending = self.pending.get(number.checked_sub(self.first)? as usize)?;
        let from = (pending.at - self.base) as usize;
        Some((pending.command, &self.bytes[from..from + pending.length]))
    }

    /// Keeps the reply of a request until those before it have theirs.
    pub(crate) fn finish(&mut self, number: u64, reply: Vec<u8>, disposition: Disposition) {
        if let Some(pending) = self.pending.get_mut((number - self.first) as usize) {
            pending.done = Some((reply, disposition));
        }
    }

    /// The reply of the oldest request, if it is ready: the request is forgotten.
    pub(crate) fn pop_done(&mut self) -> Option<(Vec<u8>, Disposition)> {
        let done = self.pending.front_mut()?.done.take()?;
        self.pop();
        Some(done)
    }

    /// Forgets the oldest request.
    #[inline]
    pub(crate) fn pop(&mut self) {
        if let Some(first) = self.pending.pop_front() {
            self.served += first.length;
            self.first += 1;
        }
    }
}
