//! Requests of all protocols.

use hindmost_clock::Nanos;

use super::context::{Context, Disposition};
use super::frame::Step;
use super::{http, memcached};
use crate::Protocol;

/// A parser that splits a byte stream into requests. The caller keeps the bytes; the parser keeps only its position.
pub(crate) enum Parser {
    Memcached(memcached::Parser),
    Http(http::Parser),
}

impl Parser {
    pub(crate) fn new(protocol: Protocol) -> Self {
        match protocol {
            Protocol::Memcached => Self::Memcached(memcached::Parser::default()),
            Protocol::Http => Self::Http(http::Parser::default()),
        }
    }

    /// Return the total length of the current request, or 0 if it is unknown.
    pub(crate) fn need(&self) -> usize {
        match self {
            Self::Memcached(parser) => parser.need(),
            Self::Http(parser) => parser.need(),
        }
    }

    /// Parse the bytes that follow the consumed ones.
    #[inline]
    pub(crate) fn step(&mut self, bytes: &[u8]) -> Step<Command> {
        match self {
            Self::Memcached(parser) => parser.step(bytes).map(Command::Memcached),
            Self::Http(parser) => parser.step(bytes).map(Command::Http),
        }
    }
}

/// A request. Spans are relative to the start of its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Memcached(memcached::Command),
    Http(http::Command),
}

impl Command {
    /// Whether the request takes a service time; all others are answered at once.
    #[inline]
    pub(crate) fn takes_service(&self) -> bool {
        match self {
            Self::Memcached(command) => command.takes_service(),
            Self::Http(command) => command.takes_service(),
        }
    }

    /// Return the text that may name the request's kind: the key up to a colon, or the first part of the path.
    pub(crate) fn kind_name<'a>(&self, frame: &'a [u8]) -> Option<&'a [u8]> {
        match self {
            Self::Memcached(command) => command.kind_name(frame),
            Self::Http(command) => command.kind_name(frame),
        }
    }

    /// Execute the command in `frame`, and append the reply to `out`.
    #[inline]
    pub(crate) fn execute(
        &self,
        frame: &[u8],
        context: Context,
        now: Nanos,
        out: &mut Vec<u8>,
    ) -> Disposition {
        match self {
            Self::Memcached(command) => memcached::execute(command, frame, context, now, out),
            Self::Http(command) => command.execute(out),
        }
    }
}
