//! Replies of RESP2 and RESP3, parsed as they arrive. Nested arrays, maps, sets and pushes need no stack: one
//! number counts the elements still to come (redis.io, "Redis serialization protocol specification").

use crate::protocol::framing::{append_limited, consume_bytes, Extent, FramingError};
use crate::protocol::Outcome;

/// Limit on the elements of a reply, so that sums of nested counts cannot overflow.
const MOST: u64 = 1 << 48;

/// Position of the next byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    /// At an element's type.
    Type,
    /// In the line of an element whose text is ignored.
    Words,
    /// In the number on the line of an element of type `kind`.
    Number { kind: u8, digits: u8, value: u64 },
    /// In the number of a null element, after its minus sign.
    Null { digits: u8 },
    /// Before the line feed of a line that announces this many elements or bytes.
    LineEnd { elements: u64, bytes: Option<u64> },
    /// In the bytes of a bulk string, including its line end.
    Bulk { left: u64 },
}

/// The elements of one reply or of several consecutive replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elements {
    at: Position,
    /// Number of replies after the current one.
    replies: u32,
    /// Number of elements of this reply that have not begun.
    left: u64,
    /// Whether this reply has begun; before it, there may be pushes and attributes.
    begun: bool,
    /// Whether the current element is the reply itself rather than a part of it.
    top: bool,
    /// The worst outcome so far.
    outcome: Outcome,
    /// Whether the first error is being read.
    in_error: bool,
}

impl Elements {
    /// Expect `replies` consecutive replies, at least one.
    pub const fn new(replies: u32) -> Self {
        let outcome = Outcome::Hit;
        Self {
            at: Position::Type,
            replies: replies - 1,
            left: 1,
            begun: false,
            top: false,
            outcome,
            in_error: false,
        }
    }

    /// Expect a push, which answers nothing.
    pub const fn aside() -> Self {
        Self { begun: true, ..Self::new(1) }
    }

    /// Return the outcome: an error anywhere is an error, and a null reply is a miss.
    pub const fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// Consume the elements at the start of `piece`. The text of the first error is appended to `words`.
    pub fn consume(&mut self, piece: &[u8], words: &mut Vec<u8>) -> Result<Extent, FramingError> {
        let mut at = 0;
        while at < piece.len() {
            if let Position::Bulk { left } = &mut self.at {
                let Extent { bytes, whole } = consume_bytes(left, b"\r\n", &piece[at..])
                    .map_err(|wrong| FramingError { at: at + wrong.at })?;
                if self.in_error {
                    append_limited(words, &piece[at..at + bytes]);
                }
                at += bytes;
                if !whole {
                    break;
                }
                self.at = Position::Type;
            } else {
                self.step(piece[at]).ok_or(FramingError { at })?;
                if self.in_error {
                    append_limited(words, &piece[at..=at]);
                }
                at += 1;
            }
            self.in_error &= self.at != Position::Type;
            if self.at == Position::Type && self.finish_element() {
                return Ok(Extent { bytes: at, whole: true });
            }
        }
        Ok(Extent { bytes: at, whole: false })
    }

    /// Handle the end of an element. Return whether all replies are complete, or start the next reply.
    fn finish_element(&mut self) -> bool {
        if self.left > 0 {
            return false;
        }
        if self.replies == 0 {
            return true;
        }
        self.replies -= 1;
        (self.left, self.begun) = (1, false);
        false
    }

    /// Parse one byte outside bulk strings. Return `None` if it is invalid.
    fn step(&mut self, byte: u8) -> Option<()> {
        self.at = match self.at {
            Position::Type => self.begin(byte)?,
            Position::Words => match byte {
                b'\r' => Position::LineEnd { elements: 0, bytes: None },
                b'\n' => return None,
                _ => Position::Words,
            },
            Position::Number { kind, digits: 0, .. } if byte == b'-' && matches!(kind, b'$' | b'*') => {
                Position::Null { digits: 0 }
            }
            Position::Number { kind, digits, value } => match byte {
                b'0'..=b'9' if digits < 18 => {
                    Position::Number { kind, digits: digits + 1, value: 10 * value + u64::from(byte - b'0') }
                }
                b'\r' if digits > 0 && value <= MOST => match kind {
                    b'$' | b'!' | b'=' => Position::LineEnd { elements: 0, bytes: Some(value + 2) },
                    b'%' | b'|' => Position::LineEnd { elements: 2 * value, bytes: None },
                    _ => Position::LineEnd { elements: value, bytes: None },
                },
                _ => return None,
            },
            Position::Null { digits } => match (byte, digits) {
                (b'1', 0) => Position::Null { digits: 1 },
                (b'\r', 1) => {
                    self.mark_null();
                    Position::LineEnd { elements: 0, bytes: None }
                }
                _ => return None,
            },
            Position::LineEnd { elements, bytes } if byte == b'\n' => {
                self.left = self.left.checked_add(elements).filter(|&left| left <= MOST)?;
                bytes.map_or(Position::Type, |left| Position::Bulk { left })
            }
            Position::LineEnd { .. } | Position::Bulk { .. } => return None,
        };
        Some(())
    }

