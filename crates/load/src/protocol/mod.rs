//! *Messages*: codecs that write requests and parse replies. A new protocol is one file here, listed below,
//! and an entry in the table of `hindmost_wire`.
//!
//! A codec sees bytes only: no sockets, no clocks. Most codecs need just [`Protocol::write`] and
//! [`Protocol::read`]: replies arrive in the order of the requests, so the kind of the oldest outstanding
//! request determines what to expect. The rest of the trait is for codecs that keep a [`Protocol::Session`]
//! for each connection:
//!
//! ```text
//! connected ── begin ──► opening, opening, ... ──► write (tag) ──► read (tag) ──► ...
//!                 │        or a refusal              in_flight: the limit on concurrent requests
//!                 └ true: usable at once             write_control, closing_tag: while connected
//! ```
//!
//! Unused features cost nothing: constants remove them when the event loop is compiled for a codec.

mod chunks;
mod delimiter;
mod dialogue;
mod dns;
mod framing;
mod http;
mod http2;
mod ids;
mod items;
mod memcached;
mod memcached_binary;
mod memcached_meta;
mod memcached_udp;
mod opening;
mod postgresql;
mod prefixes;
mod raw;
mod reader;
mod redis;
mod remainder;
mod streamed;
mod ws;

use std::borrow::Cow;

use hindmost_plan::Plan;
use schemars::JsonSchema;
use serde::Serialize;
use thiserror::Error;

pub use dialogue::{Answer, Dialogue};
pub use dns::{code_name, outcome_of, Dns};
pub use framing::{Extent, FramingError};
pub use http::{failed_check, outcome, Http, NotFollowed, CODES, LONGEST_PATH};
pub use http2::{reset_name, status_name, status_outcome, Grpc, Http2};
pub use ids::BYTES as IDS_BYTES;
pub use items::Items;
pub use memcached::Memcached;
pub use memcached_binary::MemcachedBinary;
pub use memcached_meta::MemcachedMeta;
pub use memcached_udp::MemcachedUdp;
pub(crate) use opening::quote;
pub use opening::{Opening, Refusal};
pub use postgresql::{largest_statement, Postgresql};
pub use raw::{largest_raw, Raw};
pub use reader::{Reader, Reply};
pub use redis::{largest_command, Redis};
pub use remainder::Remainder;
pub use ws::{largest_message, Ws};

use crate::workload::{Kind, Request};

/// A codec for one protocol. Each worker has its own.
pub trait Protocol: Send {
    /// The protocol's entry in the table.
    const PROTOCOL: hindmost_wire::Protocol;
    /// Whether a server may close a connection after any reply, as in HTTP. Requests that
    /// [`Protocol::may_repeat`] allows are then resent. If the server keeps closing connections, requests take
    /// turns on them.
    const MAY_CLOSE: bool = false;
    /// Most bytes at the start of a reply needed to parse its head. A longer head is garbage.
    const MAX_HEAD: usize;
    /// Whether replies may arrive in any order, each with the tag of its request.
    const TAGGED: bool = false;
    /// Whether a server may send bytes that answer no request ([`Incoming::Aside`]). If so,
    /// [`Protocol::write_control`] and [`Protocol::closing_tag`] are called after each read.
    const HAS_CONTROL: bool = false;
    /// Whether [`Protocol::in_flight`] is called before each request.
    const BOUNDED: bool = false;
    /// Whether messages are datagrams, which may be lost. A request without a reply then times out on its
    /// own, and its reply may still arrive later ([`Protocol::is_free`]). Each message is preceded by its
    /// length ([`crate::transport::Udp`]).
    const LOSSY: bool = false;
    /// Whether replies have codes to count, even if [`Protocol::MAY_CLOSE`] is false.
    const CODES: bool = false;
    /// Whether the messages of replies may be counted ([`Remainder::Streamed`]).
    const STREAMS: bool = false;
    /// Whether a reply may redirect its request ([`Reply::redirects`]).
    const MAY_REDIRECT: bool = false;
    /// Error text for a request that the server refused twice, if it can refuse single requests
    /// ([`Incoming::Refused`]).
    const REFUSAL: Option<&'static [u8]> = None;

    /// The state of one connection, or `()`. It is created before the load and must not allocate during the
    /// load.
    type Session: Default + Send;

    /// Create a codec for the plan's workload, and prepare everything that requests need.
    fn new(plan: &Plan) -> Self;

    /// Create the state of a connection with all the memory it needs.
    fn session(&self) -> Self::Session {
        Self::Session::default()
    }

    /// Start a new connection: reset the session and append the client's first message to `out`. Return
    /// whether the connection can carry requests at once. Otherwise [`Protocol::opening`] follows.
    fn begin(&self, _session: &mut Self::Session, _out: &mut Vec<u8>) -> bool {
        true
    }

