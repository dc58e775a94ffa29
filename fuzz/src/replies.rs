//! Reply parsers, driven like a worker's connection: a [`Reader`] over pieces of a stream.
//!
//! - No reply consumes bytes beyond the given ones, and every reply consumes some.
//! - The replies of a stream, and its end, do not depend on how it was split.
//! - The stored part of an unfinished reply stays below the protocol's limit.
//! - After a reply the reader is in its initial state: the rest parses like a separate stream.
//! - A reply that counts as a value is a valid value (`check` of each protocol).

use std::sync::OnceLock;

use hindmost_load::protocol::{
    Dns, Grpc, Http, Http2, Memcached, MemcachedBinary, MemcachedMeta, MemcachedUdp, Outcome, Postgresql,
    Protocol, Reader, Redis, Reply, Ws,
};
use hindmost_load::workload::{Kind, Request};
use hindmost_plan::Plan;

use super::pieces;

/// memcached's text protocol.
pub fn memcached(bytes: &[u8]) {
    static CODEC: OnceLock<Memcached> = OnceLock::new();
    let codec = CODEC.get_or_init(|| Memcached::new(&plan("memcached", "key-value")));
    check(codec, bytes, |kind, reply| {
        let text = reply.strip_prefix(b"VALUE ").filter(|_| kind == Kind::GET);
        let Some(text) = text else { return assert_eq!(line(reply), reply.len()) };
        let head = line(reply);
        let words = &reply[6..head - 2];
        let size = words.split(|&byte| byte == b' ').nth(2).expect("a VALUE line names a size");
        let size: usize = std::str::from_utf8(size).unwrap().parse().unwrap();
        assert!(!text.is_empty());
        assert_eq!(&reply[head + size..], b"\r\nEND\r\n");
    });
}

/// memcached's meta commands.
pub fn memcached_meta(bytes: &[u8]) {
    static CODEC: OnceLock<MemcachedMeta> = OnceLock::new();
    let codec = CODEC.get_or_init(|| MemcachedMeta::new(&plan("memcached-meta", "key-value")));
    check(codec, bytes, |_, reply| {
        let head = line(reply);
        let Some(stated) = reply[..head - 2].strip_prefix(b"VA ") else {
            return assert_eq!(head, reply.len());
        };
        let size = stated.split(|&byte| byte == b' ').next().expect("a VA line states a size");
        let size: usize = std::str::from_utf8(size).unwrap().parse().unwrap();
        assert_eq!(reply.len(), head + size + 2);
        assert!(reply.ends_with(b"\r\n"));
    });
}

/// memcached's binary protocol.
pub fn memcached_binary(bytes: &[u8]) {
    static CODEC: OnceLock<MemcachedBinary> = OnceLock::new();
    let codec = CODEC.get_or_init(|| MemcachedBinary::new(&plan("memcached-binary", "key-value")));
    check_cuts(codec, bytes, |kind, reply, number| {
        assert_eq!(reply[..2], [0x81, u8::from(kind == Kind::SET)]);
        assert_eq!(reply[12..16], (number as u32).to_be_bytes());
        let body = u32::from_be_bytes([reply[8], reply[9], reply[10], reply[11]]);
        assert_eq!(reply.len(), 24 + body as usize);
    });
}

/// Redis, RESP2.
pub fn redis(bytes: &[u8]) {
    static CODEC: OnceLock<Redis> = OnceLock::new();
    let codec = CODEC.get_or_init(|| Redis::new(&plan("redis", "key-value")));
    check(codec, bytes, |_, reply| {
        let head = line(reply);
        let Some(size) = reply[1..head - 2].strip_prefix(b"").filter(|_| reply[0] == b'$') else {
            return assert_eq!(head, reply.len());
        };
        match std::str::from_utf8(size).unwrap().parse::<i64>().unwrap() {
            -1 => assert_eq!(head, reply.len()),
            size => {
                assert_eq!(reply.len(), head + size as usize + 2);
                assert!(reply.ends_with(b"\r\n"));
            }
        }
    });
}

/// Redis, arbitrary commands: replies of every type, and several replies that count as one.
pub fn redis_commands(bytes: &[u8]) {
    static CODEC: OnceLock<Redis> = OnceLock::new();
    let list = r#"{"kind": "commands", "commands": [{"command": "A"}, {"command": [["B"], ["C"], ["D"]]}]}"#;
    let codec = CODEC.get_or_init(|| Redis::new(&plan_of("redis", list)));
    check(codec, bytes, |_, reply| assert!(reply.ends_with(b"\r\n")));
}

/// PostgreSQL.
pub fn postgresql(bytes: &[u8]) {
    static CODEC: OnceLock<Postgresql> = OnceLock::new();
    let codec = CODEC.get_or_init(|| Postgresql::new(&plan("postgresql", "sql")));
    check(codec, bytes, |_, reply| {
        let (mut at, mut last) = (0, 0);
        while at < reply.len() {
            last = reply[at];
            at +=
                1 + u32::from_be_bytes([reply[at + 1], reply[at + 2], reply[at + 3], reply[at + 4]]) as usize;
        }
        assert_eq!((at, last), (reply.len(), b'Z'));
    });
}

