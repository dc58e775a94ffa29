//! Finds message boundaries. It shares no code with the engine's codecs on purpose: the capture is independent
//! evidence, and must parse the messages of other tools, too.
//!
//! A message is a list of pieces that begin with their length. Only the head of each piece is needed, so values may
//! be missing from the capture.

mod http;
mod memcached;
mod redis;

use crate::stream::Chunk;

/// The supported protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// memcached's text protocol.
    Memcached,
    /// Redis: RESP2, and RESP3 without pushes.
    Redis,
    /// HTTP/1.1.
    Http,
}

impl Protocol {
    /// Return the protocol of this name, as in plans.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "memcached" => Some(Self::Memcached),
            "redis" => Some(Self::Redis),
            "http" => Some(Self::Http),
            _ => None,
        }
    }

    pub(crate) fn grammar(self) -> Box<dyn Grammar> {
        match self {
            Self::Memcached => Box::<memcached::Text>::default(),
            Self::Redis => Box::<redis::Resp>::default(),
            Self::Http => Box::<http::Http>::default(),
        }
    }
}

/// The outcome stated by a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Found, stored or served.
    Hit,
    /// The item does not exist.
    Miss,
    /// An error.
    Error,
}

/// What the framing of the reply must know about its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyKind {
    /// No reply follows.
    Silence,
    /// One self-delimiting reply.
    One,
    /// Values of this many keys.
    Values(u32),
    /// Lines up to `END`.
    List,
    /// A reply without a body.
    HeadOnly,
}

/// Result of parsing the start of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<T> {
    /// More bytes are needed.
    More,
    /// Not a message of this protocol.
    Garbage,
    /// A piece of this many bytes; more pieces follow.
    Piece(u64),
    /// The last piece, of this many bytes.
    Last(u64, T),
}

/// A protocol's grammar, with its state on one connection.
pub trait Grammar {
    /// Parse the start of a piece of a request.
    fn request(&mut self, bytes: &[u8]) -> Step<ReplyKind>;
    /// Parse the start of a piece of a reply.
    fn reply(&mut self, asked: ReplyKind, bytes: &[u8]) -> Step<Outcome>;
}

/// Longest head of a piece in bytes; a longer one does not belong to the protocol.
const LONGEST_HEAD: usize = 32 * 1024;

/// Unparsed bytes; the last `unknown` of them were not captured.
pub struct UnparsedBytes<'b> {
    bytes: &'b [u8],
    unknown: u64,
}

impl<'b> UnparsedBytes<'b> {
    pub fn new(chunk: &Chunk<'b>) -> Self {
        let kept = chunk.bytes.len() as u64;
        Self { bytes: chunk.bytes, unknown: chunk.length.saturating_sub(kept) }
    }

    pub fn is_empty(&self) -> bool {
        self.length() == 0
    }

    /// Number of bytes.
    pub fn length(&self) -> u64 {
        self.bytes.len() as u64 + self.unknown
    }

    fn skip(&mut self, count: u64) {
        let known = count.min(self.bytes.len() as u64);
        self.bytes = &self.bytes[known as usize..];
        self.unknown = self.unknown.saturating_sub(count - known);
    }
}

/// The bytes contain no message of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoMessage;

/// Splits one direction of a connection into messages.
pub struct Framer<T> {
    /// Start of a piece that is too short to be parsed.
    head: Vec<u8>,
    /// Bytes of the current piece that have not arrived.
    left: u64,
    /// The message, if the current piece is its last.
    last: Option<T>,
    size: u64,
}

impl<T> Default for Framer<T> {
    fn default() -> Self {
        Self { head: Vec::new(), left: 0, last: None, size: 0 }
    }
}

impl<T> Framer<T> {
    /// Whether the next byte starts a message.
    pub fn is_idle(&self) -> bool {
        self.size == 0 && self.left == 0 && self.head.is_empty()
    }

