//! PostgreSQL's replies: messages up to `ReadyForQuery` (PostgreSQL 15, "Frontend/Backend Protocol", 55.2 and
//! 55.7). They are parsed as they arrive.

use crate::protocol::framing::{append_limited, Extent, FramingError};
use crate::protocol::Outcome;

/// Length of a header: a message's type and length.
pub const HEADER: usize = 5;
/// The longest message of PostgreSQL ("invalid message length").
const LONGEST: u32 = 1 << 30;

/// Parse a message header. Return its type and the number of bytes that follow, or `None` if no query is
/// answered with such a message.
pub fn header(bytes: [u8; HEADER]) -> Option<(u8, u32)> {
    let [kind, length @ ..] = bytes;
    let length = u32::from_be_bytes(length);
    // Copy responses (G, H, W) are excluded: the client sends no copy data.
    let known = matches!(
        kind,
        b'1' | b'2'
            | b'3'
            | b'A'
            | b'C'
            | b'D'
            | b'E'
            | b'I'
            | b'N'
            | b'S'
            | b'T'
            | b'Z'
            | b'n'
            | b's'
            | b't'
    );
    (known && (4..=LONGEST).contains(&length)).then(|| (kind, length - 4))
}

/// The messages of a reply, up to and including `ReadyForQuery`.
#[allow(clippy::struct_excessive_bools)] // independent facts about the stream
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Messages {
    /// A partially received header.
    header: [u8; HEADER],
    held: u8,
    /// Type of the current message, and its remaining bytes; 0 between messages.
    kind: u8,
    left: u32,
    /// The last bytes of the current message: the end of a command tag.
    last: [u8; 3],
    /// Whether a command returned or changed rows, and whether one matched no row.
    rows: bool,
    none: bool,
    failed: bool,
    /// Whether the connection's transaction has failed and accepts only its end.
    pub aborted: bool,
}

impl Messages {
    /// Return the outcome: a failed command is an error; commands that found and changed no row are a miss.
    pub const fn outcome(&self) -> Outcome {
        match (self.failed, self.rows, self.none) {
            (true, ..) => Outcome::Error,
            (false, false, true) => Outcome::Miss,
            (false, ..) => Outcome::Hit,
        }
    }

    /// Consume the messages at the start of `piece`. The fields of an error are appended to `words`.
    pub fn consume(&mut self, piece: &[u8], words: &mut Vec<u8>) -> Result<Extent, FramingError> {
        let mut at = 0;
        loop {
            if self.held < HEADER as u8 {
                let Some(&byte) = piece.get(at) else { return Ok(Extent { bytes: at, whole: false }) };
                self.header[usize::from(self.held)] = byte;
                self.held += 1;
                at += 1;
                if self.held < HEADER as u8 {
                    continue;
                }
                (self.kind, self.left) = header(self.header).ok_or(FramingError { at: at - 1 })?;
            }
            let here = (self.left as usize).min(piece.len() - at);
            self.inspect(&piece[at..at + here], words);
            self.left -= here as u32;
            at += here;
            if self.left > 0 {
                return Ok(Extent { bytes: at, whole: false });
            }
            self.finish_message();
            if self.kind == b'Z' {
                return Ok(Extent { bytes: at, whole: true });
            }
        }
    }

    /// Keep the last bytes of a command tag, the transaction status and the first error.
    fn inspect(&mut self, piece: &[u8], words: &mut Vec<u8>) {
        match (self.kind, piece) {
            (b'C', _) => {
                for &byte in &piece[piece.len().saturating_sub(self.last.len())..] {
                    self.last = [self.last[1], self.last[2], byte];
                }
            }
            (b'E', _) if !self.failed => append_limited(words, piece),
            (b'Z', &[status]) => self.aborted = status == b'E',
            _ => {}
        }
    }

    /// Handle the end of a message.
    fn finish_message(&mut self) {
        self.held = 0;
        match (self.kind, self.last) {
            (b'E', _) => self.failed = true,
            // `SELECT 0`, `UPDATE 0`. A tag that does not end with a number has nothing to do with rows.
            (b'C', [b' ', b'0', 0]) => self.none = true,
            (b'C', [_, b'0'..=b'9', 0]) | (b'D', _) => self.rows = true,
            _ => {}
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        [&[kind][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
    }

    fn check(messages: &[(u8, &[u8])], expected: Option<Outcome>) {
        let bytes: Vec<u8> = messages.iter().flat_map(|&(kind, body)| message(kind, body)).collect();
        for step in [1, 2, 3, bytes.len()] {
            let (mut passing, mut taken, mut found) = (Messages::default(), 0, None);
            for piece in bytes.chunks(step) {
                let Ok(extent) = passing.consume(piece, &mut Vec::new()) else { break };
                taken += extent.bytes;
                if extent.whole {
                    assert_eq!(taken, bytes.len());
                    found = Some(passing.outcome());
                }
            }
            assert_eq!(found, expected, "{messages:?} by {step}");
        }
    }

    const READY: (u8, &[u8]) = (b'Z', b"I");

    #[test]
    fn ready_for_query_completes_a_reply() {
        let row: (u8, &[u8]) = (b'D', b"\0\x01\0\0\0\x03abc");
        check(&[(b'T', b"\0\x01"), row, row, (b'C', b"SELECT 2\0"), READY], Some(Outcome::Hit));
        check(&[(b'2', b""), row, (b'C', b"SELECT 10\0"), READY], Some(Outcome::Hit));
        check(&[(b'T', b"\0\x01"), (b'C', b"SELECT 0\0"), READY], Some(Outcome::Miss));
        check(&[(b'C', b"UPDATE 10\0"), READY], Some(Outcome::Hit));
        check(&[(b'C', b"UPDATE 0\0"), READY], Some(Outcome::Miss));
        check(&[(b'C', b"INSERT 0 0\0"), READY], Some(Outcome::Miss));
        check(&[(b'C', b"BEGIN\0"), READY], Some(Outcome::Hit));
        check(&[(b'C', b"BEGIN\0"), (b'C', b"UPDATE 0\0"), (b'C', b"COMMIT\0"), READY], Some(Outcome::Miss));
        check(&[(b'N', b"a notice"), (b'S', b"a\0b\0"), (b'I', b""), READY], Some(Outcome::Hit));
        check(&[row, (b'E', b"SERROR\0C57014\0\0"), READY], Some(Outcome::Error));
        check(&[(b'T', b"\0\x01"), (b'C', b"SELECT 0\0")], None);
    }

    #[test]
    fn unexpected_messages_are_framing_errors() {
        for bytes in [&b"HTTP/1.1 200"[..], b"G\0\0\0\x05x", b"D\0\0\0\x03", b"D\xff\0\0\0"] {
            assert!(Messages::default().consume(bytes, &mut Vec::new()).is_err(), "{bytes:?}");
        }
    }
}
