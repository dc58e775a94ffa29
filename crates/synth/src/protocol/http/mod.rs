//! HTTP/1.1 (RFC 9112), as much of it as load testers speak: every path is there, connections are kept, requests
//! may be pipelined.

mod parse;

use super::{Next, Span};

pub(super) use parse::Parser;

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// A page that is there.
    Page {
        /// The first part of its path.
        subject: Span,
        /// Only what stands before the page (HEAD).
        head: bool,
        /// The client wants no more.
        close: bool,
    },
    /// A method that nothing here knows.
    Refuse { close: bool },
    /// Not to be understood, and the stream cannot be followed any further: this is the status.
    Hopeless(&'static str),
}

const BODY: &str = "ok";

impl Command {
    pub(super) fn takes_service(&self) -> bool {
        matches!(self, Self::Page { .. })
    }

    pub(super) fn subject<'a>(&self, frame: &'a [u8]) -> Option<&'a [u8]> {
        match self {
            Self::Page { subject, .. } => Some(subject.of(frame)),
            _ => None,
        }
    }

    pub(super) fn execute(&self, out: &mut Vec<u8>) -> Next {
        let (status, body, close) = match *self {
            Self::Page { head, close, .. } => ("200 OK", if head { "" } else { BODY }, close),
            Self::Refuse { close } => ("405 Method Not Allowed\r\nAllow: GET, HEAD, POST, PUT", BODY, close),
            Self::Hopeless(status) => (status, BODY, true),
        };
        let ending: &[u8] = if close { b"Connection: close\r\n\r\n" } else { b"\r\n" };
        out.extend_from_slice(b"HTTP/1.1 ");
        out.extend_from_slice(status.as_bytes());
        out.extend_from_slice(b"\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n");
        out.extend_from_slice(ending);
        out.extend_from_slice(body.as_bytes());
        if close {
            Next::Close
        } else {
            Next::Go
        }
    }
}

#[cfg(test)]
mod tests;
