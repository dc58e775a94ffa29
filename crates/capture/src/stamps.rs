//! When was byte N of a connection on the wire? Needs no framing: whoever asks knows the positions.

use std::collections::HashMap;
use std::io::Read;

use crate::flow::{each_segment, Seen, Side};
use crate::packet::Segment;
use crate::CaptureError;

/// One direction of a connection.
#[derive(Default)]
struct Line {
    /// Sequence number of position 0, from the SYN.
    base: Option<u32>,
    /// First and last sequence number seen, unwrapped: `at` counts from `base`.
    last: Option<i64>,
    /// Position of the first byte, behind the last byte, stamp; sorted by [`Stamps::ready`].
    segments: Vec<(i64, i64, u64)>,
}

/// The stamps of all bytes that one or several captures of the same connections saw. Connections are known
/// by the client's port; their first packets (SYN) have to be in the first of the captures, bytes may be
/// in any.
#[derive(Default)]
pub struct Stamps {
    lines: HashMap<(u16, bool), Line>,
    /// Packets, over all files.
    pub packets: u64,
}

impl Stamps {
    /// Takes the packets of a capture that go to or come from the server's `port`.
    ///
    /// # Errors
    /// [`CaptureError`] where it cannot be read.
    pub fn read<R: Read>(&mut self, input: R, port: u16) -> Result<(), CaptureError> {
        let lines = &mut self.lines;
        let seen: Seen = each_segment(input, port, |at_ns, side, client, _, segment| {
            let line = lines.entry((client.port(), side == Side::Reply)).or_default();
            line.take(at_ns, segment);
        })?;
        self.packets += seen.packets;
        for line in self.lines.values_mut() {
            // Stable: of segments with the same bytes, the first seen stays first.
            line.segments.sort_by_key(|one| one.0);
        }
        Ok(())
    }

    /// When the byte before position `end` (the last of a message that ends there) was first on the wire, in
    /// nanoseconds since the epoch. Positions count from the connection's first byte.
    pub fn at(&self, client_port: u16, side: Side, end: u64) -> Option<u64> {
        let line = self.lines.get(&(client_port, side == Side::Reply))?;
        let first = line.segments.first()?.0;
        let wanted = end.checked_sub(1)?;
        // Sequence numbers tell positions modulo 2^32 only; those of a capture lie near each other.
        let wanted = first + i64::from((wanted as u32).wrapping_sub(first as u32) as i32);
        let upto = line.segments.partition_point(|one| one.0 <= wanted);
        // A retransmission may start earlier and reach as far: the earliest stamp of those near counts.
        let near = line.segments[upto.saturating_sub(8)..upto].iter();
        near.filter(|one| one.1 > wanted).map(|one| one.2).min()
    }
}

impl Line {
    fn take(&mut self, at_ns: u64, segment: &Segment<'_>) {
        if segment.syn {
            let base = segment.seq.wrapping_add(1);
            if self.base != Some(base) {
                // The port again: positions of the earlier connection are ambiguous now.
                *self = Self { base: Some(base), ..Self::default() };
            }
        }
        let (Some(base), true) = (self.base, segment.length > 0) else { return };
        let relative = segment.seq.wrapping_add(u32::from(segment.syn)).wrapping_sub(base);
        let from = match self.last {
            None => i64::from(relative),
            Some(last) => last + i64::from(relative.wrapping_sub(last as u32) as i32),
        };
        self.last = Some(from);
        self.segments.push((from, from + i64::from(segment.length), at_ns));
    }
}
