//! One connection's state: bytes to write and requests to be answered.

use std::collections::VecDeque;

use hindmost_clock::Nanos;

use super::buffers::Buffers;
use super::last_messages::LastMessages;
use super::request::Pending;
use super::stamp_queue::StampQueue;
use super::tags::Tags;
use crate::protocol::{Protocol, Reader};
use crate::workload::Request;

/// State of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Can carry requests.
    Open,
    /// The connection attempt is in progress.
    Connecting,
    /// Connected; the protocol's opening is in progress.
    Opening,
    /// Not connected.
    Down,
    /// The server announced that it will close the connection, but has not closed it yet.
    Closing,
}

#[derive(Debug)]
pub struct Connection<S = ()> {
    pub state: State,
    /// The codec's state for this connection.
    pub session: S,
    /// When the last connection attempt began.
    pub attempt_started: Nanos,
    /// When the TCP connection was established (or zero), and how long the TLS handshake took, if any.
    pub connected_at: Nanos,
    pub handshake_time: Nanos,
    /// Unanswered requests, oldest first. Never grows beyond its initial capacity.
    pub pending: VecDeque<Pending>,
    /// Most requests in `pending`.
    pub most: usize,
    /// Number of requests after which the connection is closed.
    pub request_limit: u64,
    /// Tags of `pending`, if replies may arrive in any order.
    pub tags: Tags,
    /// Whether the connection is full and not usable until a request is answered.
    pub suspended: bool,
    /// Number of requests at the end of `pending` that the kernel has not accepted yet.
    pub fresh: usize,
    /// Bytes to write, starting at `written`. Never grows beyond its initial capacity.
    pub out: Vec<u8>,
    /// Number of bytes still to follow `out`: the end of the only request's [`Protocol::tail`].
    pub tail: usize,
    pub written: usize,
    /// Whether the kernel accepted only part of a write, and the worker waits for space.
    pub blocked: bool,
    /// Parser state of the arriving reply.
    pub reader: Reader,
    /// The last messages of incomplete replies, if messages are recorded.
    pub last_messages: LastMessages,
    /// Number of requests answered so far.
    pub answered: u64,
    /// Whether it was given requests of the load.
    pub has_requests: bool,
    /// Total bytes sent and received so far.
    pub request_bytes: u64,
    pub reply_bytes: u64,
    /// The client's local port.
    pub port: u16,
    /// Number of measured requests put on it, whatever their outcome. Kept when the connection is lost.
    pub measured: u32,
    /// The stamped requests in `pending`, and answered requests whose stamp is missing.
    pub stamps: StampQueue,
}

/// Memory of each connection that is mapped beforehand, so that the first requests cause no page faults: a
/// quarter of its buffer within these bounds. The rest is used only if a server lags.
const PREFAULT_BYTES: (usize, usize) = (4 * 1024, 64 * 1024);
const PREFAULT_REQUESTS: usize = 1024;

impl<S> Connection<S> {
    /// Create a connection of `codec` with the given buffer sizes.
    pub fn new<P: Protocol<Session = S>>(codec: &P, buffers: Buffers) -> Self {
        let Buffers { requests, out_bytes, stamped } = buffers;
        let mut pending = VecDeque::with_capacity(requests);
        pending.resize(requests.min(PREFAULT_REQUESTS), Pending::BLANK);
        let mut out = Vec::with_capacity(out_bytes);
        out.resize((out_bytes / 4).clamp(PREFAULT_BYTES.0, PREFAULT_BYTES.1).min(out_bytes), 1);
        let mut connection = Self {
            state: State::Down,
            session: codec.session(),
            attempt_started: Nanos::ZERO,
            connected_at: Nanos::ZERO,
            handshake_time: Nanos::ZERO,
            most: pending.capacity(),
            request_limit: u64::MAX,
            pending,
            tags: Tags::with_capacity(if P::TAGGED { requests } else { 0 }),
            suspended: false,
            fresh: 0,
            out,
            tail: 0,
            written: 0,
            blocked: false,
            reader: Reader::new::<P>(),
            last_messages: LastMessages::default(),
            answered: 0,
            has_requests: false,
            request_bytes: 0,
            reply_bytes: 0,
            port: 0,
            measured: 0,
            stamps: StampQueue::with_capacity(stamped),
        };
        connection.pending.clear();
        connection.reset(State::Down);
        connection
    }

    /// Encode a request into the output buffer. Return the stream offset of its end.
    #[inline]
    pub fn write_request<P: Protocol<Session = S>>(&mut self, codec: &P, request: Request) -> u64 {
        if P::LOSSY {
            while !codec.is_free(&self.session, self.tags.next()) {
                self.tags.skip();
            }
        }
        let tag = if P::TAGGED { self.tags.push() } else { 0 };
        let before = self.out.len();
        if P::MAY_CLOSE {
            self.write_in_turn(codec, request, tag);
        } else {
            codec.write(&mut self.session, request, tag, &mut self.out);
        }
        self.has_requests = true;
        self.request_bytes += (self.out.len() - before + self.tail) as u64;
        self.request_bytes
    }