/// HTTP/1.1, with and without counting the messages of replies, and with checks of replies.
pub fn http(bytes: &[u8]) {
    static CODEC: OnceLock<Http> = OnceLock::new();
    static STREAMED: OnceLock<Http> = OnceLock::new();
    static CHECKED: OnceLock<Http> = OnceLock::new();
    let codec = CODEC.get_or_init(|| Http::new(&plan("http", "http")));
    let counting = STREAMED.get_or_init(|| Http::new(&streamed("http")));
    let checks = r#"{"kind": "http", "checks": ["body contains aab", "header A: b", "size<=9"]}"#;
    let checking = CHECKED.get_or_init(|| Http::new(&plan_of("http", checks)));
    let value = |_: Kind, reply: &[u8]| {
        assert!(reply.iter().position(|&byte| byte == b'H').is_some());
        assert!(reply.windows(7).any(|version| version == b"HTTP/1."));
    };
    check(codec, bytes, value);
    check(counting, bytes, value);
    check(checking, bytes, value);
    let [plain, counted] = [codec, counting].map(|codec| follow(codec, Kind::GET, &[bytes]));
    assert_eq!((&plain.replies, plain.ends_in_garbage), (&counted.replies, counted.ends_in_garbage));
    assert_eq!(plain.messages, 0);
}

/// HTTP/2, on a connection with a few pending requests, with and without counting messages. A session keeps
/// state, so a reply leaves some behind.
pub fn http2(bytes: &[u8]) {
    static CODEC: OnceLock<Http2> = OnceLock::new();
    static STREAMED: OnceLock<Http2> = OnceLock::new();
    streams(CODEC.get_or_init(|| Http2::new(&plan("http2", "http"))), bytes);
    streams(STREAMED.get_or_init(|| Http2::new(&streamed("http2"))), bytes);
}

/// gRPC, four calls: unary, and streamed.
pub fn grpc(bytes: &[u8]) {
    static CODEC: OnceLock<Grpc> = OnceLock::new();
    static STREAMED: OnceLock<Grpc> = OnceLock::new();
    streams(CODEC.get_or_init(|| Grpc::new(&plan("grpc", "http"))), bytes);
    streams(STREAMED.get_or_init(|| Grpc::new(&streamed("grpc"))), bytes);
}

fn streams<P: Protocol>(codec: &P, bytes: &[u8]) {
    let opened = |session: &mut P::Session| {
        let mut out = Vec::new();
        codec.begin(session, &mut out);
        for tag in 0..4 {
            codec.write(session, Request { kind: Kind::GET, item: 0, value_bytes: 0 }, tag, &mut out);
        }
    };
    let whole = follow_from(codec, Kind::GET, &[bytes], opened);
    assert!(whole.replies.iter().all(|reply| reply.tag < 4) && whole.replies.len() <= 4, "{whole:?}");
    for pieces in pieces::ways(bytes) {
        assert_eq!(follow_from(codec, Kind::GET, &pieces, opened), whole, "{pieces:?}");
    }
}

/// WebSocket, after its opening handshake. Fragments, pings and a close frame leave state behind.
pub fn ws(bytes: &[u8]) {
    static CODEC: OnceLock<Ws> = OnceLock::new();
    let codec = CODEC.get_or_init(|| {
        let list = r#"{"kind": "messages", "requests": [{"miss": "no", "error": "ERR"}]}"#;
        Ws::new(&plan_of("ws", list))
    });
    let opened = |session: &mut <Ws as Protocol>::Session| {
        let mut out = Vec::new();
        codec.begin(session, &mut out);
        for tag in 0..4 {
            codec.write(session, Request { kind: Kind::GET, item: 0, value_bytes: 0 }, tag, &mut out);
        }
    };
    let whole = follow_from(codec, Kind::GET, &[bytes], opened);
    for pieces in pieces::ways(bytes) {
        assert_eq!(follow_from(codec, Kind::GET, &pieces, opened), whole, "{pieces:?}");
    }
}

/// DNS, with length prefixes.
pub fn dns(bytes: &[u8]) {
    static CODEC: OnceLock<Dns> = OnceLock::new();
    let codec = CODEC.get_or_init(|| Dns::new(&plan("dns", "dns")));
    check(codec, bytes, |_, reply| {
        let length = usize::from(u16::from_be_bytes([reply[0], reply[1]]));
        assert_eq!(reply.len(), 2 + length);
        assert!(reply[4] & 0x80 != 0, "the QR bit marks a reply");
    });
}

