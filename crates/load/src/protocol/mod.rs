//! *Messages*: how requests are written and replies are told apart. A new protocol is one file here, named below,
//! and its entry in the table of `hindmost_wire`.
//!
//! A codec sees bytes and nothing else: no sockets, no clocks. Most need [`Protocol::write`] and [`Protocol::read`]
//! alone: replies come in the order of the requests, so the kind of the oldest outstanding request says what to
//! expect. The rest of the trait is for those that keep a [`Protocol::Session`] a connection:
//!
//! ```text
//! connected ── begin ──► opening, opening, ... ──► write (tag) ──► read (tag) ──► ...
//!                 │        refused: why              in_flight: so many at once
//!                 └ true: usable at once             answer: what read wants said;  leaves: the server says goodbye
//! ```
//!
//! What a codec has no use for costs it nothing: constants switch it off where the loop is compiled for it.

mod chunks;
mod delimited;
mod dialogue;
mod dns;
mod http;
mod http2;
mod ids;
mod items;
mod memcached;
mod memcached_binary;
mod memcached_meta;
mod memcached_udp;
mod opening;
mod passing;
mod postgresql;
mod raw;
mod reader;
mod redis;
mod rest;
mod starts;
mod ws;

use std::borrow::Cow;

use hindmost_plan::Plan;
use schemars::JsonSchema;
use serde::Serialize;
use thiserror::Error;

pub use dialogue::{Answer, Dialogue};
pub use dns::{code_name, outcome_of, Dns};
pub use http::{outcome, Http, CODES};
pub use http2::{reset_name, status_name, status_outcome, Grpc, Http2};
pub use ids::BYTES as IDS_BYTES;
pub use items::Items;
pub use memcached::Memcached;
pub use memcached_binary::MemcachedBinary;
pub use memcached_meta::MemcachedMeta;
pub use memcached_udp::MemcachedUdp;
pub(crate) use opening::quote;
pub use opening::{Opening, Refusal};
pub use passing::{Misplaced, Passed};
pub use postgresql::{largest_statement, Postgresql};
pub use raw::{largest_raw, Raw};
pub use reader::{Reader, Reply};
pub use redis::{largest_command, Redis};
pub use rest::Rest;
pub use ws::{largest_message, Ws};

use crate::workload::{Kind, Request};

/// A codec for one protocol; one per worker.
pub trait Protocol: Send {
    /// Its entry in the table.
    const PROTOCOL: hindmost_wire::Protocol;
    /// Whether a server may close a connection after any reply, as HTTP's may. What [`Protocol::may_repeat`] is then
    /// asked again, and requests take turns on connections where it does so all the time.
    const MAY_CLOSE: bool = false;
    /// The longest start of a reply that may be needed to tell what it is. More than that is garbage.
    const MAX_HEAD: usize;
    /// Replies come in any order, and name by its tag the request that they answer.
    const TAGGED: bool = false;
    /// Bytes may come that answer no request ([`Parsed::Aside`]); [`Protocol::answer`] and [`Protocol::leaves`] are
    /// asked after each read.
    const ANSWERS: bool = false;
    /// [`Protocol::in_flight`] is asked before each request.
    const BOUNDED: bool = false;
    /// Messages are datagrams, which may get lost: a request without reply times out by itself, replies may come later
    /// ([`Protocol::is_free`]), and in front of each message stands its length ([`crate::transport::Udp`]).
    const LOSSY: bool = false;
    /// Replies have codes, which are counted, whatever closes connections.
    const CODES: bool = false;
    /// A server may refuse a single request ([`Parsed::Refused`]): what people are shown of one that it refused twice.
    const REFUSAL: Option<&'static [u8]> = None;

    /// What is known of one connection; `()` where nothing is. Made before the load; what is done with it in the load
    /// allocates nothing.
    type Session: Default + Send;

    /// A codec for the plan's workload. Everything that requests need is prepared here.
    fn new(plan: &Plan) -> Self;

    /// What a connection starts with, with the memory that it will need.
    fn session(&self) -> Self::Session {
        Self::Session::default()
    }

    /// A fresh connection: forgets what the session knew of the one before, and appends to `out` what is said first.
    /// Says whether it can carry requests at once; else [`Protocol::opening`] goes on.
    fn begin(&self, _session: &mut Self::Session, _out: &mut Vec<u8>) -> bool {
        true
    }