    /// Return the next message that ends in `rest`, with its length; `None` if it continues beyond.
    pub fn next(
        &mut self,
        rest: &mut UnparsedBytes<'_>,
        mut parse: impl FnMut(&[u8]) -> Step<T>,
    ) -> Result<Option<(T, u64)>, NoMessage> {
        loop {
            if self.left > 0 {
                let here = self.left.min(rest.length());
                rest.skip(here);
                self.left -= here;
                self.size += here;
                if self.left > 0 {
                    return Ok(None);
                }
                if let Some(message) = self.last.take() {
                    return Ok(Some((message, std::mem::take(&mut self.size))));
                }
            }
            if rest.is_empty() {
                return Ok(None);
            }
            let earlier = self.head.len();
            let step = if earlier == 0 {
                parse(rest.bytes)
            } else {
                self.head.extend_from_slice(rest.bytes);
                parse(&self.head)
            };
            let length = match step {
                Step::Garbage => return Err(NoMessage),
                Step::More => {
                    if earlier == 0 {
                        self.head.extend_from_slice(rest.bytes);
                    }
                    if rest.unknown > 0 || self.head.len() > LONGEST_HEAD {
                        return Err(NoMessage);
                    }
                    rest.skip(u64::MAX);
                    return Ok(None);
                }
                Step::Piece(length) => length,
                Step::Last(length, message) => {
                    self.last = Some(message);
                    length
                }
            };
            self.head.clear();
            self.size = self.size.saturating_add(earlier as u64);
            // The piece must be longer than the bytes that were insufficient, and not empty, or this
            // loop would not end.
            self.left = length.checked_sub(earlier as u64).filter(|&left| left > 0).ok_or(NoMessage)?;
        }
    }
}

/// Return the end of the first line in `bytes` (after its LF), if it is complete.
fn line_end(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|&b| b == b'\n').map(|i| i + 1)
}

