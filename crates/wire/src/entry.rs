use serde::Serialize;

use crate::Ask;

/// One protocol. Patterns are regular expressions over bytes, without regard to case.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Entry {
    /// As in plans, target files and URLs.
    pub name: &'static str,
    /// What messages call a server that speaks it.
    pub called: &'static str,
    /// Where such a server listens if nobody says otherwise.
    pub port: u16,
    /// The scheme of its URLs over TLS.
    pub tls_scheme: &'static str,
    /// Where such a server listens over TLS if nobody says otherwise.
    pub tls_port: u16,
    /// What it is called where TLS is agreed upon (ALPN); empty where it has no such name.
    pub alpn: &'static str,
    /// What asks a server for TLS before the handshake, as Latin-1, to which it answers `S` (yes) or `N` (no); empty
    /// where the handshake comes first.
    pub tls_request: &'static str,
    /// What requests it has. Which kinds of them there are says the plan.
    pub mix: Mix,
    /// How its messages are delimited.
    pub framing: Framing,
    /// What its replies start with, also those to requests of other protocols.
    pub signs: &'static [&'static str],
    /// The questions that make a server say who it is, in order.
    pub greeting: &'static [Ask],
}

/// A family of requests, shared by the protocols that have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Mix {
    /// As in `workload.kind` of plans.
    pub name: &'static str,
    /// Requests name a path (and not a key).
    pub paths: bool,
    /// Requests name a host or a domain.
    pub names: bool,
}

impl Mix {
    /// Keys that are read and stored.
    pub const KEY_VALUE: Self = Self { name: "key-value", paths: false, names: false };
    /// Questions about names.
    pub const DNS: Self = Self { name: "dns", paths: false, names: true };
    /// Requests of paths.
    pub const HTTP: Self = Self { name: "http", paths: true, names: false };
    /// Any commands of Redis.
    pub const COMMANDS: Self = Self { name: "commands", paths: false, names: false };
    /// Statements of SQL.
    pub const SQL: Self = Self { name: "sql", paths: false, names: false };
    /// Messages on connections to a path.
    pub const MESSAGES: Self = Self { name: "messages", paths: true, names: false };
    /// Any bytes.
    pub const RAW: Self = Self { name: "raw", paths: false, names: false };
}

/// How the first reply on a connection is delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Framing {
    /// A line.
    Lines,
    /// A line, and as many bytes as it says where it starts with `$`.
    LengthPrefixed,
    /// Lines up to an empty one; a body may follow.
    Headers,
    /// A header of 24 bytes, and as many as it says.
    MemcachedBinary,
    /// A header of 9 bytes, which start with the length of what follows it.
    Http2,
    /// As the engine's codec takes it, before a connection can carry requests.
    Opening,
    /// One datagram (UDP).
    Datagram,
}