    /// Looks at what has come since the last step of the opening, and appends what is to be said next. The time of
    /// the opening counts as time to connect.
    ///
    /// # Errors
    /// [`Refusal`] when the server will not serve us, or what it says is not of the protocol.
    fn opening(
        &self,
        _session: &mut Self::Session,
        _bytes: &[u8],
        _out: &mut Vec<u8>,
    ) -> Result<Opening, Refusal> {
        Ok(Opening::Done(0))
    }

    /// Requests that the connection takes at once; what is due beyond waits at the client, due when it was due.
    fn in_flight(&self, _session: &Self::Session) -> usize {
        usize::MAX
    }

    /// Whether the request with this tag can be told from those before it, whose replies may still come; else the next
    /// tag is tried. Only where [`Protocol::LOSSY`].
    fn is_free(&self, _session: &Self::Session, _tag: u32) -> bool {
        true
    }

    /// Nobody waits for the reply to this tag any more. Only where [`Protocol::LOSSY`].
    fn give_up(&self, _session: &mut Self::Session, _tag: u32) {}

    /// Appends a whole request to `out`. Where replies are [`Protocol::TAGGED`], `tag` counts the requests of the
    /// connection, from 0.
    fn write(&self, session: &mut Self::Session, request: Request, tag: u32, out: &mut Vec<u8>);

    /// Appends a request that removes a key, for the clean-up after the load; its reply is read as that to
    /// [`Kind::REMOVED`], a miss where there was none. Only asked of protocols whose workloads have keys.
    fn remove(&self, _session: &mut Self::Session, _item: u32, _tag: u32, _out: &mut Vec<u8>) {}

    /// Appends what the codec wants sent in reaction to what it has read, as far as `out` has room: it must not grow.
    fn answer(&self, _session: &mut Self::Session, _out: &mut Vec<u8>) {}

    /// The server takes no more requests on this connection. Those with tags below this are still answered; the others
    /// are asked again on the connection that takes its place.
    fn leaves(&self, _session: &Self::Session) -> Option<u32> {
        None
    }

    /// Bytes that follow what [`Protocol::write`] appends: so many that no connection has room for a copy. Whoever has
    /// such asks by turns.
    fn tail(&self, _request: Request) -> &[u8] {
        &[]
    }

    /// Appends the last request that its connection carries, which may say so.
    fn write_last(&self, session: &mut Self::Session, request: Request, tag: u32, out: &mut Vec<u8>) {
        self.write(session, request, tag, out);
    }

    /// Appends the client's goodbye, with which the server closes the connection; whether there is one, here or in
    /// [`Protocol::write_last`]. Else we close it, and the port is ours to keep for a minute (`TIME_WAIT`).
    fn farewell(&self, _session: &mut Self::Session, _out: &mut Vec<u8>) -> bool {
        false
    }

    /// Whether requests take turns on connections from the start, one at a time on each, whatever the plan says.
    fn takes_turns(&self) -> bool {
        false
    }

    /// Whether a request of `kind` may be asked again whose bytes may have reached the server (RFC 9110, 9.2.2).
    fn may_repeat(&self, _kind: Kind) -> bool {
        true
    }

    /// Whether one may be asked again that lies behind the server's farewell.
    fn may_repeat_unhandled(&self, kind: Kind) -> bool {
        self.may_repeat(kind)
    }

    /// Looks at the start of a reply to a request of `kind`. [`Reader`] shows it at most
    /// [`Protocol::MAX_HEAD`] bytes, and what it makes of them must not
    /// change when more bytes follow; so the session is left alone while that is [`Parsed::More`]. Of a
    /// [`Protocol::TAGGED`] protocol the kind is unknown here.
    ///
    /// # Errors
    /// [`Garbage`] when the bytes cannot be a reply.
    fn read(&self, session: &mut Self::Session, kind: Kind, bytes: &[u8]) -> Result<Parsed, Garbage>;

    /// Whether `bytes`, for which no request asked, mean nothing and may stand before a reply.
    fn is_padding(_bytes: &[u8]) -> bool {
        false
    }

    /// All of what began with a [`Parsed::Reply`] or [`Parsed::Aside`] has come; `rest` has seen what followed its head.
    #[inline]
    fn ended(&self, _session: &mut Self::Session, _rest: &Rest) {}

    /// The words of an error, of which `head` is the head, or what [`Rest::pass`] kept: what people are shown.
    fn complaint(head: &[u8]) -> Cow<'_, [u8]> {
        head.into()
    }
}

