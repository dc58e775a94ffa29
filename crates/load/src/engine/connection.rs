//! One connection's state: what is still to be written, what is still to be answered.

use std::collections::VecDeque;

use super::stamping::Chosen;
use crate::protocol::{Protocol, Reader};
use crate::record::Status;
use crate::workload::Kind;

/// A request that waits for its reply.
#[derive(Clone, Copy, Debug)]
pub struct Pending {
    pub due_ns: u64,
    /// 0 until its write call.
    pub sent_ns: u64,
    /// Bytes of the connection up to its end.
    pub end: u64,
    pub kind: Kind,
    /// The kernel is to stamp its way.
    pub chosen: bool,
    /// The server announced that it closed the connection on which this was sent at `sent_ns`, so it is sent again
    /// on another.
    pub again: bool,
    /// What was asked for.
    pub item: u32,
}

/// How a request ended.
#[derive(Clone, Copy, Debug)]
pub struct Ending {
    /// 0 where no answer came.
    pub done_ns: u64,
    pub status: Status,
    /// Bytes of the connection's replies up to the end of its own; 0 where there is none.
    pub reply_end: u64,
}

impl Ending {
    /// Without an answer.
    pub const fn unanswered(status: Status) -> Self {
        Self { done_ns: 0, status, reply_end: 0 }
    }
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
    /// What is known of the reply that is arriving.
    pub reader: Reader,
    /// Requests answered so far.
    pub answered: u64,
    /// Bytes of all requests so far, and of all replies; the client's port.
    pub asked: u64,
    pub heard: u64,
    pub port: u16,
    /// Requests of the measurement put on it, whatever became of them; outlives a lost connection.
    pub carried: u32,
    /// The chosen requests among `pending`, and answered ones whose stamp has not come. Never grows beyond its
    /// first capacity.
    pub chosen: VecDeque<Chosen>,
}

/// Memory touched beforehand of each connection, so that the first requests take no page faults: a
/// quarter of its buffer within these bounds. The rest is used only when a server lags.
const TOUCHED_BYTES: (usize, usize) = (4 * 1024, 64 * 1024);
const TOUCHED_REQUESTS: usize = 1024;

impl Connection {
    pub fn new<P: Protocol>(requests: usize, out_bytes: usize, chosen: usize) -> Self {
        let mut pending = VecDeque::with_capacity(requests);
        let nothing =
            Pending { due_ns: 0, sent_ns: 0, end: 0, kind: Kind::GET, chosen: false, again: false, item: 0 };
        pending.resize(requests.min(TOUCHED_REQUESTS), nothing);
        let mut out = Vec::with_capacity(out_bytes);
        out.resize((out_bytes / 4).clamp(TOUCHED_BYTES.0, TOUCHED_BYTES.1).min(out_bytes), 1);
        let mut connection = Self {
            state: State::Down,
            pending,
            fresh: 0,
            out,
            written: 0,
            blocked: false,
            reader: Reader::new::<P>(),
            answered: 0,
            asked: 0,
            heard: 0,
            port: 0,
            carried: 0,
            chosen: VecDeque::with_capacity(chosen),
        };
        connection.pending.clear();
        connection.reset(State::Down);
        connection
    }

    /// Whether one more request of at most `bytes` can be taken without allocating.
    #[inline]
    pub fn make_room(&mut self, bytes: usize) -> bool {
        if self.pending.len() == self.pending.capacity() {
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

    /// Whether a request is answered whose transmit stamp has not come.
    pub fn waits_for_stamp(&self) -> bool {
        self.chosen.front().is_some_and(Chosen::is_answered)
    }

    /// Forgets everything but the capacity, what it carried, and what is to be sent again.
    pub fn reset(&mut self, state: State) {
        self.state = state;
        self.fresh = 0;
        self.out.clear();
        self.written = 0;
        self.blocked = false;
        self.reader.reset();
        self.answered = 0;
        self.asked = 0;
        self.heard = 0;
        self.port = 0;
        self.chosen.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Memcached;

    #[test]
    fn bytes_that_are_written_make_room_once_they_are_half() {
        let mut connection = Connection::new::<Memcached>(1, 100, 0);
        connection.out.extend(0..90);
        for (written, room) in [(0, false), (40, false), (50, true)] {
            connection.written = written;
            assert_eq!(connection.make_room(20), room, "{written}");
        }
        assert_eq!((connection.written, connection.out[0], connection.out.len()), (0, 50, 40));
    }

    #[test]
    fn a_connection_that_tracks_all_it_can_has_no_room() {
        let mut connection = Connection::new::<Memcached>(1, 100, 0);
        assert!(connection.make_room(1));
        let pending =
            Pending { due_ns: 1, sent_ns: 0, end: 1, kind: Kind::GET, chosen: false, again: false, item: 0 };
        connection.pending.push_back(pending);
        assert!(!connection.make_room(1));
    }
}