    /// Parse the bytes received since the last step of the opening, and append the next message. The time of
    /// the opening counts as connection time.
    ///
    /// # Errors
    /// [`Refusal`] if the server refuses the client or does not follow the protocol.
    fn opening(
        &self,
        _session: &mut Self::Session,
        _bytes: &[u8],
        _out: &mut Vec<u8>,
    ) -> Result<Opening, Refusal> {
        Ok(Opening::Done(0))
    }

    /// Return the limit on requests in flight. Requests beyond it wait in the client and keep their scheduled
    /// time.
    fn in_flight(&self, _session: &Self::Session) -> usize {
        usize::MAX
    }

    /// Whether the tag is free: no late reply to an earlier request can be mistaken for its reply. Otherwise
    /// the next tag is tried. Only called if [`Protocol::LOSSY`].
    fn is_free(&self, _session: &Self::Session, _tag: u32) -> bool {
        true
    }

    /// Give up on the reply to this tag. Only called if [`Protocol::LOSSY`].
    fn give_up(&self, _session: &mut Self::Session, _tag: u32) {}

    /// Append a whole request to `out`. If replies are [`Protocol::TAGGED`], `tag` is the number of the
    /// request on its connection, starting at 0.
    fn write(&self, session: &mut Self::Session, request: Request, tag: u32, out: &mut Vec<u8>);

    /// Append a request that removes a key, for the clean-up after the load. Its reply is parsed as one to
    /// [`Kind::REMOVED`], and a missing key is a miss. Only called for protocols whose workloads have keys.
    fn write_removal(&self, _session: &mut Self::Session, _item: u32, _tag: u32, _out: &mut Vec<u8>) {}

    /// Return how often a request is redirected at most. Only called if [`Protocol::MAY_REDIRECT`].
    fn most_redirects(&self) -> u8 {
        0
    }

    /// Append the request that the last complete reply of `session` redirects to. Only called if
    /// [`Protocol::MAY_REDIRECT`].
    fn write_redirected(&self, _session: &mut Self::Session, _request: Request, _out: &mut Vec<u8>) {}

    /// Append control messages in response to what was read, as far as `out` has space: it must not grow.
    fn write_control(&self, _session: &mut Self::Session, _out: &mut Vec<u8>) {}

    /// Return the tag limit of a closing connection, or `None`. Requests with lower tags are still answered;
    /// the others are resent on the replacement connection.
    fn closing_tag(&self, _session: &Self::Session) -> Option<u32> {
        None
    }

    /// Return bytes that follow the output of [`Protocol::write`] and are too large to copy into each
    /// connection's buffer. Requests with a tail take turns on connections.
    fn tail(&self, _request: Request) -> &[u8] {
        &[]
    }

    /// Append the last request on its connection, which may announce the close.
    fn write_last(&self, session: &mut Self::Session, request: Request, tag: u32, out: &mut Vec<u8>) {
        self.write(session, request, tag, out);
    }

    /// Append the client's goodbye, after which the server closes the connection. Return whether there is
    /// one, here or in [`Protocol::write_last`]. Otherwise the client closes the connection and keeps the
    /// port for a minute (`TIME_WAIT`).
    fn write_farewell(&self, _session: &mut Self::Session, _out: &mut Vec<u8>) -> bool {
        false
    }

    /// Whether requests always take turns on connections, one at a time on each.
    fn takes_turns(&self) -> bool {
        false
    }

    /// Whether a request of `kind` may be repeated after its bytes may have reached the server (RFC 9110,
    /// 9.2.2).
    fn may_repeat(&self, _kind: Kind) -> bool {
        true
    }

    /// Whether a request may be repeated after the server announced that it did not process it.
    fn may_repeat_unhandled(&self, kind: Kind) -> bool {
        self.may_repeat(kind)
    }

    /// Parse the start of a reply to a request of `kind`. [`Reader`] passes at most [`Protocol::MAX_HEAD`]
    /// bytes. More bytes must not change the result, so the session must stay unchanged while it is
    /// [`Incoming::More`]. For a [`Protocol::TAGGED`] protocol the kind is unknown here.
    ///
    /// # Errors
    /// [`Garbage`] if the bytes are not a reply.
    fn read(&self, session: &mut Self::Session, kind: Kind, bytes: &[u8]) -> Result<Incoming, Garbage>;

    /// Whether the unrequested `bytes` are meaningless and may precede a reply.
    fn is_padding(_bytes: &[u8]) -> bool {
        false
    }

    /// Handle a part of the body of a reply to a request of `kind`.
    #[inline]
    fn read_body(&self, _session: &mut Self::Session, _kind: Kind, _part: &[u8]) {}

    /// Change the outcome of a complete reply to a request of `kind` if it fails a check of the workload.
    #[inline]
    fn finish_reply(&self, _session: &mut Self::Session, _kind: Kind, _reply: &mut Reply) {}

