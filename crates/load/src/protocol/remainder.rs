//! The part of a reply after its head. It is consumed as it arrives and never stored, so a reply may have any
//! length.

use super::chunks::Chunks;
use super::delimiter::UntilDelimiter;
use super::framing::{consume_bytes, Extent, FramingError};
use super::postgresql::Messages;
use super::redis::Elements;
use super::streamed::Streamed;
use super::Outcome;

/// The bytes that still belong to a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remainder {
    /// A fixed number of bytes.
    Bytes {
        /// Number of missing bytes.
        left: u64,
        /// What they must end with; otherwise the reply is garbage.
        end: &'static [u8],
    },
    /// All bytes until the server closes the connection: HTTP without a stated length.
    UntilClosed,
    /// HTTP's chunked coding.
    Chunks(Chunks),
    /// Elements of RESP.
    Elements(Elements),
    /// PostgreSQL's messages, up to `ReadyForQuery`.
    Messages(Messages),
    /// All bytes up to and including a delimiter.
    UntilDelimiter(UntilDelimiter),
    /// A reply whose messages are counted.
    Streamed(Streamed),
}

impl Remainder {
    /// The head is the whole reply.
    pub const EMPTY: Self = Self::Bytes { left: 0, end: b"" };

    /// Consume the start of `piece` that belongs to the reply: the whole piece if the reply is still
    /// incomplete. The start of an error text is appended to `words` as far as there is space. `body` is called
    /// with the parts of HTTP's body.
    #[inline]
    pub fn consume(
        &mut self,
        piece: &[u8],
        words: &mut Vec<u8>,
        mut body: impl FnMut(&[u8]),
    ) -> Result<Extent, FramingError> {
        match self {
            Self::Bytes { left, end } => {
                let extent = consume_bytes(left, end, piece)?;
                body(&piece[..extent.bytes]);
                Ok(extent)
            }
            Self::UntilClosed => {
                body(piece);
                Ok(Extent { bytes: piece.len(), whole: false })
            }
            Self::Chunks(chunks) => chunks.consume(piece, |data, _| body(data)),
            Self::Elements(elements) => elements.consume(piece, words),
            Self::Messages(messages) => messages.consume(piece, words),
            Self::UntilDelimiter(scanner) => Ok(scanner.consume(piece)),
            Self::Streamed(streamed) => streamed.consume(piece, body),
        }
    }

    /// Count the messages of an HTTP body: its events, or else its chunks.
    #[must_use]
    pub fn into_streamed(self, events: bool) -> Self {
        Self::Streamed(match self {
            Self::Bytes { left, .. } if events => Streamed::events(Some(left)),
            Self::UntilClosed if events => Streamed::events(None),
            Self::Chunks(chunks) if events => Streamed::events_in_chunks(chunks),
            Self::Chunks(chunks) => Streamed::chunks(chunks),
            other => return other,
        })
    }

    /// Take the number of messages completed since the last call, if any. Also return the tag of their
    /// request.
    #[inline]
    pub fn take_messages(&mut self) -> Option<(u32, u32)> {
        match self {
            Self::Streamed(streamed) => streamed.take_messages(),
            _ => None,
        }
    }

    /// Whether the reply ends when the server closes the connection.
    pub fn ends_at_close(&self) -> bool {
        match self {
            Self::Streamed(streamed) => streamed.ends_at_close(),
            other => *other == Self::UntilClosed,
        }
    }

    /// Return the outcome of the complete reply, if the head does not determine it.
    #[inline]
    pub const fn outcome(&self) -> Option<Outcome> {
        match self {
            Self::Bytes { .. }
            | Self::UntilClosed
            | Self::Chunks(_)
            | Self::UntilDelimiter(_)
            | Self::Streamed(_) => None,
            Self::Elements(elements) => Some(elements.outcome()),
            Self::Messages(messages) => Some(messages.outcome()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pieces: &[&[u8]], expected: Option<usize>) {
        let mut rest = Remainder::Bytes { left: 7, end: b"\r\nE\n" };
        let mut taken = 0;
        for piece in pieces {
            match rest.consume(piece, &mut Vec::new(), |_| ()) {
                Ok(Extent { bytes, whole: true }) => return assert_eq!(Some(taken + bytes), expected),
                Ok(Extent { bytes, whole: false }) => taken += bytes,
                Err(_) => return assert_eq!(None, expected, "{pieces:?}"),
            }
        }
        panic!("{pieces:?}: not whole");
    }

    #[test]
    fn the_end_is_checked_however_it_is_split() {
        check(&[b"abc\r\nE\n"], Some(7));
        check(&[b"abc\r\nE\nmore"], Some(7));
        check(&[b"abc\r\nF\n"], None);
        check(&[b"abc\r", b"\nF\n"], None);
        check(&[b"abcx", b"\nE\n"], None);
        check(&[b"a", b"b", b"c", b"\r", b"\n", b"", b"E", b"\n"], Some(7));
        check(&[b"abc\r\nE", b"x"], None);
    }

    #[test]
    fn an_empty_remainder_is_complete() {
        let mut rest = Remainder::EMPTY;
        assert_eq!(rest.consume(b"next", &mut Vec::new(), |_| ()), Ok(Extent { bytes: 0, whole: true }));
        assert_eq!(rest.consume(b"", &mut Vec::new(), |_| ()), Ok(Extent { bytes: 0, whole: true }));
    }
}
