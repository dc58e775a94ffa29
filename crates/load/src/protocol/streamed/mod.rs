//! Replies of several messages, which are counted as they arrive: server-sent events, the chunks of other
//! replies, and the messages of a gRPC call.

mod events;
mod length_prefixed;

use self::events::Events;
use self::length_prefixed::LengthPrefixed;
use super::chunks::Chunks;
use super::framing::{Extent, FramingError};

/// The rest of a streamed reply, or of one of its frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streamed {
    body: Body,
    messages: Messages,
    /// Tag of the request.
    tag: u32,
    /// Messages completed since the last [`Streamed::take_messages`].
    completed: u32,
}

/// Where the rest ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Body {
    /// After `left` bytes, the last of which are `padding`.
    Bytes { left: u64, padding: u8 },
    /// Where the server closes the connection.
    UntilClosed,
    /// After the last chunk.
    Chunks(Chunks),
}

/// What is a message, and the position in the current one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Messages {
    /// A chunk.
    Chunks,
    /// An event with data.
    Events(Events),
    /// A gRPC message.
    LengthPrefixed(LengthPrefixed),
}

impl Messages {
    /// Start at the beginning of a body of events.
    pub const fn events() -> Self {
        Self::Events(Events::new())
    }

    /// Start at the beginning of the messages of a gRPC call.
    pub fn of_call() -> Self {
        Self::LengthPrefixed(LengthPrefixed::default())
    }

    /// Whether the last message of a call is complete. Messages may be compressed only if the client accepts
    /// that.
    pub fn are_whole(&self, may_be_compressed: bool) -> bool {
        match self {
            Self::LengthPrefixed(messages) => messages.is_whole(may_be_compressed),
            Self::Chunks | Self::Events(_) => true,
        }
    }

    /// Return how many messages end in `data`. `ends`: whether a chunk ends with it.
    fn count(&mut self, data: &[u8], ends: bool) -> u32 {
        match self {
            Self::Chunks => ends.into(),
            Self::Events(events) => events.count(data),
            Self::LengthPrefixed(messages) => messages.count(data),
        }
    }
}

impl Streamed {
    const fn new(body: Body, messages: Messages) -> Self {
        Self { body, messages, tag: 0, completed: 0 }
    }

    /// Count the chunks of a body.
    pub const fn chunks(chunks: Chunks) -> Self {
        Self::new(Body::Chunks(chunks), Messages::Chunks)
    }

    /// Count the events of a body in chunks.
    pub const fn events_in_chunks(chunks: Chunks) -> Self {
        Self::new(Body::Chunks(chunks), Messages::events())
    }

    /// Count the events of a body of `left` bytes, or of one that ends with the connection.
    pub fn events(left: Option<u64>) -> Self {
        let body = left.map_or(Body::UntilClosed, |left| Body::Bytes { left, padding: 0 });
        Self::new(body, Messages::events())
    }

    /// Count the messages in a frame of `left` bytes with its padding, which continues `messages`.
    pub const fn frame(left: u64, padding: u8, messages: Messages, tag: u32) -> Self {
        Self { tag, ..Self::new(Body::Bytes { left, padding }, messages) }
    }

    /// Same as [`super::Remainder::consume`].
    pub fn consume(&mut self, piece: &[u8], mut on_body: impl FnMut(&[u8])) -> Result<Extent, FramingError> {
        let Self { body, messages, completed, .. } = self;
        match body {
            Body::Bytes { left, padding } => {
                let bytes = (piece.len() as u64).min(*left);
                let data = &piece[..bytes.min(left.saturating_sub(u64::from(*padding))) as usize];
                *completed += messages.count(data, false);
                on_body(data);
                *left -= bytes;
                Ok(Extent { bytes: bytes as usize, whole: *left == 0 })
            }
            Body::UntilClosed => {
                *completed += messages.count(piece, false);
                on_body(piece);
                Ok(Extent { bytes: piece.len(), whole: false })
            }
            Body::Chunks(chunks) => chunks.consume(piece, |data, ends| {
                *completed += messages.count(data, ends);
                on_body(data);
            }),
        }
    }