    /// Handle the complete end of a [`Incoming::Reply`] or [`Incoming::Aside`]. `rest` has parsed everything
    /// after its head.
    #[inline]
    fn finish_message(&self, _session: &mut Self::Session, _rest: &Remainder) {}

    /// Return the text of an error for people. `head` is the reply's head, or the bytes kept by
    /// [`Remainder::consume`].
    fn error_text(head: &[u8]) -> Cow<'_, [u8]> {
        head.into()
    }
}

/// The result of parsing the available bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incoming {
    /// More bytes are needed.
    More,
    /// A reply whose head is complete.
    Reply {
        /// Length of the head in bytes; at least one.
        head: usize,
        /// The part of the reply after the head.
        rest: Remainder,
        /// The outcome of the reply.
        outcome: Outcome,
        /// Whether the server closes the connection after this reply.
        closes: bool,
        /// A status code such as HTTP's; 0 if the protocol has none.
        code: u16,
        /// Tag of the answered request, if replies are [`Protocol::TAGGED`].
        tag: u32,
    },
    /// The server has not processed a request, and permits a resend. Only if [`Protocol::REFUSAL`] is set.
    Refused {
        /// Length of the refusal in bytes.
        head: usize,
        /// Code of the reply if the request is refused again.
        code: u16,
        /// Tag of the refused request.
        tag: u32,
    },
    /// Bytes that complete no reply, such as a frame. Only if [`Protocol::HAS_CONTROL`].
    Aside {
        /// Length of the head in bytes; at least one.
        head: usize,
        /// The part after the head.
        rest: Remainder,
    },
}

impl Incoming {
    /// Create a reply that is one line of `head` bytes. See [`Incoming::reply`].
    pub fn line(head: usize, outcome: Outcome) -> Self {
        Self::reply(head, Remainder::EMPTY, outcome)
    }

    /// Create a reply for protocols with ordered replies, without status codes and closes.
    pub const fn reply(head: usize, rest: Remainder, outcome: Outcome) -> Self {
        Self::Reply { head, rest, outcome, closes: false, code: 0, tag: 0 }
    }
}

/// The outcome of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Found, stored or served.
    Hit,
    /// The item does not exist.
    Miss,
    /// An error reply.
    Error,
}

/// Bytes that are not a reply of this protocol.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{protocol} reply{} {} {start:?}", match &request[..] {
    "" => String::new(),
    name => format!(" to `{name}`"),
}, match .endless {
    Some(most) => format!("has a head longer than {most} bytes, which starts with"),
    None => "cannot start with".to_owned(),
})]
pub struct Garbage {
    /// The expected protocol.
    pub protocol: &'static str,
    /// The kind of the unanswered request.
    pub kind: Kind,
    /// The kind's name in the plan, once known.
    pub request: String,
    /// The first bytes in printable form.
    pub start: String,
    /// The limit in bytes that an unfinished head exceeded, if that is the problem.
    pub endless: Option<usize>,
}

impl Garbage {
    /// Report that `bytes` are not a reply in `P` to a request of `kind`.
    pub fn new<P: Protocol>(kind: Kind, bytes: &[u8]) -> Self {
        let spoken = P::PROTOCOL.entry();
        let start = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
        Self { protocol: spoken.name, kind, request: String::new(), start, endless: None }
    }

    /// Report a head that exceeds the limit.
    pub(crate) fn endless<P: Protocol>(kind: Kind, bytes: &[u8]) -> Self {
        Self { endless: Some(P::MAX_HEAD), ..Self::new::<P>(kind, bytes) }
    }
}

/// Return the end of the first line in `bytes` (after its CR LF), if it is complete.
fn line_end(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|&b| b == b'\n').map(|i| i + 1)
}

