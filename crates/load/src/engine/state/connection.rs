//! One connection's state: what is still to be written, what is still to be answered.

use std::collections::VecDeque;

use hindmost_clock::Nanos;

use super::buffers::Buffers;
use super::request::Pending;
use super::stamp_queue::StampQueue;
use super::tags::Tags;
use crate::protocol::{Protocol, Reader};
use crate::workload::Request;

/// Where a connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Can carry requests.
    Open,
    /// The attempt to connect has not ended.
    Connecting,
    /// Connected, and what its protocol says before requests is not all said.
    Opening,
    /// Not connected.
    Down,
    /// The server said that it closes it, and has not yet.
    Parting,
}

#[derive(Debug)]
pub struct Connection<S = ()> {
    pub state: State,
    /// What its codec knows of it.
    pub session: S,
    /// When the last attempt to connect began.
    pub tried: Nanos,
    /// When the server took it, or zero, and how long the handshake took that may have followed.
    pub reached: Nanos,
    pub securing: Nanos,
    /// Requests not yet answered, oldest first. Never grows beyond its first capacity.
    pub pending: VecDeque<Pending>,
    /// At most so many are.
    pub most: usize,
    /// Requests that it carries before it is closed.
    pub carries: u64,
    /// Their tags, where replies come in any order.
    pub tags: Tags,
    /// Not among the usable ones until one of them is answered.
    pub rests: bool,
    /// How many of `pending`, at its end, are not yet handed to the kernel.
    pub fresh: usize,
    /// Bytes to write, from `written` on. Never grows beyond its first capacity.
    pub out: Vec<u8>,
    /// Bytes that follow those, the last so many of the only request's [`Protocol::tail`].
    pub tail: usize,
    pub written: usize,
    /// The kernel took less than it was given; we wait for room.
    pub blocked: bool,
    /// What is known of the reply that is arriving.
    pub reader: Reader,
    /// Requests answered so far.
    pub answered: u64,
    /// It was given requests of the load.
    pub asked: bool,
    /// Bytes of all that was sent so far, and of all that came.
    pub request_bytes: u64,
    pub reply_bytes: u64,
    /// The client's.
    pub port: u16,
    /// Requests of the measurement put on it, whatever became of them; outlives a lost connection.
    pub measured: u32,
    /// The stamped requests among `pending`, and answered ones whose stamp has not come.
    pub stamps: StampQueue,
}

/// Memory touched beforehand of each connection, so that the first requests take no page faults: a
/// quarter of its buffer within these bounds. The rest is used only when a server lags.
const TOUCHED_BYTES: (usize, usize) = (4 * 1024, 64 * 1024);
const TOUCHED_REQUESTS: usize = 1024;