    /// Whether the reply ends with the connection.
    pub const fn ends_at_close(&self) -> bool {
        matches!(self.body, Body::UntilClosed)
    }

    /// Take the number of messages completed since the last call, if any. Also return the tag of their
    /// request.
    pub fn take_messages(&mut self) -> Option<(u32, u32)> {
        let completed = std::mem::take(&mut self.completed);
        (completed > 0).then_some((self.tag, completed))
    }

    /// Return the tag and the position in the messages, for the next frame of the reply.
    pub const fn position(&self) -> (u32, Messages) {
        (self.tag, self.messages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Return the length of the reply at the start of `bytes` and its messages. They must not depend on how
    /// the bytes are split.
    fn follow(start: Streamed, bytes: &[u8]) -> (usize, u32) {
        let ways = [vec![bytes], bytes.chunks(1).collect()];
        let halves = (0..bytes.len()).map(|cut| vec![&bytes[..cut], &bytes[cut..]]);
        let mut found = ways.into_iter().chain(halves).map(|pieces| {
            let (mut streamed, mut length, mut messages) = (start, 0, 0);
            for piece in pieces {
                let extent = streamed.consume(piece, |_| ()).unwrap();
                length += extent.bytes;
                messages += streamed.take_messages().map_or(0, |(_, count)| count);
                if extent.whole {
                    break;
                }
            }
            (length, messages)
        });
        let first = found.next().unwrap();
        assert!(found.all(|one| one == first));
        first
    }

    #[test]
    fn a_chunk_is_complete_with_its_last_byte_and_the_empty_one_is_none() {
        let body = b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n";
        assert_eq!(follow(Streamed::chunks(Chunks::new()), body), (body.len(), 2));
        assert_eq!(follow(Streamed::chunks(Chunks::new()), &body[..6]), (6, 1));
        assert_eq!(follow(Streamed::chunks(Chunks::new()), &body[..5]), (5, 0));
    }

    #[test]
    fn events_need_not_end_where_chunks_do() {
        let body = b"6\r\ndata: \r\n5\r\na\n\nda\r\n6\r\nta: b\n\r\n1\r\n\n\r\n0\r\n\r\n";
        assert_eq!(follow(Streamed::events_in_chunks(Chunks::new()), body), (body.len(), 2));
    }

    #[test]
    fn events_are_counted_whatever_ends_the_body() {
        let body = b"data: a\n\n: b\n\ndata: c\n\n";
        assert_eq!(follow(Streamed::events(Some(body.len() as u64)), body), (body.len(), 2));
        assert_eq!(follow(Streamed::events(Some(9)), body), (9, 1));
        assert_eq!(follow(Streamed::events(None), body), (body.len(), 2));
        assert!(Streamed::events(None).ends_at_close() && !Streamed::events(Some(9)).ends_at_close());
    }

    #[test]
    fn a_message_may_span_frames_whose_padding_is_none() {
        let message = b"\0\0\0\0\x03abc";
        let start = Streamed::frame(8, 2, Messages::of_call(), 5);
        let mut first = start;
        assert_eq!(
            first.consume(&[&message[..6], b"\0\0"].concat(), |_| ()),
            Ok(Extent { bytes: 8, whole: true })
        );
        assert_eq!(first.take_messages(), None);
        let (tag, messages) = first.position();
        let mut second = Streamed::frame(2, 0, messages, tag);
        assert_eq!(second.consume(&message[6..], |_| ()), Ok(Extent { bytes: 2, whole: true }));
        assert_eq!((second.take_messages(), second.take_messages()), (Some((5, 1)), None));
        assert_eq!(follow(start, &[&message[..6], b"\0\0rest"].concat()), (8, 0));
        assert_eq!(follow(Streamed::frame(3, 3, Messages::of_call(), 0), b"\0\0\0\0"), (3, 0));
    }
}
