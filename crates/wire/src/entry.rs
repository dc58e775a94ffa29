use serde::Serialize;

use crate::Ask;

/// One protocol. Patterns are case-insensitive regular expressions over bytes.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Entry {
    /// Name in plans, target files and URLs.
    pub name: &'static str,
    /// How messages refer to a server of this protocol.
    pub called: &'static str,
    /// Default port.
    pub port: u16,
    /// The scheme of its URLs over TLS.
    pub tls_scheme: &'static str,
    /// Default port over TLS.
    pub tls_port: u16,
    /// Name in the negotiation of TLS (ALPN); empty if there is no such name.
    pub alpn: &'static str,
    /// Message that requests TLS before the handshake, as Latin-1; the server answers `S` (yes) or `N` (no).
    /// Empty if the handshake comes first.
    pub tls_request: &'static str,
    /// The family of its requests. The plan defines the kinds.
    pub mix: Mix,
    /// How its messages are delimited.
    pub framing: Framing,
    /// Patterns for the start of its replies, including replies to requests of other protocols.
    pub signs: &'static [&'static str],
    /// The requests, in order, that identify the server.
    pub greeting: &'static [Ask],
}

/// A family of requests, shared by several protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Mix {
    /// Name in `workload.kind` of plans.
    pub name: &'static str,
    /// Whether requests name a path instead of a key.
    pub paths: bool,
    /// Whether requests name a host or a domain.
    pub names: bool,
}

impl Mix {
    /// Get and set of keys.
    pub const KEY_VALUE: Self = Self { name: "key-value", paths: false, names: false };
    /// DNS queries.
    pub const DNS: Self = Self { name: "dns", paths: false, names: true };
    /// Requests of paths.
    pub const HTTP: Self = Self { name: "http", paths: true, names: false };
    /// Arbitrary Redis commands.
    pub const COMMANDS: Self = Self { name: "commands", paths: false, names: false };
    /// SQL statements.
    pub const SQL: Self = Self { name: "sql", paths: false, names: false };
    /// Messages on connections to a path.
    pub const MESSAGES: Self = Self { name: "messages", paths: true, names: false };
    /// Arbitrary bytes.
    pub const RAW: Self = Self { name: "raw", paths: false, names: false };
}

/// How the first reply on a connection is delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Framing {
    /// A line.
    Lines,
    /// A line; if it starts with `$`, followed by as many bytes as it states.
    LengthPrefixed,
    /// Lines up to an empty one; a body may follow.
    Headers,
    /// A header of 24 bytes, which states the number of bytes that follow.
    MemcachedBinary,
    /// A header of 9 bytes, which starts with the length of the payload.
    Http2,
    /// Parsed by the engine's codec, before the connection can carry requests.
    Opening,
    /// One datagram (UDP).
    Datagram,
}
