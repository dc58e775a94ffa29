//! What is known of one connection: its streams, its windows, and what the server is still to be told.

use std::collections::VecDeque;

use super::frames::{self, Frame, USUAL_WINDOW, WIDEST};
use super::grpc::Message;
use crate::workload::{Kind, Request};

/// Streams at once, whatever the server allows: so many are kept track of.
const STREAMS: usize = 1024;
/// Pings of one read that are answered; a server that sends more is not owed more.
const PINGS: usize = 16;
/// Bytes taken before the server is told that its window is open again.
const REPORTED: u32 = 1 << 30;
/// Requests that one connection carries: then its numbers for streams are used up (RFC 9113, 5.1.1).
const LAST_TAG: u32 = (1 << 30) - 1;

/// A request that waits for the end of its reply.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    tag: u32,
    pub kind: Kind,
    /// 0 until the reply's headers are there.
    pub status: u16,
    /// Of a call of gRPC, once it is there.
    pub grpc: Option<u16>,
    /// Of such a call.
    pub message: Message,
    /// Which request it is, for what is still to be sent of its body.
    item: u32,
    unsent: usize,
    /// What the server takes of that.
    window: i64,
}

/// A body of which the server does not take more at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsent {
    pub tag: u32,
    pub item: u32,
    /// Bytes left, and how many of them the windows let through.
    pub left: usize,
    pub open: usize,
}

/// What is known of one connection.
#[derive(Debug, Default)]
pub struct Session {
    /// By tag, oldest first.
    streams: VecDeque<Stream>,
    /// The tag of the next request.
    next: u32,
    most_streams: u32,
    /// What the server takes of bodies: on the connection, and of a stream.
    window: i64,
    stream_window: u32,
    /// Bytes of bodies since the server was last told.
    taken: u32,
    settings: u32,
    pings: Vec<[u8; 8]>,
    leaves: Option<u32>,
    /// Streams with bodies that are not whole at the server.
    unsent: u32,
    /// Those of them whose reply is whole nevertheless.
    cancelled: Vec<u32>,
    /// Fields that came in more than one frame.
    pub block: Vec<u8>,
    /// A body that is sent in pieces.
    pub body: Vec<u8>,
}

impl Session {
    pub fn new(block: usize) -> Self {
        let mut session = Self {
            streams: VecDeque::with_capacity(STREAMS),
            pings: Vec::with_capacity(PINGS),
            cancelled: Vec::with_capacity(STREAMS),
            block: Vec::with_capacity(block),
            ..Self::default()
        };
        session.begin();
        session
    }

    /// A fresh connection.
    pub fn begin(&mut self) {
        self.streams.clear();
        self.pings.clear();
        self.cancelled.clear();
        self.unsent = 0;
        (self.next, self.taken, self.settings, self.leaves) = (0, 0, 0, None);
        self.most_streams = u32::MAX;
        self.window = i64::from(USUAL_WINDOW);
        self.stream_window = USUAL_WINDOW;
    }

    /// Whether the windows let a body of so many bytes through at once.
    pub fn takes(&self, body: usize) -> bool {
        body as i64 <= self.window.min(self.stream_window.into())
    }

    /// One more request, whose body is sent.
    pub fn push(&mut self, tag: u32, kind: Kind, body: usize) {
        self.window -= body as i64;
        self.push_unsent(tag, Request { kind, item: 0, value_bytes: 0 }, 0);
    }

    /// One more request, of whose body so many bytes are to be sent.
    pub fn push_unsent(&mut self, tag: u32, request: Request, unsent: usize) {
        let Request { kind, item, .. } = request;
        self.next = tag + 1;
        if self.streams.len() < STREAMS {
            let window = self.stream_window.into();
            self.unsent += u32::from(unsent > 0);
            let (status, grpc, message) = (0, None, Message::default());
            self.streams.push_back(Stream { tag, kind, status, grpc, message, item, unsent, window });
        }
    }

