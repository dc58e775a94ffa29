//! *Messages*: how requests are written and replies are told apart. A new protocol is one file here,
//! one line in `with_protocol`, one variant of `plan::Protocol`.
//!
//! A codec sees bytes and nothing else: no sockets, no clocks. Replies come in the order of the
//! requests, as in every protocol here, so the kind of the oldest outstanding request says what to
//! expect.

mod http;
mod items;
mod memcached;
mod redis;

use hindmost_plan::Plan;
use thiserror::Error;

pub use http::Http;
pub use memcached::Memcached;
pub use redis::Redis;

use crate::workload::{Kind, Request};

/// A codec for one protocol; one per worker.
pub trait Protocol: Send {
    /// As users know it.
    const NAME: &'static str;
    /// The longest piece of a reply that may have to wait for more bytes before it can be told what
    /// it is. More than that is garbage.
    const MAX_HEAD: usize;

    /// A codec for the plan's workload. Everything that requests need is prepared here.
    fn new(plan: &Plan) -> Self;

    /// Appends a whole request to `out`.
    fn write(&self, request: Request, out: &mut Vec<u8>);

    /// Looks at the start of a reply to a request of `kind`.
    ///
    /// # Errors
    /// [`Garbage`] when the bytes cannot be a reply.
    fn read(&self, kind: Kind, bytes: &[u8]) -> Result<Parsed, Garbage>;
}

/// What the bytes at hand hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// Not yet enough to tell.
    More,
    /// A reply of `length` bytes, of which some may still be on their way.
    Reply {
        /// The reply's whole length.
        length: u64,
        /// What it says.
        outcome: Outcome,
        /// The server closes the connection after this reply.
        closes: bool,
    },
}

impl Parsed {
    fn reply(length: usize, outcome: Outcome) -> Self {
        Self::Reply { length: length as u64, outcome, closes: false }
    }
}

/// What a reply says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
#[error("{protocol} reply to `{kind}` cannot start with {start:?}")]
pub struct Garbage {
    /// The protocol that was expected.
    pub protocol: &'static str,
    /// The kind of request that was to be answered.
    pub kind: &'static str,
    /// The first bytes, made printable.
    pub start: String,
}

impl Garbage {
    pub(crate) fn new(protocol: &'static str, kind: Kind, bytes: &[u8]) -> Self {
        let start = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
        Self { protocol, kind: ["get", "set"][usize::from(kind.0.min(1))], start }
    }
}

/// The registry: calls `$run::<Codec>($arguments)` with the codec of a protocol.
macro_rules! with_protocol {
    ($protocol:expr, $run:ident ( $($argument:expr),* )) => {
        match $protocol {
            hindmost_plan::Protocol::Memcached => $run::<$crate::protocol::Memcached>($($argument),*),
            hindmost_plan::Protocol::Redis => $run::<$crate::protocol::Redis>($($argument),*),
            hindmost_plan::Protocol::Http => $run::<$crate::protocol::Http>($($argument),*),
        }
    };
}
pub(crate) use with_protocol;

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

    pub(super) fn plan(protocol: &str) -> Plan {
        let kind = if protocol == "http" { "http" } else { "key-value" };
        let text = json!({
            "schema": hindmost_plan::SCHEMA, "seed": 1,
            "target": {"protocol": protocol, "address": "127.0.0.1:1"},
            "load": {"loop": "open", "rate_per_s": 1.0},
            "workload": {"kind": kind},
        });
        Plan::from_json(&text.to_string()).unwrap()
    }

    /// Any bytes give an answer, and a reply never claims to be shorter than what was looked at to
    /// find its length, nor empty.
    fn never_panics<P: Protocol>(codec: &P, bytes: &[u8]) {
        for kind in [Kind::GET, Kind::SET] {
            if let Ok(Parsed::Reply { length, .. }) = codec.read(kind, bytes) {
                assert!(length > 0);
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(
            start in prop::sample::select(vec!["", "VALUE k 0 ", "$", "HTTP/1.1 200 OK\r\n", "-", "END"]),
            bytes in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            let bytes = [start.as_bytes(), &bytes[..]].concat();
            never_panics(&Memcached::new(&plan("memcached")), &bytes);
            never_panics(&Redis::new(&plan("redis")), &bytes);
            never_panics(&Http::new(&plan("http")), &bytes);
        }
    }

    /// Every prefix of a good reply asks for more or already knows the same answer.
    pub(super) fn check_prefixes<P: Protocol>(codec: &P, kind: Kind, reply: &[u8], outcome: Outcome) {
        let whole = codec.read(kind, reply).unwrap();
        assert!(
            matches!(whole, Parsed::Reply { length, outcome: o, .. } if length == reply.len() as u64 && o == outcome),
            "{whole:?}"
        );
        for n in 0..reply.len() {
            let part = codec.read(kind, &reply[..n]).unwrap();
            assert!(part == Parsed::More || part == whole, "{n} bytes: {part:?}");
        }
    }
}
