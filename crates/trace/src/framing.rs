//! Supported protocols, and the names of their kinds of requests in the order of `bpf/framing.h`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How to find the end of requests in the bytes that a server reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Framing {
    /// Unknown protocol: all bytes read before a send count as one request.
    Exchange,
    /// memcached's text protocol.
    Memcached,
    /// HTTP/1.
    Http,
    /// Redis' protocol.
    Redis,
    /// Messages with a length at a fixed place.
    Length(LengthField),
}

/// The length field of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LengthField {
    /// Bytes before the field.
    pub offset: u32,
    /// Size in bytes: 1 to 8.
    pub width: u32,
    /// Whether the least significant byte comes first.
    #[serde(default)]
    pub little: bool,
    /// Bytes to add to the length to get the number of bytes after the field.
    #[serde(default)]
    pub more: i32,
}

impl Framing {
    /// Return the probes' number of the protocol.
    pub(crate) fn number(self) -> u32 {
        match self {
            Self::Exchange => 0,
            Self::Memcached => 1,
            Self::Http => 2,
            Self::Redis => 3,
            Self::Length(_) => 4,
        }
    }

    pub(crate) fn length_field(self) -> LengthField {
        match self {
            Self::Length(field) => field,
            _ => LengthField::default(),
        }
    }

    /// Return the names of its kinds of requests, by the probes' numbers.
    pub fn kinds(self) -> &'static [&'static str] {
        match self {
            Self::Exchange => &["exchange"],
            Self::Memcached => &["other", "get", "set", "delete"],
            Self::Http => &["other", "GET", "POST", "DELETE", "HEAD", "PUT"],
            Self::Redis => &["other", "GET", "SET", "DEL"],
            Self::Length(_) => &["message"],
        }
    }

    pub(crate) fn kind(self, number: usize) -> &'static str {
        self.kinds().get(number).copied().unwrap_or("other")
    }
}