    /// The oldest body of which the windows let something through.
    pub fn unsent(&self) -> Option<Unsent> {
        if self.unsent == 0 {
            return None;
        }
        self.streams.iter().filter(|one| one.unsent > 0).find_map(|one| {
            let open = usize::try_from(one.window.min(self.window)).unwrap_or(0).min(one.unsent);
            (open > 0).then_some(Unsent { tag: one.tag, item: one.item, left: one.unsent, open })
        })
    }

    /// So many more bytes of that body are sent.
    pub fn sent(&mut self, tag: u32, bytes: usize) {
        self.window -= bytes as i64;
        let Some(stream) = self.stream(tag) else { return };
        stream.unsent -= bytes;
        stream.window -= bytes as i64;
        self.unsent -= u32::from(self.stream(tag).is_some_and(|stream| stream.unsent == 0));
    }

    fn at(&self, tag: u32) -> Option<usize> {
        match self.streams.front() {
            Some(oldest) if oldest.tag == tag => Some(0),
            _ => self.streams.binary_search_by_key(&tag, |one| one.tag).ok(),
        }
    }

    /// The stream with that tag, while its reply is not at its end.
    pub fn stream(&mut self, tag: u32) -> Option<&mut Stream> {
        self.at(tag).and_then(|at| self.streams.get_mut(at))
    }

    /// The reply of that stream is at its end.
    pub fn end(&mut self, tag: u32) {
        let ended = self.at(tag).and_then(|at| self.streams.remove(at));
        if ended.is_some_and(|stream| stream.unsent > 0) {
            self.unsent -= 1;
            self.cancelled.push(tag);
        }
    }

    /// How many requests the connection takes at once: none before the server has taken those that it has.
    pub fn in_flight(&self) -> usize {
        if self.leaves.is_some() || self.next >= LAST_TAG || self.unsent > 0 {
            return 0;
        }
        STREAMS.min(self.most_streams as usize)
    }

    /// The server takes no more requests; those with tags below this are answered.
    pub fn leaves(&self) -> Option<u32> {
        self.leaves.or((self.next >= LAST_TAG).then_some(LAST_TAG))
    }

    /// GOAWAY with its payload; several may come, each with a lower number (RFC 9113, 6.8).
    pub fn goodbye(&mut self, payload: &[u8]) {
        let below = (frames::number(payload) & WIDEST).div_ceil(2);
        self.leaves = Some(self.leaves.map_or(below, |before| before.min(below)));
    }

    /// The server has taken `payload` more bytes.
    pub fn widen(&mut self, frame: Frame, payload: &[u8]) {
        let more = i64::from(frames::number(payload) & WIDEST);
        if frame.stream == 0 {
            self.window += more;
        } else if let Some(stream) = self.stream(frame.stream / 2) {
            stream.window += more;
        }
    }

    /// So many bytes of a body have come.
    pub fn took(&mut self, bytes: usize) {
        self.taken += bytes as u32;
    }

    pub fn pinged(&mut self, payload: &[u8]) {
        if let (Ok(word), true) = (payload.try_into(), self.pings.len() < PINGS) {
            self.pings.push(word);
        }
    }

    /// The server's settings.
    pub fn set(&mut self, payload: &[u8]) {
        self.settings += 1;
        for one in payload.chunks_exact(6) {
            let value = frames::number(&one[2..]);
            match u16::from_be_bytes([one[0], one[1]]) {
                frames::MAX_CONCURRENT_STREAMS => self.most_streams = value,
                // It changes the windows of all streams, which may fall below 0 (RFC 9113, 6.9.2).
                frames::INITIAL_WINDOW_SIZE => {
                    let change = i64::from(value) - i64::from(self.stream_window);
                    self.streams.iter_mut().for_each(|stream| stream.window += change);
                    self.stream_window = value;
                }
                _ => {}
            }
        }
    }

