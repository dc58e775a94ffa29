//! Finds when byte N of a connection was on the wire. No framing is needed: the caller knows the positions.

use std::collections::HashMap;
use std::io::Read;

use crate::flow::{each_segment, PacketCounts, Side};
use crate::packet::Segment;
use crate::CaptureError;

/// One direction of a connection.
#[derive(Default)]
struct Direction {
    /// Sequence number of position 0, from the SYN.
    base: Option<u32>,
    /// Last sequence number, unwrapped and relative to `base`.
    last: Option<i64>,
    /// Segments as (position of the first byte, position after the last byte, stamp), sorted by
    /// [`Stamps::read`].
    segments: Vec<(i64, i64, u64)>,
}

/// Stamps of all bytes in one or several captures of the same connections. The client's port identifies a
/// connection. The first packets (SYN) must be in the first capture; the bytes may be in any of them.
#[derive(Default)]
pub struct Stamps {
    lines: HashMap<(u16, bool), Direction>,
    /// Number of packets in all files.
    pub packets: u64,
}

impl Stamps {
    /// Read the packets of a capture that come from or go to the server's `port`.
    ///
    /// # Errors
    /// [`CaptureError`] if the capture cannot be read.
    pub fn read<R: Read>(&mut self, input: R, port: u16) -> Result<(), CaptureError> {
        let lines = &mut self.lines;
        let counts: PacketCounts = each_segment(input, port, |at_ns, side, client, _, segment| {
            let line = lines.entry((client.port(), side == Side::Reply)).or_default();
            line.take(at_ns, segment);
        })?;
        self.packets += counts.packets;
        for line in self.lines.values_mut() {
            // The sort is stable: of segments with the same bytes, the earliest stays first.
            line.segments.sort_by_key(|one| one.0);
        }
        Ok(())
    }

    /// Return when the last byte before position `end` was first on the wire, in nanoseconds since the epoch.
    /// Positions count from the connection's first byte.
    pub fn time_of(&self, client_port: u16, side: Side, end: u64) -> Option<u64> {
        let line = self.lines.get(&(client_port, side == Side::Reply))?;
        let first = line.segments.first()?.0;
        let wanted = end.checked_sub(1)?;
        // Sequence numbers give positions modulo 2^32; the positions in one capture are close to each other.
        let wanted = first + i64::from((wanted as u32).wrapping_sub(first as u32) as i32);
        let upto = line.segments.partition_point(|one| one.0 <= wanted);
        // A retransmission may start earlier and reach as far: use the earliest stamp of the nearby
        // segments.
        let near = line.segments[upto.saturating_sub(8)..upto].iter();
        near.filter(|one| one.1 > wanted).map(|one| one.2).min()
    }
}

impl Direction {
    fn take(&mut self, at_ns: u64, segment: &Segment<'_>) {
        if segment.syn {
            let base = segment.seq.wrapping_add(1);
            if self.base != Some(base) {
                // The port is reused: positions of the earlier connection are now ambiguous.
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
