//! Helpers to consume the bytes after a reply's head, for all kinds of framing.

/// The part of a piece that was consumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Number of bytes that belong to the reply.
    pub bytes: usize,
    /// Whether the reply is complete.
    pub whole: bool,
}

/// Bytes that violate the protocol's framing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FramingError {
    /// Their offset in the piece.
    pub at: usize,
}

/// Most bytes kept of an error text after a reply's head.
const WORDS: usize = 512;

/// Append `bytes` to `words` as far as there is space.
pub fn append_limited(words: &mut Vec<u8>, bytes: &[u8]) {
    let room = words.capacity().min(WORDS).saturating_sub(words.len());
    words.extend_from_slice(&bytes[..bytes.len().min(room)]);
}

/// Consume some of the `left` bytes still expected, the last of which must be `end`.
#[inline]
pub fn consume_bytes(left: &mut u64, end: &[u8], piece: &[u8]) -> Result<Extent, FramingError> {
    let bytes = (piece.len() as u64).min(*left) as usize;
    let after = *left - bytes as u64;
    if after < end.len() as u64 {
        check_end(&piece[..bytes], &end[..end.len() - after as usize])?;
    }
    *left = after;
    Ok(Extent { bytes, whole: after == 0 })
}

/// Check that `piece` and `end` have the same last bytes, over the shorter length.
#[inline]
fn check_end(piece: &[u8], end: &[u8]) -> Result<(), FramingError> {
    let both = piece.len().min(end.len());
    let at = piece.len() - both;
    if piece[at..] == end[end.len() - both..] {
        return Ok(());
    }
    Err(FramingError { at })
}