    /// Appends what the server is still to be told, as far as there is room.
    pub fn answer(&mut self, out: &mut Vec<u8>) {
        let has_room = |out: &Vec<u8>| out.capacity() - out.len() >= frames::HEAD + 8;
        while self.settings > 0 && has_room(out) {
            self.settings -= 1;
            Frame::write(frames::SETTINGS, frames::ACK, 0, &[], out);
        }
        while has_room(out) {
            let Some(word) = self.pings.pop() else { break };
            Frame::write(frames::PING, frames::ACK, 0, &word, out);
        }
        while has_room(out) {
            let Some(tag) = self.cancelled.pop() else { break };
            Frame::write(frames::RST_STREAM, 0, 2 * tag + 1, &[0; 4], out);
        }
        if self.taken >= REPORTED && has_room(out) {
            let taken = std::mem::take(&mut self.taken);
            Frame::write(frames::WINDOW_UPDATE, 0, 0, &taken.to_be_bytes(), out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_farewell_names_the_last_request_that_is_answered() {
        let mut session = Session::new(0);
        session.begin();
        assert_eq!((session.leaves(), session.in_flight()), (None, STREAMS));
        // First "no more", with the largest number, then the last stream that was begun: 7, the fourth request.
        for (last, below) in [(WIDEST, 1 << 30), (7, 4), (WIDEST, 4), (0, 0)] {
            session.goodbye(&[last.to_be_bytes(), [0; 4]].concat());
            assert_eq!((session.leaves(), session.in_flight()), (Some(below), 0), "{last}");
        }
        session.begin();
        session.push(LAST_TAG - 1, Kind::GET, 0);
        assert_eq!((session.leaves(), session.in_flight()), (Some(LAST_TAG), 0), "no numbers are left");
    }

    fn update(session: &mut Session, stream: u32, bytes: u32) {
        let frame = Frame { length: 4, kind: frames::WINDOW_UPDATE, flags: 0, stream };
        session.widen(frame, &bytes.to_be_bytes());
    }

    #[test]
    fn bodies_wait_until_the_server_has_read() {
        let mut session = Session::new(0);
        session.begin();
        assert!(session.takes(65_535) && !session.takes(65_536));
        session.push(0, Kind::GET, 65_000);
        let request = Request { kind: Kind::GET, item: 9, value_bytes: 0 };
        session.push_unsent(1, request, 1_000);
        assert_eq!(session.unsent(), Some(Unsent { tag: 1, item: 9, left: 1_000, open: 535 }));
        session.sent(1, 535);
        assert_eq!((session.unsent(), session.in_flight()), (None, 0));
        update(&mut session, 0, 100);
        assert_eq!(session.unsent().unwrap().open, 100);
        // The server narrows the windows of all streams below what is sent, then opens this one.
        update(&mut session, 0, 1 << 20);
        session.set(&[0, 4, 0, 0, 0, 100]);
        assert_eq!((session.unsent(), session.takes(101)), (None, false));
        update(&mut session, 3, 435 + 7);
        assert_eq!(session.unsent().unwrap().open, 7);
        session.sent(1, 7);
        update(&mut session, 3, 1_000);
        session.sent(1, 458);
        assert_eq!((session.unsent(), session.in_flight()), (None, STREAMS));
    }

    #[test]
    fn a_body_whose_reply_is_whole_is_given_up() {
        let mut session = Session::new(0);
        session.begin();
        session.push_unsent(0, Request { kind: Kind::GET, item: 0, value_bytes: 0 }, 100);
        session.end(0);
        let mut out = Vec::with_capacity(100);
        session.answer(&mut out);
        assert_eq!((out, session.in_flight()), (b"\0\0\x04\x03\0\0\0\0\x01\0\0\0\0".to_vec(), STREAMS));
    }

    #[test]
    fn what_is_owed_waits_for_room() {
        let mut session = Session::new(0);
        session.begin();
        session.set(&[0, 3, 0, 0, 0, 5]);
        session.pinged(b"12345678");
        session.took(REPORTED as usize);
        let mut out = Vec::with_capacity(20);
        session.answer(&mut out);
        assert_eq!(out, [0, 0, 0, 4, 1, 0, 0, 0, 0]);
        let mut rest = Vec::with_capacity(100);
        session.answer(&mut rest);
        let expected =
            [&b"\0\0\x08\x06\x01\0\0\0\x0012345678"[..], b"\0\0\x04\x08\0\0\0\0\0\x40\0\0\0"].concat();
        assert_eq!((rest, session.in_flight()), (expected, 5));
        session.answer(&mut out);
        assert_eq!(out.len(), 9, "nothing is owed any more");
    }
}
