//! What clients say and are told: framing and answering, without sockets and without time.

#[cfg(any(test, fuzzing))]
mod converse;
mod http;
mod memcached;

use std::ops::Range;

use hindmost_clock::Nanos;

use crate::account::Ledger;
use crate::server::Shared;
use crate::Protocol;

#[cfg(any(test, fuzzing))]
pub use converse::converse;

/// A place inside a frame. Frames are shorter than 4 GiB by far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    from: u32,
    to: u32,
}

impl Span {
    fn new(range: Range<usize>) -> Self {
        Self { from: range.start as u32, to: range.end as u32 }
    }

    /// The bytes of `frame` at this place.
    pub(crate) fn of(self, frame: &[u8]) -> &[u8] {
        &frame[self.from as usize..self.to as usize]
    }
}

/// What the next bytes of a stream are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step<C> {
    /// Not enough to say.
    More,
    /// So many bytes belong to no request.
    Skip(usize),
    /// A request that takes so many bytes.
    Frame(C, usize),
}

fn skip<C>(bytes: usize) -> Step<C> {
    if bytes == 0 {
        Step::More
    } else {
        Step::Skip(bytes)
    }
}

impl<C> Step<C> {
    fn map<D>(self, of: impl FnOnce(C) -> D) -> Step<D> {
        match self {
            Self::More => Step::More,
            Self::Skip(bytes) => Step::Skip(bytes),
            Self::Frame(command, bytes) => Step::Frame(of(command), bytes),
        }
    }
}

/// Cuts a byte stream into requests. The bytes stay with the caller; only the place is kept here.
pub(crate) enum Parser {
    Memcached(memcached::Parser),
    Http(http::Parser),
}

impl Parser {
    pub(crate) fn of(protocol: Protocol) -> Self {
        match protocol {
            Protocol::Memcached => Self::Memcached(memcached::Parser::default()),
            Protocol::Http => Self::Http(http::Parser::default()),
        }
    }

    /// Bytes that the request at hand needs in all, where that is known.
    pub(crate) fn need(&self) -> usize {
        match self {
            Self::Memcached(parser) => parser.need(),
            Self::Http(parser) => parser.need(),
        }
    }

    /// Looks at the bytes that follow what earlier steps have taken.
    #[inline]
    pub(crate) fn step(&mut self, bytes: &[u8]) -> Step<Command> {
        match self {
            Self::Memcached(parser) => parser.step(bytes).map(Command::Memcached),
            Self::Http(parser) => parser.step(bytes).map(Command::Http),
        }
    }
}

/// One request. Places are relative to the start of its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Memcached(memcached::Command),
    Http(http::Command),
}

impl Command {
    /// Whether serving this takes a service time; all else is answered at once.
    #[inline]
    pub(crate) fn takes_service(&self) -> bool {
        match self {
            Self::Memcached(command) => command.takes_service(),
            Self::Http(command) => command.takes_service(),
        }
    }

    /// What it is about, which may name a kind of request: the key up to a colon, or the first part of the path.
    pub(crate) fn subject<'a>(&self, frame: &'a [u8]) -> Option<&'a [u8]> {
        match self {
            Self::Memcached(command) => command.subject(frame),
            Self::Http(command) => command.subject(frame),
        }
    }

    /// Obeys it, whose bytes are `frame`, and appends the reply to `out`.
    #[inline]
    pub(crate) fn execute(&self, frame: &[u8], desk: Desk, now: Nanos, out: &mut Vec<u8>) -> Next {
        match self {
            Self::Memcached(command) => memcached::execute(command, frame, desk, now, out),
            Self::Http(command) => command.execute(out),
        }
    }
}

/// What a thread answers from.
#[derive(Clone, Copy)]
pub(crate) struct Desk<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) ledger: &'a Ledger,
}

/// What becomes of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Go,
    Close,
}