    /// Begin an element of type `kind`.
    fn begin(&mut self, kind: u8) -> Option<Position> {
        // Pushes and attributes precede the reply and are not part of it.
        let next = self.left == 1 && !self.begun;
        let aside = next && matches!(kind, b'>' | b'|');
        self.top = next && !aside;
        self.begun |= self.top;
        self.left -= u64::from(!aside);
        match kind {
            b'-' | b'!' if self.begun => {
                self.in_error = self.outcome != Outcome::Error;
                self.outcome = Outcome::Error;
            }
            b'_' => self.mark_null(),
            _ => {}
        }
        match kind {
            b'+' | b'-' | b':' | b'_' | b'#' | b',' | b'(' => Some(Position::Words),
            b'$' | b'!' | b'=' | b'*' | b'%' | b'~' | b'>' | b'|' => {
                Some(Position::Number { kind, digits: 0, value: 0 })
            }
            _ => None,
        }
    }

    /// Record a null element: a miss if it is the whole reply.
    fn mark_null(&mut self) {
        if self.top && self.outcome == Outcome::Hit {
            self.outcome = Outcome::Miss;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(replies: u32, bytes: &[u8], expected: Option<(usize, Outcome)>) {
        for step in [1, 2, 3, bytes.len()] {
            let (mut elements, mut taken, mut found) = (Elements::new(replies), 0, None);
            for piece in bytes.chunks(step) {
                let Ok(extent) = elements.consume(piece, &mut Vec::new()) else { break };
                taken += extent.bytes;
                if extent.whole {
                    found = Some((taken, elements.outcome()));
                    break;
                }
            }
            assert_eq!(found, expected, "{:?} by {step}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn replies_of_every_type_end_where_they_end() {
        for (reply, outcome) in [
            (&b"+OK\r\n"[..], Outcome::Hit),
            (b"-WRONGTYPE no\r\n", Outcome::Error),
            (b":-12\r\n", Outcome::Hit),
            (b"$5\r\nhe\r\no\r\n", Outcome::Hit),
            (b"$-1\r\n", Outcome::Miss),
            (b"*-1\r\n", Outcome::Miss),
            (b"_\r\n", Outcome::Miss),
            (b"*0\r\n", Outcome::Hit),
            (b"#t\r\n", Outcome::Hit),
            (b",1.5\r\n", Outcome::Hit),
            (b"(3492890328409238509324850943850943825024385\r\n", Outcome::Hit),
            (b"!3\r\nERR\r\n", Outcome::Error),
            (b"=7\r\ntxt:abc\r\n", Outcome::Hit),
            (b"*3\r\n$-1\r\n*2\r\n:1\r\n*0\r\n+x\r\n", Outcome::Hit),
            (b"*2\r\n+QUEUED\r\n-ERR inside\r\n", Outcome::Error),
            (b"%2\r\n+a\r\n*1\r\n$1\r\nb\r\n+c\r\n_\r\n", Outcome::Hit),
            (b"~1\r\n%0\r\n", Outcome::Hit),
            (b">2\r\n+invalidate\r\n*1\r\n+k\r\n_\r\n", Outcome::Miss),
            (b"|1\r\n+ttl\r\n:3\r\n*1\r\n$-1\r\n", Outcome::Hit),
        ] {
            check(1, &[reply, b"+next\r\n"].concat(), Some((reply.len(), outcome)));
            check(1, &reply[..reply.len() - 1], None);
        }
    }

    #[test]
    fn consecutive_replies_have_the_worst_of_their_outcomes() {
        let exec = b"+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:1\r\n$-1\r\n";
        check(4, exec, Some((exec.len(), Outcome::Hit)));
        let watched = b"+OK\r\n+QUEUED\r\n*-1\r\n";
        check(3, watched, Some((watched.len(), Outcome::Miss)));
        let refused = b"+OK\r\n-ERR unknown command\r\n-EXECABORT\r\n";
        check(3, refused, Some((refused.len(), Outcome::Error)));
    }

    #[test]
    fn invalid_elements_are_framing_errors() {
        for bytes in [
            &b"HTTP"[..],
            b"+a\n",
            b"*x\r\n",
            b"$-2\r\n",
            b"$1\r\nab\r\n",
            b"%-1\r\n",
            b"*9999999999999999999\r\n",
            b"*999999999999999999\r\n",
            b"$\r\n",
            b":1\rx",
        ] {
            let mut elements = Elements::new(1);
            assert!(
                elements.consume(bytes, &mut Vec::new()).is_err(),
                "{:?}",
                String::from_utf8_lossy(bytes)
            );
        }
    }
}
