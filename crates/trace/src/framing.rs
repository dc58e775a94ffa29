//! Protocols whose requests are told apart, and the names of their kinds in the order of `bpf/framing.h`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where requests end in the bytes that a server reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Framing {
    /// Unknown: whatever is read until something is sent counts as one request.
    Exchange,
    /// memcached's text protocol.
    Memcached,
    /// HTTP/1.
    Http,
    /// Redis' protocol.
    Redis,
    /// A length at a fixed place of each message.
    Length(LengthField),
}

/// Where a message says how long it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LengthField {
    /// Bytes before the field.
    pub offset: u32,
    /// Its bytes: 1 to 8.
    pub width: u32,
    /// Whether its first byte is the least one.
    #[serde(default)]
    pub little: bool,
    /// What is to be added to get the bytes that follow the field.
    #[serde(default)]
    pub more: i32,
}

impl Framing {
    /// As the probes have it.
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

    /// Names of its kinds of requests, by the probes' numbers.
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