/// What the bytes at hand hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// Not yet enough to tell.
    More,
    /// A reply, of which some may still be on its way.
    Reply {
        /// How many bytes the head has; at least one.
        head: usize,
        /// What follows them and belongs to the reply.
        rest: Rest,
        /// What it says.
        outcome: Outcome,
        /// The server closes the connection after this reply.
        closes: bool,
        /// HTTP's status code; 0 where the protocol has none.
        code: u16,
        /// Of the request that it answers, where replies are [`Protocol::TAGGED`].
        tag: u32,
    },
    /// The server has not worked on a request, and says that it may be asked again. Only where [`Protocol::REFUSAL`].
    Refused {
        /// How many bytes say so.
        head: usize,
        /// As of a reply: where it is refused again, that is its reply.
        code: u16,
        /// Which request.
        tag: u32,
    },
    /// Bytes that end no reply: a frame of one, or of none. Only where [`Protocol::ANSWERS`].
    Aside {
        /// How many bytes the head has; at least one.
        head: usize,
        /// What follows them and belongs to it.
        rest: Rest,
    },
}

impl Parsed {
    /// A reply that is a line of `head` bytes, in a protocol as of [`Parsed::reply`].
    pub fn line(head: usize, outcome: Outcome) -> Self {
        Self::reply(head, Rest::NOTHING, outcome)
    }

    /// A reply in a protocol that is in order, has no status codes, and keeps connections.
    pub const fn reply(head: usize, rest: Rest, outcome: Outcome) -> Self {
        Self::Reply { head, rest, outcome, closes: false, code: 0, tag: 0 }
    }
}

/// What a reply says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Found, stored, served.
    Hit,
    /// The server answered that there is no such item.
    Miss,
    /// The server answered with an error.
    Error,
}

/// Bytes that cannot be a reply of this protocol.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{protocol} reply{} {} {start:?}", match &request[..] {
    "" => String::new(),
    name => format!(" to `{name}`"),
}, match .endless {
    Some(most) => format!("has no end of its head within {most} bytes: it starts with"),
    None => "cannot start with".to_owned(),
})]
pub struct Garbage {
    /// The protocol that was expected.
    pub protocol: &'static str,
    /// The kind of request that was to be answered.
    pub kind: Kind,
    /// What the plan calls it, once that is known.
    pub request: String,
    /// The first bytes, made printable.
    pub start: String,
    /// They might be one, but its head did not end within so many.
    pub endless: Option<usize>,
}

impl Garbage {
    /// Of a request of `kind`, to which these bytes cannot be a reply in `P`.
    pub fn new<P: Protocol>(kind: Kind, bytes: &[u8]) -> Self {
        let spoken = P::PROTOCOL.entry();
        let start = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
        Self { protocol: spoken.name, kind, request: String::new(), start, endless: None }
    }

    /// Of a head that is longer than it may be.
    pub(crate) fn endless<P: Protocol>(kind: Kind, bytes: &[u8]) -> Self {
        Self { endless: Some(P::MAX_HEAD), ..Self::new::<P>(kind, bytes) }
    }
}

/// The end of the first line in `bytes` (after its CR LF), if it is there.
fn line_end(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|&b| b == b'\n').map(|i| i + 1)
}

/// Decimal digits, and nothing else, as a number.
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

    /// A plan for a key-value protocol whose keys live for so long.
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

    /// The replies to requests of `kind` at the start of the stream that `pieces` make, each with its
    /// length; then why there are no more.
    fn replies<P: Protocol>(codec: &P, kind: Kind, pieces: &[&[u8]]) -> (Vec<Reply>, Result<(), Garbage>) {
        let (mut reader, mut replies, mut length) = (Reader::new::<P>(), Vec::new(), 0);
        let session = &mut codec.session();
        if P::ANSWERS && !P::TAGGED {
            // What comes would answer no request.
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
                assert!(reader.held() < P::MAX_HEAD);
            }
        }
        (replies, Ok(()))
    }

    /// Whole or cut, a stream holds the same replies.
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
        fn any_bytes_are_survived_however_they_are_cut(
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

    /// A good reply is recognised whole, in two pieces cut anywhere, and byte by byte.
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
    fn every_codec_speaks_the_protocol_that_it_is_named_after() {
        for &protocol in hindmost_wire::Protocol::ALL {
            assert_eq!(hindmost_wire::with_protocol!(protocol, crate::protocol, speaks()), protocol);
        }
    }

    #[test]
    fn a_head_without_end_is_garbage_however_it_arrives() {
        let codec = Memcached::new(&plan("memcached"));
        for piece in [1, 1000, 5000] {
            let (found, end) = replies(&codec, Kind::GET, &vec![&vec![b'x'; piece][..]; 5000 / piece]);
            assert!(found.is_empty() && end.is_err(), "{piece}");
        }
    }
}
