//! Finds the TCP segment in an IP packet (RFC 791, 8200, 9293).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// A TCP segment as captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<'b> {
    pub from: SocketAddr,
    pub to: SocketAddr,
    /// Sequence number of its first byte, or of the SYN.
    pub seq: u32,
    pub ack: u32,
    pub syn: bool,
    /// Number of payload bytes on the wire.
    pub length: u32,
    /// The captured payload bytes, from the first one on.
    pub bytes: &'b [u8],
}

const TCP: u8 = 6;

/// Return the segment in the IP packet `bytes`, which had `original` bytes on the wire. `None` for packets that are
/// not TCP, for fragments, and for packets captured only up to their flags.
pub fn segment(bytes: &[u8], original: usize) -> Option<Segment<'_>> {
    match bytes.first()? >> 4 {
        4 => ipv4(bytes, original),
        6 => ipv6(bytes, original),
        _ => None,
    }
}

fn ipv4(bytes: &[u8], original: usize) -> Option<Segment<'_>> {
    let header = usize::from(bytes[0] & 15) * 4;
    let fragment = half(bytes, 6)? & 0x3fff;
    if header < 20 || fragment != 0 || *bytes.get(9)? != TCP {
        return None;
    }
    let address = |at: usize| Some(IpAddr::from(Ipv4Addr::from(read_u32(bytes, at)?)));
    // The field is 0 if the device does the segmentation and the packet is longer than the field can state.
    let total = Some(usize::from(half(bytes, 2)?)).filter(|&n| n != 0).unwrap_or(original);
    tcp(bytes, header, total, address(12)?, address(16)?)
}

fn ipv6(bytes: &[u8], original: usize) -> Option<Segment<'_>> {
    let address = |at: usize| {
        let sixteen: [u8; 16] = bytes.get(at..at + 16)?.try_into().ok()?;
        Some(IpAddr::from(Ipv6Addr::from(sixteen)))
    };
    let total = Some(usize::from(half(bytes, 4)?)).filter(|&n| n != 0).map_or(original, |n| n + 40);
    let (mut next, mut at) = (*bytes.get(6)?, 40);
    // Hop-by-hop, routing and destination options. Each has at least eight bytes, so the loop ends.
    while matches!(next, 0 | 43 | 60) {
        next = *bytes.get(at)?;
        at += 8 * (usize::from(*bytes.get(at + 1)?) + 1);
    }
    if next != TCP {
        return None;
    }
    tcp(bytes, at, total, address(8)?, address(24)?)
}

fn tcp(bytes: &[u8], at: usize, total: usize, from: IpAddr, to: IpAddr) -> Option<Segment<'_>> {
    let flags = *bytes.get(at + 13)?;
    let start = at + usize::from(bytes[at + 12] >> 4) * 4;
    if start < at + 20 {
        return None;
    }
    let length = total.checked_sub(start)?;
    let kept = bytes.get(start..).unwrap_or_default();
    Some(Segment {
        from: SocketAddr::new(from, half(bytes, at)?),
        to: SocketAddr::new(to, half(bytes, at + 2)?),
        seq: read_u32(bytes, at + 4)?,
        ack: read_u32(bytes, at + 8)?,
        syn: flags & 2 != 0,
        length: u32::try_from(length).ok()?,
        bytes: &kept[..kept.len().min(length)],
    })
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn read_u32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
