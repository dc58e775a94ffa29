//! HTTP/2 frames: their headers, and the frames that a client writes (RFC 9113, 4 and 6).

/// Length of a frame header in bytes.
pub const HEAD: usize = 9;
/// The longest payload that either side may send by default (`SETTINGS_MAX_FRAME_SIZE`).
pub const MAX_PAYLOAD: usize = 16_384;
/// The client's connection preface.
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// The largest flow-control window (6.9.1).
pub const MAX_WINDOW: u32 = (1 << 31) - 1;
/// The initial window of a connection and its streams (6.9.2).
pub const DEFAULT_WINDOW: u32 = 65_535;

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PUSH_PROMISE: u8 = 5;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const WINDOW_UPDATE: u8 = 8;
pub const CONTINUATION: u8 = 9;

/// Flag of SETTINGS and PING.
pub const ACK: u8 = 1;
pub const END_STREAM: u8 = 1;
pub const END_HEADERS: u8 = 4;
pub const PADDED: u8 = 8;
const PRIORITY: u8 = 0x20;

/// Error code of a stream that the server has not processed (8.7).
pub const REFUSED_STREAM: u32 = 7;

pub const HEADER_TABLE_SIZE: u16 = 1;
pub const ENABLE_PUSH: u16 = 2;
pub const MAX_CONCURRENT_STREAMS: u16 = 3;
pub const INITIAL_WINDOW_SIZE: u16 = 4;

/// A frame header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Length of the payload.
    pub length: usize,
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
}

impl Frame {
    /// Parse the header at the start of `bytes`, which has at least [`HEAD`] bytes.
    pub fn parse(bytes: &[u8]) -> Self {
        Self {
            length: usize::from(bytes[0]) << 16 | usize::from(bytes[1]) << 8 | usize::from(bytes[2]),
            kind: bytes[3],
            flags: bytes[4],
            stream: number(&bytes[5..9]) & MAX_WINDOW,
        }
    }

    pub const fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Write the header over the first [`HEAD`] bytes of `bytes`.
    pub fn write_to(self, bytes: &mut [u8]) {
        bytes[..3].copy_from_slice(&(self.length as u32).to_be_bytes()[1..]);
        bytes[3] = self.kind;
        bytes[4] = self.flags;
        bytes[5..HEAD].copy_from_slice(&self.stream.to_be_bytes());
    }

    /// Append a frame with its payload.
    pub fn write(kind: u8, flags: u8, stream: u32, payload: &[u8], out: &mut Vec<u8>) {
        let at = out.len();
        out.extend_from_slice(&[0; HEAD]);
        Self { length: payload.len(), kind, flags, stream }.write_to(&mut out[at..]);
        out.extend_from_slice(payload);
    }

    /// Return the field block of a HEADERS payload, without padding and priority (6.2), or `None` if it is
    /// too short.
    pub fn fields(self, payload: &[u8]) -> Option<&[u8]> {
        let mut fields = payload;
        if self.has(PADDED) {
            let (&padding, rest) = fields.split_first()?;
            fields = rest.get(..rest.len().checked_sub(usize::from(padding))?)?;
        }
        if self.has(PRIORITY) {
            fields = fields.get(5..)?;
        }
        Some(fields)
    }
}

/// Parse four bytes as a big-endian number.
pub fn number(bytes: &[u8]) -> u32 {
    bytes.iter().take(4).fold(0, |n, &byte| n << 8 | u32::from(byte))
}

/// Append the client's opening: no server push, no header table, and windows that never fill up.
pub fn greeting(out: &mut Vec<u8>) {
    out.extend_from_slice(PREFACE);
    let mut payload = [0; 18];
    let settings = [(HEADER_TABLE_SIZE, 0), (ENABLE_PUSH, 0), (INITIAL_WINDOW_SIZE, MAX_WINDOW)];
    for (place, (name, value)) in payload.chunks_exact_mut(6).zip(settings) {
        place[..2].copy_from_slice(&u16::to_be_bytes(name));
        place[2..].copy_from_slice(&u32::to_be_bytes(value));
    }
    Frame::write(SETTINGS, 0, 0, &payload, out);
    Frame::write(WINDOW_UPDATE, 0, 0, &(MAX_WINDOW - DEFAULT_WINDOW).to_be_bytes(), out);
}

/// Append a GOAWAY frame with the last processed stream 0, because the server opens no streams, and error
/// code 0.
pub fn write_farewell(out: &mut Vec<u8>) {
    Frame::write(GOAWAY, 0, 0, &[0; 8], out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_as_it_is_written() {
        let mut out = Vec::new();
        Frame::write(HEADERS, END_STREAM | END_HEADERS, 7, &[b'x'; 300], &mut out);
        assert_eq!(out[..HEAD], [0, 1, 44, 1, 5, 0, 0, 0, 7]);
        assert_eq!(Frame::parse(&out), Frame { length: 300, kind: HEADERS, flags: 5, stream: 7 });
    }

    #[test]
    fn padding_and_priority_are_no_fields() {
        let frame = |flags| Frame { length: 0, kind: HEADERS, flags, stream: 1 };
        assert_eq!(frame(0).fields(b"ab"), Some(&b"ab"[..]));
        assert_eq!(frame(PADDED).fields(b"\x01abx"), Some(&b"ab"[..]));
        assert_eq!(frame(PADDED | PRIORITY).fields(b"\x0112345abx"), Some(&b"ab"[..]));
        for (flags, short) in [(PADDED, &b"\x02a"[..]), (PADDED, b""), (PRIORITY, b"1234")] {
            assert_eq!(frame(flags).fields(short), None, "{short:?}");
        }
    }
}
