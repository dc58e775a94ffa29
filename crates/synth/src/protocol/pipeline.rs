//! The received bytes of a connection, and the parsed requests that wait for service.

use std::collections::VecDeque;

use super::command::{Command, Parser};
use super::context::Disposition;
use super::frame::Step;
use crate::Protocol;

/// Initial buffer size: hundreds of typical requests.
const INITIAL_SIZE: usize = 16 << 10;
/// Bytes of waiting requests beyond which the connection is not read, so that the client's send buffer fills up and
/// the client has to wait.
const READ_AHEAD: usize = 256 << 10;
/// Waiting requests beyond which the parser stops.
const MAX_PENDING: usize = 16 << 10;

/// A request that has not been answered.
struct Pending {
    command: Command,
    /// Position of its first byte in the stream.
    at: u64,
    length: usize,
    /// Its reply, while it waits for the replies of earlier requests.
    done: Option<(Vec<u8>, Disposition)>,
}

/// ```text
///   bytes:  | used | waiting requests | not parsed yet     | free |
///                  ^ served           ^ parsed             ^ filled
/// ```
pub(crate) struct Pipeline {
    bytes: Vec<u8>,
    /// Position of the buffer's first byte in the stream.
    base: u64,
    served: usize,
    parsed: usize,
    filled: usize,
    parser: Parser,
    pending: VecDeque<Pending>,
    /// Number of the oldest waiting request, counted from 0.
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
            parser: Parser::new(protocol),
            pending: VecDeque::new(),
            first: 0,
        }
    }

    /// Return space for more bytes; `None` while too many bytes wait.
    pub(crate) fn space(&mut self) -> Option<&mut [u8]> {
        if self.served == self.filled {
            self.base += self.served as u64;
            (self.served, self.parsed, self.filled) = (0, 0, 0);
            if self.bytes.len() > READ_AHEAD {
                self.bytes = Vec::new();
            }
        }
        let waiting = self.parsed - self.served;
        // A request may be longer than the read-ahead limit, but only if less than the limit waits before it.
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
                let larger = (2 * self.bytes.len()).clamp(INITIAL_SIZE, limit.max(INITIAL_SIZE));
                self.bytes.resize(larger, 0);
            }
        }
        Some(&mut self.bytes[self.filled..])
    }

    /// Record that `count` bytes were written to the space.
    pub(crate) fn fill(&mut self, count: usize) {
        self.filled += count;
    }

    /// Parse the next request. Return its number, or `None` if it is incomplete.
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

    /// Number of requests that wait or are in service.
    pub(crate) fn waiting(&self) -> usize {
        self.pending.len()
    }

    /// Whether parsing stopped because too many requests wait.
    pub(crate) fn is_full(&self) -> bool {
        self.pending.len() >= MAX_PENDING
    }

    /// Whether all earlier requests have been answered.
    #[inline]
    pub(crate) fn is_first(&self, number: u64) -> bool {
        number == self.first
    }

    /// Return a waiting request and its bytes.
    #[inline]
    pub(crate) fn request(&self, number: u64) -> Option<(Command, &[u8])> {
        let pending = self.pending.get(number.checked_sub(self.first)? as usize)?;
        let from = (pending.at - self.base) as usize;
        Some((pending.command, &self.bytes[from..from + pending.length]))
    }

    /// Keep a reply until all earlier requests are answered.
    pub(crate) fn finish(&mut self, number: u64, reply: Vec<u8>, disposition: Disposition) {
        if let Some(pending) = self.pending.get_mut((number - self.first) as usize) {
            pending.done = Some((reply, disposition));
        }
    }

    /// Remove the oldest request if its reply is ready, and return the reply.
    pub(crate) fn pop_done(&mut self) -> Option<(Vec<u8>, Disposition)> {
        let done = self.pending.front_mut()?.done.take()?;
        self.pop();
        Some(done)
    }

    /// Remove the oldest request.
    #[inline]
    pub(crate) fn pop(&mut self) {
        if let Some(first) = self.pending.pop_front() {
            self.served += first.length;
            self.first += 1;
        }
    }
}
