//! A request and its reply.

use crate::protocol::context::Disposition;
use crate::protocol::frame::Span;

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// A request for a page.
    Page {
        /// The first part of its path.
        kind_name: Span,
        /// Whether to send only the head (HEAD).
        head: bool,
        /// Whether the client asked to close the connection.
        close: bool,
    },
    /// An unsupported method.
    Refuse { close: bool },
    /// A malformed request with its status; the rest of the stream cannot be parsed.
    Malformed(&'static str),
}

const BODY: &str = "ok";

impl Command {
    pub(crate) fn takes_service(&self) -> bool {
        matches!(self, Self::Page { .. })
    }

    pub(crate) fn kind_name<'a>(&self, frame: &'a [u8]) -> Option<&'a [u8]> {
        match self {
            Self::Page { kind_name, .. } => Some(kind_name.of(frame)),
            _ => None,
        }
    }

    pub(crate) fn execute(&self, out: &mut Vec<u8>) -> Disposition {
        let (status, body, close) = match *self {
            Self::Page { head, close, .. } => ("200 OK", if head { "" } else { BODY }, close),
            Self::Refuse { close } => ("405 Method Not Allowed\r\nAllow: GET, HEAD, POST, PUT", BODY, close),
            Self::Malformed(status) => (status, BODY, true),
        };
        let ending: &[u8] = if close { b"Connection: close\r\n\r\n" } else { b"\r\n" };
        out.extend_from_slice(b"HTTP/1.1 ");
        out.extend_from_slice(status.as_bytes());
        out.extend_from_slice(b"\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n");
        out.extend_from_slice(ending);
        out.extend_from_slice(body.as_bytes());
        if close {
            Disposition::Close
        } else {
            Disposition::KeepOpen
        }
    }
}
