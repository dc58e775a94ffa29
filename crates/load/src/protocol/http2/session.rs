//! The state of one HTTP/2 connection: its streams, its windows and control frames to send.

use std::collections::VecDeque;

use super::frames::{self, Frame, DEFAULT_WINDOW, MAX_WINDOW};
use super::grpc::Message;
use crate::protocol::streamed::{Messages, Streamed};
use crate::workload::{Kind, Request};

/// Most concurrent streams that a session tracks, whatever the server allows.
const STREAMS: usize = 1024;
/// Most pings of one read that are answered.
const PINGS: usize = 16;
/// Bytes received before the client reopens the server's window.
const REPORTED: u32 = 1 << 30;
/// Limit on requests per connection, at which its stream numbers are exhausted (RFC 9113, 5.1.1).
const LAST_TAG: u32 = (1 << 30) - 1;

/// A request whose reply is incomplete.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    tag: u32,
    pub kind: Kind,
    /// HTTP status; 0 before the reply's headers.
    pub status: u16,
    /// Status of a gRPC call, once received.
    pub grpc: Option<u16>,
    /// Message of a unary gRPC reply.
    pub message: Message,
    /// Position in the messages of a streamed reply.
    pub messages: Option<Messages>,
    /// The request's item, to write the rest of its body; and the number of unsent bytes.
    item: u32,
    unsent: usize,
    /// The server's window for this stream.
    window: i64,
}

/// A body that the server's windows have delayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsent {
    pub tag: u32,
    pub item: u32,
    /// Unsent bytes, and how many of them the windows allow now.
    pub left: usize,
    pub open: usize,
}

/// The state of one connection.
#[derive(Debug, Default)]
pub struct Session {
    /// Streams by tag, oldest first.
    streams: VecDeque<Stream>,
    /// Tag of the next request.
    next: u32,
    most_streams: u32,
    /// The server's windows: of the connection, and the initial window of a stream.
    window: i64,
    stream_window: u32,
    /// Body bytes received since the last `WINDOW_UPDATE`.
    taken: u32,
    settings: u32,
    pings: Vec<[u8; 8]>,
    closing_tag: Option<u32>,
    /// Number of streams with unsent body bytes.
    unsent: u32,
    /// Streams whose reply was complete before their body was sent.
    cancelled: Vec<u32>,
    /// Fields that arrived in several frames.
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

    /// Reset the state for a new connection.
    pub fn begin(&mut self) {
        self.streams.clear();
        self.pings.clear();
        self.cancelled.clear();
        self.unsent = 0;
        (self.next, self.taken, self.settings, self.closing_tag) = (0, 0, 0, None);
        self.most_streams = u32::MAX;
        self.window = i64::from(DEFAULT_WINDOW);
        self.stream_window = DEFAULT_WINDOW;
    }

    /// Whether the windows allow a body of `body` bytes at once.
    pub fn accepts(&self, body: usize) -> bool {
        body as i64 <= self.window.min(self.stream_window.into())
    }

    /// Add a request whose body has been written.
    pub fn push(&mut self, tag: u32, kind: Kind, body: usize) {
        self.window -= body as i64;
        self.push_unsent(tag, Request { kind, item: 0, value_bytes: 0 }, 0);
    }

    /// Add a request with `unsent` body bytes to be sent.
    pub fn push_unsent(&mut self, tag: u32, request: Request, unsent: usize) {
        let Request { kind, item, .. } = request;
        self.next = tag + 1;
        if self.streams.len() < STREAMS {
            let window = self.stream_window.into();
            self.unsent += u32::from(unsent > 0);
            let (status, grpc) = (0, None);
            let (message, messages) = (Message::default(), None);
            self.streams.push_back(Stream {
                tag,
                kind,
                status,
                grpc,
                message,
                messages,
                item,
                unsent,
                window,
            });
        }
    }