    /// Encode a request that may have a tail or be the last on its connection.
    #[inline]
    fn write_in_turn<P: Protocol<Session = S>>(&mut self, codec: &P, request: Request, tag: u32) {
        if self.next_serial() + 1 == self.request_limit {
            codec.write_last(&mut self.session, request, tag, &mut self.out);
        } else {
            codec.write(&mut self.session, request, tag, &mut self.out);
        }
        self.tail = codec.tail(request).len();
    }

    /// Replace the written bytes by the next bytes of the only request's tail. Return whether there were any.
    #[cold]
    pub fn refill<P: Protocol<Session = S>>(&mut self, codec: &P) -> bool {
        let Some(pending) = self.pending.front() else { return false };
        let request = Request { kind: pending.kind, item: pending.item, value_bytes: 0 };
        let tail = codec.tail(request);
        let left = &tail[tail.len().saturating_sub(self.tail)..];
        let piece = &left[..left.len().min(self.out.capacity())];
        self.out.extend_from_slice(piece);
        self.tail -= piece.len();
        !piece.is_empty()
    }

    /// Remove the oldest request, which is answered. Return it with its number over the connection's life.
    #[inline]
    pub fn answer(&mut self) -> Option<(Pending, u64)> {
        let pending = self.pending.pop_front()?;
        if self.pending.is_empty() {
            // Restart at the beginning of the ring: its first lines stay in the cache. Otherwise the ring
            // would cycle through all its memory.
            self.pending.clear();
        }
        let serial = self.answered;
        self.answered += 1;
        Some((pending, serial))
    }

    /// Remove the answered request with that tag; otherwise the same as [`Connection::answer`].
    #[inline]
    pub fn answer_tagged(&mut self, tag: u32) -> Option<(Pending, u64)> {
        let at = self.tags.take(tag)?;
        let pending = self.pending.remove(at)?;
        self.answered += 1;
        Some((pending, u64::from(tag)))
    }

    /// Write the messages that `codec` needs to send besides requests. Return whether there were any.
    pub fn write_control<P: Protocol<Session = S>>(&mut self, codec: &P) -> bool {
        let before = self.out.len();
        codec.write_control(&mut self.session, &mut self.out);
        self.request_bytes += (self.out.len() - before) as u64;
        self.out.len() > before
    }

    /// Whether it has its maximum number of requests in flight.
    #[inline]
    pub fn is_full<P: Protocol<Session = S>>(&self, codec: &P) -> bool {
        self.pending.len() >= self.most || P::BOUNDED && self.pending.len() >= codec.in_flight(&self.session)
    }

    /// Return the number of the next request over the connection's life.
    #[inline]
    pub fn next_serial(&self) -> u64 {
        self.answered + self.pending.len() as u64
    }

    /// Return the number of requests handed to the kernel over the connection's life.
    pub fn handed_over(&self) -> u64 {
        self.next_serial() - self.fresh as u64
    }

    /// Whether one more request of at most `bytes` bytes fits without allocation.
    #[inline]
    pub fn make_room(&mut self, bytes: usize) -> bool {
        if self.pending.len() >= self.most {
            return false;
        }
        self.make_space(bytes)
    }

    /// Whether `bytes` more bytes fit into the output buffer without allocation.
    #[inline]
    pub fn make_space(&mut self, bytes: usize) -> bool {
        self.out.len() + bytes <= self.out.capacity() || self.make_room_in_out(bytes)
    }

    /// Drop written bytes once they are half of the buffer, so that each byte moves at most once.
    #[cold]
    fn make_room_in_out(&mut self, bytes: usize) -> bool {
        if 2 * self.written < self.out.len() {
            return false;
        }
        self.out.drain(..self.written);
        self.written = 0;
        self.out.len() + bytes <= self.out.capacity()
    }

    /// Whether it is open without pending requests.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.state == State::Open && self.pending.is_empty()
    }

    /// Reset everything except the capacity, the measured count and the requests to resend.
    pub fn reset(&mut self, state: State) {
        self.state = state;
        self.tags.clear();
        self.suspended = false;
        self.connected_at = Nanos::ZERO;
        self.handshake_time = Nanos::ZERO;
        self.fresh = 0;
        self.out.clear();
        self.tail = 0;
        self.written = 0;
        self.blocked = false;
        self.reader.reset();
        self.last_messages.clear();
        self.answered = 0;
        self.has_requests = false;
        self.request_bytes = 0;
        self.reply_bytes = 0;
        self.port = 0;
        self.stamps.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::tests::{every_ms, plan};
    use crate::protocol::Memcached;

    /// Create a connection with room for one request.
    fn connection() -> Connection {
        let codec = Memcached::new(&plan(1, &every_ms(), &serde_json::Value::Null));
        Connection::new(&codec, Buffers { requests: 1, out_bytes: 100, stamped: 0 })
    }

    #[test]
    fn written_bytes_are_dropped_once_they_are_half_of_the_buffer() {
        let mut connection = connection();
        connection.out.extend(0..90);
        for (written, room) in [(0, false), (40, false), (50, true)] {
            connection.written = written;
            assert_eq!(connection.make_room(20), room, "{written}");
        }
        assert_eq!((connection.written, connection.out[0], connection.out.len()), (0, 50, 40));
    }

    #[test]
    fn a_full_connection_has_no_room() {
        let mut connection = connection();
        assert!(connection.make_room(1));
        connection.pending.push_back(Pending::BLANK);
        assert!(!connection.make_room(1));
    }
}
