//! HTTP's chunked coding (RFC 9112, 7.1), parsed byte by byte with constant memory.
//!
//! ```text
//! chunk   = size [ ";" extension ] CR LF  data  CR LF
//! body    = *chunk  1*"0" [ ";" extension ] CR LF  *( trailer CR LF )  CR LF
//! ```

use super::framing::{Extent, FramingError};

/// Most bytes in a size line with its extensions, or in a trailer section. Both are ignored, but a server
/// that sends only these never completes a reply.
const MAX_LINES: u32 = 64 * 1024;

/// Position of the stream in a chunked body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunks {
    place: Place,
    /// Bytes read since the last chunk's data.
    lines: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In a size, after `digits` digits.
    Size { size: u64, digits: u8 },
    /// Between the size and the end of its line.
    Extension { size: u64, named: bool },
    /// Before the line feed of a size line.
    SizeFeed { size: u64 },
    /// In the data.
    Data { left: u64 },
    /// Before the carriage return after the data.
    DataReturn,
    /// Before the line feed after the data.
    DataFeed,
    /// At the start of a trailer line.
    Trailers,
    /// At the start of a trailer line, after a carriage return.
    TrailersReturn,
    /// In a trailer line.
    Trailer,
    /// After the last byte.
    End,
}

const START: Place = Place::Size { size: 0, digits: 0 };

impl Chunks {
    /// Start at the beginning of a body.
    pub const fn new() -> Self {
        Self { place: START, lines: 0 }
    }

    /// Same as [`super::Remainder::consume`]. `take` gets the data, piece by piece, and whether a chunk ends with it.
    #[inline]
    pub fn consume(
        &mut self,
        piece: &[u8],
        mut take: impl FnMut(&[u8], bool),
    ) -> Result<Extent, FramingError> {
        let mut at = 0;
        while at < piece.len() {
            if let Place::Data { left } = self.place {
                let here = left.min((piece.len() - at) as u64);
                take(&piece[at..at + here as usize], here == left);
                at += here as usize;
                self.place = if here < left { Place::Data { left: left - here } } else { Place::DataReturn };
                self.lines = 0;
                continue;
            }
            self.lines += 1;
            if self.lines > MAX_LINES {
                return Err(FramingError { at });
            }
            self.place = self.place.after(piece[at]).ok_or(FramingError { at })?;
            at += 1;
            if self.place == Place::End {
                return Ok(Extent { bytes: at, whole: true });
            }
        }
        Ok(Extent { bytes: at, whole: false })
    }
}

impl Place {
    /// Return the state after `byte`, which is not data, or `None` if `byte` is invalid.
    fn after(self, byte: u8) -> Option<Self> {
        Some(match (self, byte) {
            (Self::Size { size, digits }, digit) if digit.is_ascii_hexdigit() => {
                // Sixteen digits fill 64 bits, even with leading zeroes.
                let digits = Some(digits + 1).filter(|&digits| digits <= 16)?;
                Self::Size { size: size << 4 | u64::from((digit as char).to_digit(16)?), digits }
            }
            (Self::Size { digits: 0, .. }, _) => return None,
            (Self::Size { size, .. } | Self::Extension { size, .. }, b'\r') => Self::SizeFeed { size },
            (Self::Size { size, .. } | Self::Extension { size, .. }, b';') => {
                Self::Extension { size, named: true }
            }
            // White space without an extension is invalid but common (RFC 9112, 7.1.1: "bad").
            (Self::Size { size, .. }, b' ' | b'\t') => Self::Extension { size, named: false },
            (extension @ Self::Extension { named, .. }, byte) => {
                ((named && byte != b'\n') || matches!(byte, b' ' | b'\t')).then_some(extension)?
            }
            (Self::SizeFeed { size: 0 } | Self::Trailer, b'\n') => Self::Trailers,
            (Self::SizeFeed { size }, b'\n') => Self::Data { left: size },
            (Self::DataReturn, b'\r') => Self::DataFeed,
            (Self::DataFeed, b'\n') => START,
            (Self::Trailers | Self::TrailersReturn, b'\n') => Self::End,
            (Self::Trailers, b'\r') => Self::TrailersReturn,
            (Self::Trailers | Self::TrailersReturn | Self::Trailer, _) => Self::Trailer,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Return the length of the body at the start of `bytes`. The result must not depend on how the bytes are
    /// split.
    fn length(bytes: &[u8]) -> Result<Option<usize>, FramingError> {
        let whole = Chunks::new().consume(bytes, |_, _| ());
        for cut in 0..=bytes.len() {
            let mut chunks = Chunks::new();
            let second = |chunks: &mut Chunks| match chunks.consume(&bytes[cut..], |_, _| ()) {
                Ok(second) => Ok(Extent { bytes: cut + second.bytes, ..second }),
                Err(FramingError { at }) => Err(FramingError { at: cut + at }),
            };
            let halves = match chunks.consume(&bytes[..cut], |_, _| ()) {
                Ok(Extent { whole: false, .. }) => second(&mut chunks),
                first => first,
            };
            assert_eq!(halves, whole, "cut at {cut}");
        }
        whole.map(|extent| extent.whole.then_some(extent.bytes))
    }

    #[test]
    fn bodies_end_where_rfc_9112_says() {
        for body in [
            &b"0\r\n\r\n"[..],
            b"3\r\nabc\r\n0\r\n\r\n",
            b"A;name=\"v\" ; x\r\n0123456789\r\n000;last\r\nX: y\r\nZ: \r\n\r\n",
            b"1 \t\r\n\r\r\n0\r\n\n",
            b"0\r\n\rX: y\r\n\r\n",
        ] {
            assert_eq!(length(body), Ok(Some(body.len())), "{body:?}");
            assert_eq!(length(&[body, b"HTTP/1.1 200"].concat()), Ok(Some(body.len())));
            assert_eq!(length(&body[..body.len() - 1]), Ok(None));
        }
    }

    #[test]
    fn an_invalid_chunk_is_refused_at_its_position() {
        for (body, at) in [
            (&b"\r\n"[..], 0),
            (b"x\r\n", 0),
            (b"3\nabc", 1),
            (b"3\r\nabcd\r\n", 6),
            (b"3 4\r\n", 2),
            (b"-1\r\n", 0),
            (b"00000000000000001\r\n", 16),
            (b"3;a\nb\r\n", 3),
        ] {
            assert_eq!(length(body), Err(FramingError { at }), "{body:?}");
        }
    }

    #[test]
    fn a_chunk_may_be_larger_than_any_memory() {
        assert_eq!(length(b"ffffffffffffffff\r\nabc"), Ok(None));
    }

    #[test]
    fn endless_extensions_and_trailers_are_refused() {
        for start in [&b"1;"[..], b"0\r\n"] {
            let mut chunks = Chunks::new();
            chunks.consume(start, |_, _| ()).unwrap();
            let pieces = (0..200).map(|_| chunks.consume(&[b'a'; 1000], |_, _| ())).find_map(Result::err);
            assert!(pieces.is_some());
        }
    }
}