    /// Return the oldest delayed body that the windows allow to continue.
    pub fn unsent(&self) -> Option<Unsent> {
        if self.unsent == 0 {
            return None;
        }
        self.streams.iter().filter(|one| one.unsent > 0).find_map(|one| {
            let open = usize::try_from(one.window.min(self.window)).unwrap_or(0).min(one.unsent);
            (open > 0).then_some(Unsent { tag: one.tag, item: one.item, left: one.unsent, open })
        })
    }

    /// Record that `bytes` more bytes of a body were written.
    pub fn record_sent(&mut self, tag: u32, bytes: usize) {
        self.window -= bytes as i64;
        let Some(stream) = self.stream(tag) else { return };
        stream.unsent -= bytes;
        stream.window -= bytes as i64;
        self.unsent -= u32::from(self.stream(tag).is_some_and(|stream| stream.unsent == 0));
    }

    fn position(&self, tag: u32) -> Option<usize> {
        match self.streams.front() {
            Some(oldest) if oldest.tag == tag => Some(0),
            _ => self.streams.binary_search_by_key(&tag, |one| one.tag).ok(),
        }
    }

    /// Return the stream with that tag if its reply is incomplete.
    pub fn stream(&mut self, tag: u32) -> Option<&mut Stream> {
        self.position(tag).and_then(|at| self.streams.get_mut(at))
    }

    /// Remove the stream whose reply is complete.
    pub fn end(&mut self, tag: u32) {
        let ended = self.position(tag).and_then(|at| self.streams.remove(at));
        if ended.is_some_and(|stream| stream.unsent > 0) {
            self.unsent -= 1;
            self.cancelled.push(tag);
        }
    }

    /// Keep the position in the messages of a reply after one of its frames.
    pub fn keep_position(&mut self, frame: &Streamed) {
        let (tag, messages) = frame.position();
        if let Some(stream) = self.stream(tag) {
            stream.messages = Some(messages);
        }
    }

    /// Return how many requests the connection can carry at once. It is 0 while a body is incomplete.
    pub fn in_flight(&self) -> usize {
        if self.closing_tag.is_some() || self.next >= LAST_TAG || self.unsent > 0 {
            return 0;
        }
        STREAMS.min(self.most_streams as usize)
    }

    /// Return the tag limit of a closing connection: only requests with lower tags are answered.
    pub fn closing_tag(&self) -> Option<u32> {
        self.closing_tag.or((self.next >= LAST_TAG).then_some(LAST_TAG))
    }

    /// Apply a GOAWAY payload. A server may send several, with decreasing stream numbers (RFC 9113, 6.8).
    pub fn apply_goaway(&mut self, payload: &[u8]) {
        let below = (frames::number(payload) & MAX_WINDOW).div_ceil(2);
        self.closing_tag = Some(self.closing_tag.map_or(below, |before| before.min(below)));
    }

    /// Apply a `WINDOW_UPDATE`.
    pub fn add_window(&mut self, frame: Frame, payload: &[u8]) {
        let more = i64::from(frames::number(payload) & MAX_WINDOW);
        if frame.stream == 0 {
            self.window += more;
        } else if let Some(stream) = self.stream(frame.stream / 2) {
            stream.window += more;
        }
    }

    /// Count `bytes` received bytes of a body.
    pub fn count_received(&mut self, bytes: usize) {
        self.taken += bytes as u32;
    }

    pub fn queue_ping(&mut self, payload: &[u8]) {
        if let (Ok(word), true) = (payload.try_into(), self.pings.len() < PINGS) {
            self.pings.push(word);
        }
    }

    /// Apply the server's settings.
    pub fn apply_settings(&mut self, payload: &[u8]) {
        self.settings += 1;
        for one in payload.chunks_exact(6) {
            let value = frames::number(&one[2..]);
            match u16::from_be_bytes([one[0], one[1]]) {
                frames::MAX_CONCURRENT_STREAMS => self.most_streams = value,
                // This changes the windows of all streams, which may become negative (RFC 9113, 6.9.2).
                frames::INITIAL_WINDOW_SIZE => {
                    let change = i64::from(value) - i64::from(self.stream_window);
                    self.streams.iter_mut().for_each(|stream| stream.window += change);
                    self.stream_window = value;
                }
                _ => {}
            }
        }
    }

