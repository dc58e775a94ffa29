//! Server-sent events (WHATWG HTML, 9.2), counted byte by byte with constant memory. As for a browser, an
//! event without data is no message, and the end of the stream completes none.
//!
//! ```text
//! stream = [ byte-order-mark ] *( *( field line-end ) line-end )
//! field  = name [ ":" value ]
//! ```

/// A byte order mark, which may precede the first line.
const MARK: &[u8] = b"\xef\xbb\xbf";
/// Name of the field that makes an event a message.
const NAME: &[u8] = b"data";
const NAME_BYTES: u8 = NAME.len() as u8;

/// Position in a stream of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Events {
    place: Place,
    /// Whether the current event has data.
    has_data: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// At the start of the stream, after this many bytes of a byte order mark.
    Mark(u8),
    /// At the start of a line, after a carriage return; a line feed still belongs to the line before.
    Return,
    /// In the first bytes of a line, which are this many bytes of [`NAME`]; 0: at its start.
    Name(u8),
    /// In the rest of a line.
    Rest,
}

impl Events {
    /// Start at the beginning of a stream.
    pub const fn new() -> Self {
        Self { place: Place::Mark(0), has_data: false }
    }

    /// Return how many messages `bytes` complete.
    pub fn count(&mut self, bytes: &[u8]) -> u32 {
        let (mut messages, mut at) = (0, 0);
        while at < bytes.len() {
            if self.place == Place::Rest {
                let Some(rest) = bytes[at..].iter().position(|&byte| is_line_end(byte)) else { break };
                at += rest;
            }
            messages += u32::from(self.take(bytes[at]));
            at += 1;
        }
        messages
    }

    /// Take one byte. Return whether it completes a message.
    fn take(&mut self, byte: u8) -> bool {
        if is_line_end(byte) {
            return self.end_line(byte);
        }
        self.place = match self.place {
            Place::Mark(2) if byte == MARK[2] => Place::Name(0),
            Place::Mark(seen) if byte == MARK[usize::from(seen)] => Place::Mark(seen + 1),
            Place::Mark(0) | Place::Return if byte == NAME[0] => Place::Name(1),
            Place::Name(NAME_BYTES) => {
                self.has_data |= byte == b':';
                Place::Rest
            }
            Place::Name(seen) if byte == NAME[usize::from(seen)] => Place::Name(seen + 1),
            Place::Mark(_) | Place::Return | Place::Name(_) | Place::Rest => Place::Rest,
        };
        false
    }

    fn end_line(&mut self, byte: u8) -> bool {
        let place = std::mem::replace(&mut self.place, Place::Name(0));
        if byte == b'\r' {
            self.place = Place::Return;
        } else if place == Place::Return {
            return false;
        }
        self.has_data |= place == Place::Name(NAME_BYTES);
        let is_empty = matches!(place, Place::Mark(0) | Place::Return | Place::Name(0));
        is_empty && std::mem::take(&mut self.has_data)
    }
}

const fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\r' | b'\n')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Count the messages of a whole stream by the standard's own steps: split into lines, then handle each.
    fn by_lines(stream: &[u8]) -> u32 {
        let stream = stream.strip_prefix(MARK).unwrap_or(stream);
        let (mut lines, mut line) = (Vec::new(), Vec::new());
        let mut bytes = stream.iter().peekable();
        while let Some(&byte) = bytes.next() {
            if is_line_end(byte) {
                bytes.next_if(|&&next| (byte, next) == (b'\r', b'\n'));
                lines.push(std::mem::take(&mut line));
            } else {
                line.push(byte);
            }
        }
        let (mut messages, mut data) = (0, false);
        for line in lines {
            if line.is_empty() {
                messages += u32::from(std::mem::take(&mut data));
            } else {
                data |= line.split(|&byte| byte == b':').next() == Some(NAME);
            }
        }
        messages
    }

    #[test]
    fn events_with_data_are_messages() {
        for (stream, messages) in [
            (&b"data: a\n\n"[..], 1),
            (b"data: a\ndata: b\n\ndata: c\n\n", 2),
            (b"event: token\r\nid: 7\r\ndata: {\"a\": 1}\r\n\r\n", 1),
            (b"data\r\rdata:\r\r", 2),
            (b"\xef\xbb\xbfdata: a\n\n", 1),
            (b": keep-alive\n\n", 0),
            (b"event: ping\n\n", 0),
            (b"event: ping\n\ndata: a\n\n", 1),
            (b"database: a\n\n data: a\n\nData: a\n\n", 0),
            (b"data: a\n", 0),
            (b"data: a\n\n\n\n\r\n\r\n", 1),
            (b"\xef\xbbdata: a\n\n", 0),
            (b"\n\ndata: a\n\n", 1),
        ] {
            assert_eq!(Events::new().count(stream), messages, "{:?}", stream.escape_ascii().to_string());
            assert_eq!(by_lines(stream), messages, "{:?}", stream.escape_ascii().to_string());
        }
    }

    proptest! {
        #[test]
        fn messages_do_not_depend_on_how_a_stream_is_split(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "data", "data:", "data: x", "dat", ":", "a", "event: e", "\n", "\n\n", "\r", "\r\n", "\r\n\r\n",
                    "\u{feff}", " ",
                ]),
                0..40,
            ),
            cuts in prop::collection::vec(0..12_usize, 0..30),
        ) {
            let stream = parts.concat();
            let mut rest = stream.as_bytes();
            let (mut whole, mut cut) = (Events::new(), Events::new());
            let expected = by_lines(rest);
            prop_assert_eq!(whole.count(rest), expected);
            let mut counted = 0;
            for at in cuts {
                let (piece, after) = rest.split_at(at.min(rest.len()));
                counted += cut.count(piece);
                rest = after;
            }
            counted += rest.iter().map(|&byte| cut.count(&[byte])).sum::<u32>();
            prop_assert_eq!((counted, cut), (expected, whole));
        }
    }
}