/// Parse a number of decimal digits only.
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    digits.iter().try_fold(0u64, |n, &d| d.is_ascii_digit().then(|| n * 10 + u64::from(d - b'0')))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// Return a plan for a key-value protocol with the given time to live.
    pub(super) fn plan_with_ttl(protocol: &str, ttl_s: u32) -> Plan {
        let mut plan = plan(protocol);
        let ttl_s = Some(hindmost_plan::Size::Fixed(ttl_s));
        let mix = hindmost_plan::KeyValue { ttl_s, ..hindmost_plan::KeyValue::default() };
        plan.workload = hindmost_plan::Workload::KeyValue(mix);
        plan
    }

    pub(super) fn plan(protocol: &str) -> Plan {
        let spoken = hindmost_wire::Protocol::ALL.iter().find(|one| one.entry().name == protocol).unwrap();
        let text = json!({
            "schema": hindmost_plan::SCHEMA, "seed": 1,
            "target": {"protocol": protocol, "address": "127.0.0.1:1"},
            "load": {"loop": "open", "rate_per_s": 1.0},
            "workload": match spoken.entry().mix.name {
                "raw" => json!({"kind": "raw", "requests": [{"send": "x", "until": {"delimiter": "\r\n"}}]}),
                kind => json!({"kind": kind}),
            },
        });
        Plan::from_json(&text.to_string()).unwrap()
    }

    /// Return the replies in the stream of `pieces` to requests of `kind`, each with its length, and the
    /// error that ended parsing, if any.
    fn replies<P: Protocol>(codec: &P, kind: Kind, pieces: &[&[u8]]) -> (Vec<Reply>, Result<(), Garbage>) {
        let (mut reader, mut replies, mut length) = (Reader::new::<P>(), Vec::new(), 0);
        let session = &mut codec.session();
        if P::HAS_CONTROL && !P::TAGGED {
            // Without a request, the reader would treat everything as unrequested.
            codec.write(session, Request { kind, item: 0, value_bytes: 0 }, 0, &mut Vec::new());
        }
        for piece in pieces {
            let mut rest = *piece;
            while !rest.is_empty() {
                match reader.next(codec, session, kind, rest, |_| ()) {
                    Ok(Some(reply)) => {
                        rest = &rest[reply.taken..];
                        replies.push(Reply { taken: length + reply.taken, ..reply });
                        length = 0;
                    }
                    Ok(None) => {
                        length += rest.len();
                        break;
                    }
                    Err(garbage) => return (replies, Err(garbage)),
                }
                assert!(reader.buffered() < P::MAX_HEAD);
            }
        }
        (replies, Ok(()))
    }

    /// Check that a stream holds the same replies in one piece and in several.
    fn check_cuts<P: Protocol>(bytes: &[u8], cuts: &[usize]) {
        let codec = &P::new(&plan(P::PROTOCOL.entry().name));
        let mut pieces = Vec::new();
        let mut rest = bytes;
        for &cut in cuts {
            let (piece, after) = rest.split_at(cut.min(rest.len()));
            pieces.push(piece);
            rest = after;
        }
        pieces.push(rest);
        for kind in [Kind::GET, Kind::SET] {
            let (whole, end) = replies(codec, kind, &[bytes]);
            assert!(whole.iter().all(|reply| reply.taken > 0));
            let (cut, cut_end) = replies(codec, kind, &pieces);
            assert_eq!((whole, end.is_ok()), (cut, cut_end.is_ok()));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_handled_however_they_are_split(
            start in prop::sample::select(vec![
                "", "VALUE k 0 ", "VALUE k 0 3\r\nabc\r\nEND\r\n", "$", "$2\r\nab\r\n", "HTTP/1.1 200 OK\r\n",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc", "-", "END", "VA 3\r\nabc\r\n",
                "T\0\0\0\x06\0\x01", "\x01\x02ok\0\x01k", "\x08\x02\x03\x68", "2\0\0\0\x04C\0\0\0\x0dSELECT 0\0Z\0\0\0\x05I",
            ]),
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            cuts in prop::collection::vec(0..40_usize, 0..20),
        ) {
            let bytes = [start.as_bytes(), &bytes[..]].concat();
            for &protocol in hindmost_wire::Protocol::ALL {
                hindmost_wire::with_protocol!(protocol, crate::protocol, check_cuts(&bytes, &cuts));
            }
        }
    }

    /// Check that a reply is recognised in one piece, in two pieces split anywhere, and byte by byte.
    pub(super) fn check_reply<P: Protocol>(codec: &P, kind: Kind, reply: &[u8], outcome: Outcome) {
        let bytes: Vec<&[u8]> = reply.chunks(1).collect();
        let halves = (0..=reply.len()).map(|n| vec![&reply[..n], &reply[n..]]);
        for pieces in halves.chain([vec![reply], bytes]) {
            let (found, end) = replies(codec, kind, &pieces);
            let [Reply { taken, outcome: seen, .. }] = found[..] else { panic!("{found:?}") };
            assert_eq!((taken, seen), (reply.len(), outcome));
            assert_eq!(end, Ok(()));
        }
    }

    fn speaks<P: Protocol>() -> hindmost_wire::Protocol {
        P::PROTOCOL
    }

    #[test]
    fn every_codec_is_listed_under_its_own_protocol() {
        for &protocol in hindmost_wire::Protocol::ALL {
            assert_eq!(hindmost_wire::with_protocol!(protocol, crate::protocol, speaks()), protocol);
        }
    }

    #[test]
    fn an_endless_head_is_garbage_however_it_is_split() {
        let codec = Memcached::new(&plan("memcached"));
        for piece in [1, 1000, 5000] {
            let (found, end) = replies(&codec, Kind::GET, &vec![&vec![b'x'; piece][..]; 5000 / piece]);
            assert!(found.is_empty() && end.is_err(), "{piece}");
        }
    }
}
