//! How bytes behind a head are passed over, whatever tells where they end.

/// What a piece brought of a reply's rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// Bytes of the piece that belong to the reply.
    pub bytes: usize,
    /// The reply is whole.
    pub whole: bool,
}

/// Bytes that cannot follow what came before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Misplaced {
    /// Where they start in the piece.
    pub at: usize,
}

/// So much is kept of an error that stands behind the head of a reply.
const WORDS: usize = 512;

/// Appends `bytes` to `words` as far as they have room.
pub fn keep(words: &mut Vec<u8>, bytes: &[u8]) {
    let room = words.capacity().min(WORDS).saturating_sub(words.len());
    words.extend_from_slice(&bytes[..bytes.len().min(room)]);
}

/// Passes over the `left` bytes that are still to come, of which the last are `end`.
#[inline]
pub fn pass_bytes(left: &mut u64, end: &[u8], piece: &[u8]) -> Result<Passed, Misplaced> {
    let bytes = (piece.len() as u64).min(*left) as usize;
    let after = *left - bytes as u64;
    if after < end.len() as u64 {
        check_end(&piece[..bytes], &end[..end.len() - after as usize])?;
    }
    *left = after;
    Ok(Passed { bytes, whole: after == 0 })
}

/// Whether `piece` and `end` have the same last bytes, as many as both have.
#[inline]
fn check_end(piece: &[u8], end: &[u8]) -> Result<(), Misplaced> {
    let both = piece.len().min(end.len());
    let at = piece.len() - both;
    if piece[at..] == end[end.len() - both..] {
        return Ok(());
    }
    Err(Misplaced { at })
}
