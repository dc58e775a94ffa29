//! Reassembles one direction of a connection. Each byte keeps the stamp of the packet that carried it first.

use std::collections::BTreeMap;

/// Most segments held beyond a hole. Reordered packets are only a few positions apart; after this many segments,
/// the missing packet was not captured.
const MAX_HELD: usize = 64;

/// New bytes of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk<'b> {
    /// When the packet was captured, in nanoseconds since the epoch.
    pub at_ns: u64,
    /// Position of the first byte; the first captured byte of the stream is 0.
    pub from: u64,
    /// Number of bytes.
    pub length: u64,
    /// The captured bytes, from the first one on.
    pub bytes: &'b [u8],
    /// Position in the other direction up to which the sender had received data.
    pub acked: u64,
}

impl<'b> Chunk<'b> {
    /// Return the part of the chunk from `position` on.
    fn after(self, position: u64) -> Self {
        let skip = position.saturating_sub(self.from).min(self.length);
        let known = usize::try_from(skip).unwrap_or(usize::MAX).min(self.bytes.len());
        let bytes: &'b [u8] = &self.bytes[known..];
        Self { from: self.from + skip, length: self.length - skip, bytes, ..self }
    }
}

struct HeldSegment {
    at_ns: u64,
    length: u64,
    bytes: Vec<u8>,
    acked: u64,
}

/// Puts segments in order.
#[derive(Default)]
pub struct Stream {
    /// Sequence number of position 0, once known.
    base: Option<u32>,
    next: u64,
    held: BTreeMap<u64, HeldSegment>,
    /// Segments without new bytes.
    pub repeated: u64,
    /// Holes that were never filled.
    pub holes: u64,
}

impl Stream {
    /// Start the stream at this sequence number (the SYN's plus one).
    pub fn begin(&mut self, seq: u32) {
        self.base.get_or_insert(seq);
    }

    /// Return the sequence number of position 0.
    pub fn base(&self) -> Option<u32> {
        self.base
    }

    /// Return the position of a sequence number near the last one; negative before the first.
    pub fn position(&self, seq: u32) -> i64 {
        let Some(base) = self.base else { return 0 };
        let delta = seq.wrapping_sub(base.wrapping_add(self.next as u32)) as i32;
        self.next as i64 + i64::from(delta)
    }

    /// Process a segment and deliver the new bytes in order.
    pub fn take(
        &mut self,
        at_ns: u64,
        seq: u32,
        length: u32,
        bytes: &[u8],
        acked: u64,
        mut deliver_to: impl FnMut(Chunk<'_>),
    ) {
        if length == 0 {
            return;
        }
        self.base.get_or_insert(seq);
        let from = self.position(seq);
        let mut length = u64::from(length);
        let mut bytes = bytes;
        let from = u64::try_from(from).unwrap_or_else(|_| {
            // Bytes before the first captured one are ignored.
            let before = from.unsigned_abs();
            bytes = bytes.get(before as usize..).unwrap_or_default();
            length = length.saturating_sub(before);
            0
        });
        if from + length <= self.next {
            self.repeated += 1;
            return;
        }
        if from > self.next {
            self.held.entry(from).or_insert_with(|| HeldSegment {
                at_ns,
                length,
                bytes: bytes.to_vec(),
                acked,
            });
            if self.held.len() > MAX_HELD {
                self.skip_hole(&mut deliver_to);
            }
            return;
        }
        self.deliver(Chunk { at_ns, from, length, bytes, acked }, &mut deliver_to);
        self.deliver_held(&mut deliver_to);
    }

    /// Deliver the segments beyond holes.
    pub fn finish(&mut self, mut deliver_to: impl FnMut(Chunk<'_>)) {
        while !self.held.is_empty() {
            self.skip_hole(&mut deliver_to);
        }
    }

    fn skip_hole(&mut self, deliver_to: &mut impl FnMut(Chunk<'_>)) {
        if let Some((&from, _)) = self.held.first_key_value() {
            self.holes += 1;
            self.next = self.next.max(from);
            self.deliver_held(deliver_to);
        }
    }

    fn deliver_held(&mut self, deliver_to: &mut impl FnMut(Chunk<'_>)) {
        while let Some(first) = self.held.first_entry() {
            if *first.key() > self.next {
                return;
            }
            let (from, HeldSegment { at_ns, length, bytes, acked }) = first.remove_entry();
            self.deliver(Chunk { at_ns, from, length, bytes: &bytes, acked }, deliver_to);
        }
    }

    fn deliver(&mut self, chunk: Chunk<'_>, deliver_to: &mut impl FnMut(Chunk<'_>)) {
        let chunk = chunk.after(self.next);
        if chunk.length == 0 {
            self.repeated += 1;
            return;
        }
        self.next = chunk.from + chunk.length;
        deliver_to(chunk);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feed `(seq, bytes)`, one nanosecond apart, and return the delivered `(from, at, bytes)`.
    fn reassemble(base: Option<u32>, segments: &[(u32, &[u8])]) -> (Vec<(u64, u64, Vec<u8>)>, Stream) {
        let mut stream = Stream::default();
        if let Some(base) = base {
            stream.begin(base);
        }
        let mut out = Vec::new();
        for (i, (seq, bytes)) in segments.iter().enumerate() {
            stream.take(i as u64 + 1, *seq, bytes.len() as u32, bytes, 0, |chunk| {
                out.push((chunk.from, chunk.at_ns, chunk.bytes.to_vec()));
            });
        }
        stream.finish(|chunk| out.push((chunk.from, chunk.at_ns, chunk.bytes.to_vec())));
        (out, stream)
    }

    #[test]
    fn the_first_transmission_of_a_byte_counts() {
        let (out, stream) = reassemble(Some(10), &[(10, b"abc"), (10, b"abc"), (11, b"bcde")]);
        assert_eq!(out, [(0, 1, b"abc".to_vec()), (3, 3, b"de".to_vec())]);
        assert_eq!((stream.repeated, stream.holes), (1, 0));
    }

    #[test]
    fn reordered_segments_keep_their_own_stamps() {
        let (out, stream) = reassemble(Some(10), &[(13, b"d"), (10, b"abc"), (14, b"e")]);
        assert_eq!(out, [(0, 2, b"abc".to_vec()), (3, 1, b"d".to_vec()), (4, 3, b"e".to_vec())]);
        assert_eq!(stream.holes, 0);
    }

    #[test]
    fn sequence_numbers_wrap() {
        let (out, _) = reassemble(Some(u32::MAX - 1), &[(u32::MAX - 1, b"abc"), (1, b"d"), (2, b"e")]);
        assert_eq!(out.iter().map(|one| one.0).collect::<Vec<_>>(), [0, 3, 4]);
    }

    #[test]
    fn a_stream_captured_from_the_middle_starts_at_its_first_captured_byte() {
        let (out, _) = reassemble(None, &[(1000, b"abc"), (998, b"xyabcd")]);
        assert_eq!(out, [(0, 1, b"abc".to_vec()), (3, 2, b"d".to_vec())]);
    }

    #[test]
    fn an_unfilled_hole_is_counted_and_positions_continue() {
        let mut segments: Vec<(u32, &[u8])> = vec![(10, b"a")];
        segments.extend((0..100).map(|i| (20 + i, &b"z"[..])));
        let (out, stream) = reassemble(Some(10), &segments);
        assert_eq!(stream.holes, 1);
        assert_eq!(out.len(), 101);
        assert_eq!((out[1].0, out[100].0), (10, 109));
    }
}