/// memcached's text protocol over UDP. Datagrams of several replies may interleave, so a reply leaves state behind.
pub fn memcached_udp(bytes: &[u8]) {
    static CODEC: OnceLock<MemcachedUdp> = OnceLock::new();
    let codec = CODEC.get_or_init(|| MemcachedUdp::new(&plan("memcached-udp", "key-value")));
    let whole = follow(codec, Kind::GET, &[bytes]);
    for pieces in pieces::ways(bytes) {
        assert_eq!(follow(codec, Kind::GET, &pieces), whole, "in {pieces:?}");
    }
}

/// Return a plan that counts messages.
fn streamed(protocol: &str) -> Plan {
    Plan { stream: true, ..plan(protocol, "http") }
}

fn plan(protocol: &str, workload: &str) -> Plan {
    plan_of(protocol, &format!(r#"{{"kind": "{workload}"}}"#))
}

fn plan_of(protocol: &str, workload: &str) -> Plan {
    let text = format!(
        r#"{{"schema": "{}", "seed": 1, "target": {{"protocol": "{protocol}", "address": "127.0.0.1:1"}},
            "load": {{"loop": "open", "rate_per_s": 1.0}}, "workload": {workload}}}"#,
        hindmost_plan::SCHEMA
    );
    Plan::from_json(&text).unwrap()
}

/// Return the length of the first line of `reply`, which must end like a line.
fn line(reply: &[u8]) -> usize {
    let length = 1 + reply.iter().position(|&byte| byte == b'\n').expect("a reply has a line");
    assert!(reply[..length].ends_with(b"\r\n"));
    length
}

/// The content of a stream.
#[derive(Debug, PartialEq)]
struct Followed {
    /// Its replies with their total lengths.
    replies: Vec<Reply>,
    ends_in_garbage: bool,
    /// Messages in the replies; 0 if it ends in garbage, because those just before it may be dropped with it.
    messages: u32,
}

/// Check a codec whose replies do not depend on earlier ones.
fn check<P: Protocol>(codec: &P, bytes: &[u8], value: impl Fn(Kind, &[u8])) {
    for (kind, whole) in check_cuts(codec, bytes, |kind, reply, _| value(kind, reply)) {
        if let Some((first, rest)) = whole.replies.split_first() {
            let after = follow(codec, kind, &[&bytes[first.taken..]]);
            let found = (&after.replies[..], after.ends_in_garbage);
            assert_eq!(found, (rest, whole.ends_in_garbage), "a reply leaves nothing behind");
        }
    }
}

/// Check that a stream gives the same result for any split, and `value` for each reply with its number.
fn check_cuts<P: Protocol>(
    codec: &P,
    bytes: &[u8],
    value: impl Fn(Kind, &[u8], usize),
) -> [(Kind, Followed); 2] {
    [Kind::GET, Kind::SET].map(|kind| {
        let whole = follow(codec, kind, &[bytes]);
        let mut at = 0;
        for (number, reply) in whole.replies.iter().enumerate() {
            value(kind, &bytes[at..at + reply.taken], number);
            at += reply.taken;
        }
        for pieces in pieces::ways(bytes) {
            assert_eq!(follow(codec, kind, &pieces), whole, "{kind:?} in {pieces:?}");
        }
        (kind, whole)
    })
}

fn follow<P: Protocol>(codec: &P, kind: Kind, pieces: &[&[u8]]) -> Followed {
    follow_from(codec, kind, pieces, |_| ())
}

/// Follow a connection that is `opened` first.
fn follow_from<P: Protocol>(
    codec: &P,
    kind: Kind,
    pieces: &[&[u8]],
    opened: impl Fn(&mut P::Session),
) -> Followed {
    let (mut reader, mut replies, mut length) = (Reader::new::<P>(), Vec::new(), 0);
    let mut messages = 0;
    let session = &mut codec.session();
    opened(session);
    for piece in pieces {
        let mut rest = *piece;
        while !rest.is_empty() {
            let mut error = None;
            let note = |head: &[u8]| error = Some(head.len());
            match reader.next_with_messages(codec, session, kind, rest, note, |_, count| messages += count) {
                Err(garbage) => {
                    assert!(garbage.start.chars().count() <= 60, "{garbage}");
                    return Followed { replies, ends_in_garbage: true, messages: 0 };
                }
                Ok(None) => {
                    length += rest.len();
                    rest = &[];
                }
                Ok(Some(reply)) => {
                    assert!(reply.taken <= rest.len());
                    rest = &rest[reply.taken..];
                    let taken = length + reply.taken;
                    assert!(taken > 0);
                    replies.push(Reply { taken, ..reply });
                    length = 0;
                }
            }
            if let (Some(head), Some(Reply { outcome, .. })) = (error, replies.last()) {
                // A part of the head, or the text of its error.
                assert!(head <= P::MAX_HEAD.max(60));
                assert!(length > 0 || *outcome == Outcome::Error);
            }
            assert!(reader.buffered() < P::MAX_HEAD);
        }
    }
    Followed { replies, ends_in_garbage: false, messages }
}