impl<S> Connection<S> {
    /// Of `codec`, with room for as many `requests` and bytes.
    pub fn new<P: Protocol<Session = S>>(codec: &P, buffers: Buffers) -> Self {
        let Buffers { requests, out_bytes, stamped } = buffers;
        let mut pending = VecDeque::with_capacity(requests);
        pending.resize(requests.min(TOUCHED_REQUESTS), Pending::BLANK);
        let mut out = Vec::with_capacity(out_bytes);
        out.resize((out_bytes / 4).clamp(TOUCHED_BYTES.0, TOUCHED_BYTES.1).min(out_bytes), 1);
        let mut connection = Self {
            state: State::Down,
            session: codec.session(),
            tried: Nanos::ZERO,
            reached: Nanos::ZERO,
            securing: Nanos::ZERO,
            most: pending.capacity(),
            carries: u64::MAX,
            pending,
            tags: Tags::with_capacity(if P::TAGGED { requests } else { 0 }),
            rests: false,
            fresh: 0,
            out,
            tail: 0,
            written: 0,
            blocked: false,
            reader: Reader::new::<P>(),
            answered: 0,
            asked: false,
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

    /// Appends a request of `codec` to what is to be written; returns where its bytes end.
    #[inline]
    pub fn ask<P: Protocol<Session = S>>(&mut self, codec: &P, request: Request) -> u64 {
        if P::LOSSY {
            while !codec.is_free(&self.session, self.tags.next()) {
                self.tags.skip();
            }
        }
        let tag = if P::TAGGED { self.tags.push() } else { 0 };
        let before = self.out.len();
        if P::MAY_CLOSE {
            self.ask_by_turns(codec, request, tag);
        } else {
            codec.write(&mut self.session, request, tag, &mut self.out);
        }
        self.asked = true;
        self.request_bytes += (self.out.len() - before + self.tail) as u64;
        self.request_bytes
    }

    /// One that may be the last that the connection carries, or have a tail.
    #[inline]
    fn ask_by_turns<P: Protocol<Session = S>>(&mut self, codec: &P, request: Request, tag: u32) {
        if self.next_serial() + 1 == self.carries {
            codec.write_last(&mut self.session, request, tag, &mut self.out);
        } else {
            codec.write(&mut self.session, request, tag, &mut self.out);
        }
        self.tail = codec.tail(request).len();
    }

    /// Puts the next bytes of the only request's tail in place of those that are written; whether there are any.
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

    /// Takes the oldest request, which is answered; returns its number over the connection's life, too.
    #[inline]
    pub fn answer(&mut self) -> Option<(Pending, u64)> {
        let pending = self.pending.pop_front()?;
        if self.pending.is_empty() {
            // Back to the start of the ring: its first lines stay in the cache, where a ring that
            // goes round and round would pull all its memory through it.
            self.pending.clear();
        }
        let serial = self.answered;
        self.answered += 1;
        Some((pending, serial))
    }

    /// Takes the request with that tag, which is answered, as [`Connection::answer`] takes the oldest.
    #[inline]
    pub fn answer_tagged(&mut self, tag: u32) -> Option<(Pending, u64)> {
        let at = self.tags.take(tag)?;
        let pending = self.pending.remove(at)?;
        self.answered += 1;
        Some((pending, u64::from(tag)))
    }

    /// Says what `codec` wants said beside requests; whether that is anything.
    pub fn say<P: Protocol<Session = S>>(&mut self, codec: &P) -> bool {
        let before = self.out.len();
        codec.answer(&mut self.session, &mut self.out);
        self.request_bytes += (self.out.len() - before) as u64;
        self.out.len() > before
    }

    /// Whether it has as many requests in flight as it takes.
    #[inline]
    pub fn is_full<P: Protocol<Session = S>>(&self, codec: &P) -> bool {
        self.pending.len() >= self.most || P::BOUNDED && self.pending.len() >= codec.in_flight(&self.session)
    }

    /// The number of the next request over the connection's life.
    #[inline]
    pub fn next_serial(&self) -> u64 {
        self.answered + self.pending.len() as u64
    }

    /// Requests handed to the kernel over the connection's life.
    pub fn handed_over(&self) -> u64 {
        self.next_serial() - self.fresh as u64
    }

    /// Whether one more request of at most `bytes` can be taken without allocating.
    #[inline]
    pub fn make_room(&mut self, bytes: usize) -> bool {
        if self.pending.len() >= self.most {
            return false;
        }
        self.out.len() + bytes <= self.out.capacity() || self.make_room_in_out(bytes)
    }

    /// Drops the bytes that are written, once they are half of all, so that each byte moves once.
    #[cold]
    fn make_room_in_out(&mut self, bytes: usize) -> bool {
        if 2 * self.written < self.out.len() {
            return false;
        }
        self.out.drain(..self.written);
        self.written = 0;
        self.out.len() + bytes <= self.out.capacity()
    }

    /// Open, and nothing is asked on it.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.state == State::Open && self.pending.is_empty()
    }

    /// Forgets everything but the capacity, what it carried, and what is to be sent again.
    pub fn reset(&mut self, state: State) {
        self.state = state;
        self.tags.clear();
        self.rests = false;
        self.reached = Nanos::ZERO;
        self.securing = Nanos::ZERO;
        self.fresh = 0;
        self.out.clear();
        self.tail = 0;
        self.written = 0;
        self.blocked = false;
        self.reader.reset();
        self.answered = 0;
        self.asked = false;
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

    /// With room for one request.
    fn connection() -> Connection {
        let codec = Memcached::new(&plan(1, &every_ms(), &serde_json::Value::Null));
        Connection::new(&codec, Buffers { requests: 1, out_bytes: 100, stamped: 0 })
    }

    #[test]
    fn bytes_that_are_written_make_room_once_they_are_half() {
        let mut connection = connection();
        connection.out.extend(0..90);
        for (written, room) in [(0, false), (40, false), (50, true)] {
            connection.written = written;
            assert_eq!(connection.make_room(20), room, "{written}");
        }
        assert_eq!((connection.written, connection.out[0], connection.out.len()), (0, 50, 40));
    }

    #[test]
    fn a_connection_that_tracks_all_it_can_has_no_room() {
        let mut connection = connection();
        assert!(connection.make_room(1));
        connection.pending.push_back(Pending::BLANK);
        assert!(!connection.make_room(1));
    }
}