/// Parse decimal digits; anything else is `None`.
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    digits.iter().try_fold(0u64, |n, &d| d.is_ascii_digit().then(|| n * 10 + u64::from(d - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Return the requests of `bytes`, split into packets of `step` bytes of which `kept` are captured.
    pub fn requests(protocol: Protocol, bytes: &[u8], step: usize, kept: usize) -> Vec<(ReplyKind, u64)> {
        let mut grammar = protocol.grammar();
        let mut framer = Framer::default();
        let mut all = Vec::new();
        for packet in bytes.chunks(step) {
            let known = &packet[..kept.min(packet.len())];
            let mut rest = UnparsedBytes { bytes: known, unknown: (packet.len() - known.len()) as u64 };
            while let Some(one) = framer.next(&mut rest, |b| grammar.request(b)).unwrap() {
                all.push(one);
            }
        }
        assert!(framer.is_idle());
        all
    }

    /// Return the replies of `bytes`, each to the next of `asked`.
    pub fn replies(
        protocol: Protocol,
        asked: &[ReplyKind],
        bytes: &[u8],
        step: usize,
    ) -> Vec<(Outcome, u64)> {
        let mut grammar = protocol.grammar();
        let mut framer = Framer::default();
        let mut all = Vec::new();
        for packet in bytes.chunks(step) {
            let mut rest = UnparsedBytes { bytes: packet, unknown: 0 };
            while let Some(one) = framer.next(&mut rest, |b| grammar.reply(asked[all.len()], b)).unwrap() {
                all.push(one);
            }
        }
        assert!(framer.is_idle());
        all
    }

    #[test]
    fn memcached_requests_are_framed_alike_for_any_packet_size() {
        let bytes = b"get a\r\nset b 0 0 5\r\nhe\nlo\r\ngets a b c\r\nset c 0 0 1 noreply\r\nx\r\nstats\r\n";
        let expected = [
            (ReplyKind::Values(1), 7),
            (ReplyKind::One, 20),
            (ReplyKind::Values(3), 12),
            (ReplyKind::Silence, 24),
            (ReplyKind::List, 7),
        ];
        for step in 1..bytes.len() {
            assert_eq!(requests(Protocol::Memcached, bytes, step, step), expected, "{step}");
        }
    }

    #[test]
    fn memcached_replies_are_framed_alike_for_any_packet_size() {
        let bytes =
            b"VALUE a 0 2\r\nEN\r\nEND\r\nSTORED\r\nVALUE a 0 1\r\nx\r\nVALUE c 0 0\r\n\r\nEND\r\nEND\r\n";
        let asked = [ReplyKind::Values(1), ReplyKind::One, ReplyKind::Values(3), ReplyKind::Values(1)];
        let expected = [(Outcome::Hit, 22), (Outcome::Hit, 8), (Outcome::Miss, 36), (Outcome::Miss, 5)];
        for step in 1..bytes.len() {
            assert_eq!(replies(Protocol::Memcached, &asked, bytes, step), expected, "{step}");
        }
    }

    #[test]
    fn redis_messages_are_framed_alike_for_any_packet_size() {
        let bytes = b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\nPING\r\n*1\r\n$4\r\nPING\r\n";
        for step in 1..bytes.len() {
            let lengths: Vec<u64> =
                requests(Protocol::Redis, bytes, step, step).iter().map(|one| one.1).collect();
            assert_eq!(lengths, [20, 6, 14], "{step}");
        }
        let bytes = b"$1\r\nv\r\n$-1\r\n+OK\r\n:12\r\n-ERR no\r\n*2\r\n*1\r\n$1\r\na\r\n:1\r\n*0\r\n";
        let expected = [
            (Outcome::Hit, 7),
            (Outcome::Miss, 5),
            (Outcome::Hit, 5),
            (Outcome::Hit, 5),
            (Outcome::Error, 9),
            (Outcome::Hit, 19),
            (Outcome::Hit, 4),
        ];
        for step in 1..bytes.len() {
            assert_eq!(replies(Protocol::Redis, &[ReplyKind::One; 8], bytes, step), expected, "{step}");
        }
    }

    #[test]
    fn http_messages_are_framed_alike_for_any_packet_size() {
        let get = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        let head = b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n";
        let post = b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc";
        let bytes = [&get[..], head, post].concat();
        let expected = [
            (ReplyKind::One, get.len() as u64),
            (ReplyKind::HeadOnly, head.len() as u64),
            (ReplyKind::One, post.len() as u64),
        ];
        for step in 1..bytes.len() {
            assert_eq!(requests(Protocol::Http, &bytes, step, step), expected, "{step}");
        }
        let parts = [
            (&b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"[..], Outcome::Hit),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", Outcome::Hit),
            (
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX: y\r\n\r\n",
                Outcome::Hit,
            ),
            (b"HTTP/1.1 301 Moved\r\nContent-Length: 2\r\n\r\nno", Outcome::Error),
            (b"HTTP/1.1 304 Not Modified\r\n\r\n", Outcome::Error),
            (b"HTTP/1.1 299 Whatever\r\nContent-Length: 0\r\n\r\n", Outcome::Hit),
            (b"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n", Outcome::Miss),
            (b"HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", Outcome::Miss),
        ];
        let bytes = parts.iter().flat_map(|one| one.0.to_vec()).collect::<Vec<u8>>();
        let mut asked = [ReplyKind::One; 8];
        asked[1] = ReplyKind::HeadOnly;
        let expected: Vec<_> = parts.iter().map(|one| (one.1, one.0.len() as u64)).collect();
        for step in 1..bytes.len() {
            assert_eq!(replies(Protocol::Http, &asked, &bytes, step), expected, "{step}");
        }
    }

    #[test]
    fn values_may_be_missing_but_heads_must_be_captured() {
        let bytes = b"set b 0 0 50\r\n01234567890123456789012345678901234567890123456789\r\n";
        assert_eq!(requests(Protocol::Memcached, bytes, bytes.len(), 20), [(ReplyKind::One, 66)]);
        let mut framer = Framer::default();
        let mut rest = UnparsedBytes { bytes: &bytes[..8], unknown: 58 };
        let mut grammar = Protocol::Memcached.grammar();
        assert_eq!(framer.next(&mut rest, |b| grammar.request(b)), Err(NoMessage));
    }
}