    /// Append pending control frames, as far as there is space.
    pub fn write_pending(&mut self, out: &mut Vec<u8>) {
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
    fn goaway_names_the_last_answered_request() {
        let mut session = Session::new(0);
        session.begin();
        assert_eq!((session.closing_tag(), session.in_flight()), (None, STREAMS));
        // First a notice with the largest stream number, then the last stream that was begun: 7, the fourth
        // request.
        for (last, below) in [(MAX_WINDOW, 1 << 30), (7, 4), (MAX_WINDOW, 4), (0, 0)] {
            session.apply_goaway(&[last.to_be_bytes(), [0; 4]].concat());
            assert_eq!((session.closing_tag(), session.in_flight()), (Some(below), 0), "{last}");
        }
        session.begin();
        session.push(LAST_TAG - 1, Kind::GET, 0);
        assert_eq!(
            (session.closing_tag(), session.in_flight()),
            (Some(LAST_TAG), 0),
            "stream numbers are exhausted"
        );
    }

    fn update(session: &mut Session, stream: u32, bytes: u32) {
        let frame = Frame { length: 4, kind: frames::WINDOW_UPDATE, flags: 0, stream };
        session.add_window(frame, &bytes.to_be_bytes());
    }

    #[test]
    fn bodies_wait_for_the_servers_windows() {
        let mut session = Session::new(0);
        session.begin();
        assert!(session.accepts(65_535) && !session.accepts(65_536));
        session.push(0, Kind::GET, 65_000);
        let request = Request { kind: Kind::GET, item: 9, value_bytes: 0 };
        session.push_unsent(1, request, 1_000);
        assert_eq!(session.unsent(), Some(Unsent { tag: 1, item: 9, left: 1_000, open: 535 }));
        session.record_sent(1, 535);
        assert_eq!((session.unsent(), session.in_flight()), (None, 0));
        update(&mut session, 0, 100);
        assert_eq!(session.unsent().unwrap().open, 100);
        // The server shrinks the windows of all streams below the sent bytes, then opens this one.
        update(&mut session, 0, 1 << 20);
        session.apply_settings(&[0, 4, 0, 0, 0, 100]);
        assert_eq!((session.unsent(), session.accepts(101)), (None, false));
        update(&mut session, 3, 435 + 7);
        assert_eq!(session.unsent().unwrap().open, 7);
        session.record_sent(1, 7);
        update(&mut session, 3, 1_000);
        session.record_sent(1, 458);
        assert_eq!((session.unsent(), session.in_flight()), (None, STREAMS));
    }

    #[test]
    fn a_body_is_cancelled_once_its_reply_is_complete() {
        let mut session = Session::new(0);
        session.begin();
        session.push_unsent(0, Request { kind: Kind::GET, item: 0, value_bytes: 0 }, 100);
        session.end(0);
        let mut out = Vec::with_capacity(100);
        session.write_pending(&mut out);
        assert_eq!((out, session.in_flight()), (b"\0\0\x04\x03\0\0\0\0\x01\0\0\0\0".to_vec(), STREAMS));
    }

    #[test]
    fn control_frames_wait_for_space() {
        let mut session = Session::new(0);
        session.begin();
        session.apply_settings(&[0, 3, 0, 0, 0, 5]);
        session.queue_ping(b"12345678");
        session.count_received(REPORTED as usize);
        let mut out = Vec::with_capacity(20);
        session.write_pending(&mut out);
        assert_eq!(out, [0, 0, 0, 4, 1, 0, 0, 0, 0]);
        let mut rest = Vec::with_capacity(100);
        session.write_pending(&mut rest);
        let expected =
            [&b"\0\0\x08\x06\x01\0\0\0\x0012345678"[..], b"\0\0\x04\x08\0\0\0\0\0\x40\0\0\0"].concat();
        assert_eq!((rest, session.in_flight()), (expected, 5));
        session.write_pending(&mut out);
        assert_eq!(out.len(), 9, "no control frame is pending");
    }
}
