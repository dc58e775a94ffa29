//! Frames (RFC 6455, 5.2) as a client writes and reads them.

/// Largest size of a frame's header with its mask.
pub const LARGEST_HEADER: usize = 14;
/// Largest payload of a control frame (RFC 6455, 5.5).
pub const LARGEST_CONTROL: usize = 125;
pub const FIN: u8 = 0x80;
pub const MASKED: u8 = 0x80;
/// The length follows in two bytes, or in eight.
const IN_TWO: u8 = 0x7e;
const IN_EIGHT: u8 = 0x7f;

/// Frame types.
pub mod opcode {
    pub const CONTINUATION: u8 = 0;
    pub const TEXT: u8 = 1;
    pub const BINARY: u8 = 2;
    pub const CLOSE: u8 = 8;
    pub const PONG: u8 = 10;
}

/// The fields of a frame's header that replies use.
pub struct Frame {
    pub fin: bool,
    pub opcode: u8,
    /// Size of the header in bytes.
    pub header: usize,
    /// Size of the payload in bytes.
    pub length: u64,
}

impl Frame {
    /// Parse a header; `None` if it is incomplete. A server must not mask frames or use reserved bits without
    /// an extension (RFC 6455, 5.1, 5.2).
    pub fn read(bytes: &[u8]) -> Option<Result<Self, ()>> {
        let &[first, second, ..] = bytes else { return None };
        let (header, length) = match second {
            MASKED.. => return Some(Err(())),
            IN_TWO => (4, u64::from(u16::from_be_bytes(*bytes.get(2..)?.first_chunk()?))),
            IN_EIGHT => (10, u64::from_be_bytes(*bytes.get(2..)?.first_chunk()?)),
            short => (2, u64::from(short)),
        };
        let frame = Self { fin: first & FIN != 0, opcode: first & 0xf, header, length };
        let control = frame.opcode >= opcode::CLOSE;
        let known = frame.opcode <= opcode::BINARY || (opcode::CLOSE..=opcode::PONG).contains(&frame.opcode);
        let right = known && first & 0x70 == 0 && length >> 63 == 0;
        Some(if right && !(control && (!frame.fin || length > LARGEST_CONTROL as u64)) {
            Ok(frame)
        } else {
            Err(())
        })
    }
}

/// Append the header of an unfragmented message or a control frame.
pub fn write_header(opcode: u8, length: usize, mask: [u8; 4], out: &mut Vec<u8>) {
    out.push(FIN | opcode);
    match length {
        0..=125 => out.push(MASKED | length as u8),
        126..=0xffff => {
            out.push(MASKED | IN_TWO);
            out.extend_from_slice(&(length as u16).to_be_bytes());
        }
        _ => {
            out.push(MASKED | IN_EIGHT);
            out.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(&mask);
}

/// Mask or unmask a payload.
#[inline]
pub fn apply(mask: [u8; 4], bytes: &mut [u8]) {
    let four = u64::from(u32::from_ne_bytes(mask));
    let wide = four << 32 | four;
    let mut words = bytes.chunks_exact_mut(8);
    for word in &mut words {
        let mut value = [0; 8];
        value.copy_from_slice(word);
        word.copy_from_slice(&(u64::from_ne_bytes(value) ^ wide).to_ne_bytes());
    }
    for (byte, key) in words.into_remainder().iter_mut().zip(mask.iter().cycle()) {
        *byte ^= key;
    }
}
