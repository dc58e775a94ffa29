//! What is known of one connection: its streams, its windows, and what the server is still to be told.

use std::collections::VecDeque;

use super::frames::{self, Frame, USUAL_WINDOW, WIDEST};
use crate::protocol::Refusal;
use crate::workload::Kind;

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
    /// Fields that came in more than one frame.
    pub block: Vec<u8>,
}

impl Session {
    pub fn new(block: usize) -> Self {
        Self {
            streams: VecDeque::with_capacity(STREAMS),
            pings: Vec::with_capacity(PINGS),
            block: Vec::with_capacity(block),
            ..Self::default()
        }
    }

    /// A fresh connection.
    pub fn begin(&mut self) {
        self.streams.clear();
        self.pings.clear();
        (self.next, self.taken, self.settings, self.leaves) = (0, 0, 0, None);
        self.most_streams = u32::MAX;
        self.window = i64::from(USUAL_WINDOW);
        self.stream_window = USUAL_WINDOW;
    }

    /// One more request, whose body has so many bytes.
    pub fn push(&mut self, tag: u32, kind: Kind, body: usize) {
        self.next = tag + 1;
        self.window -= body as i64;
        if self.streams.len() < STREAMS {
            self.streams.push_back(Stream { tag, kind, status: 0, grpc: None });
        }
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
        if let Some(at) = self.at(tag) {
            self.streams.remove(at);
        }
    }

    /// How many requests the connection takes at once, none of which has a body larger than `body`.
    pub fn in_flight(&self, body: usize) -> usize {
        if self.leaves.is_some() || self.next >= LAST_TAG || self.window < body as i64 {
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
        if frame.stream == 0 {
            self.window += i64::from(frames::number(payload) & WIDEST);
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
                frames::INITIAL_WINDOW_SIZE => self.stream_window = value,
                _ => {}
            }
        }
    }

    /// Whether a body of so many bytes can be sent at once.
    ///
    /// # Errors
    /// [`Refusal`] if the server would have to read some of it first.
    pub fn check_body(&self, bytes: usize) -> Result<(), Refusal> {
        let window = (self.stream_window as usize).min(self.window.max(0) as usize);
        if bytes > window {
            return Err(Refusal::Request(format!(
                "it takes bodies of at most {window} bytes at once over HTTP/2, and one of {bytes} is to be sent: make \
                 `body` smaller, or send it over HTTP/1.1 (http:// or https://)"
            )));
        }
        Ok(())
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
        assert_eq!((session.leaves(), session.in_flight(0)), (None, STREAMS));
        // First "no more", with the largest number, then the last stream that was begun: 7, the fourth request.
        for (last, below) in [(WIDEST, 1 << 30), (7, 4), (WIDEST, 4), (0, 0)] {
            session.goodbye(&[last.to_be_bytes(), [0; 4]].concat());
            assert_eq!((session.leaves(), session.in_flight(0)), (Some(below), 0), "{last}");
        }
        session.begin();
        session.push(LAST_TAG - 1, Kind::GET, 0);
        assert_eq!((session.leaves(), session.in_flight(0)), (Some(LAST_TAG), 0), "no numbers are left");
    }

    #[test]
    fn bodies_wait_until_the_server_has_read() {
        let mut session = Session::new(0);
        session.begin();
        assert!(session.check_body(65_535).is_ok() && session.check_body(65_536).is_err());
        session.push(0, Kind::GET, 40_000);
        assert_eq!((session.in_flight(25_535), session.in_flight(25_536)), (STREAMS, 0));
        let connection = Frame { length: 4, kind: frames::WINDOW_UPDATE, flags: 0, stream: 0 };
        session.widen(connection, &1_u32.to_be_bytes());
        assert_eq!(session.in_flight(25_536), STREAMS);
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
        assert_eq!((rest, session.in_flight(0)), (expected, 5));
        session.answer(&mut out);
        assert_eq!(out.len(), 9, "nothing is owed any more");
    }
}
