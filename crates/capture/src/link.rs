//! Finds the IP packet in a frame (LINKTYPE_* of <https://www.tcpdump.org/linktypes.html>).

use crate::CaptureError;

/// Link layer of the frames of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// Ethernet, VLAN tags included; also the loopback device `lo`.
    Ethernet,
    /// Linux "cooked" capture, first version: `-i any` of older tools.
    Cooked,
    /// Linux "cooked" capture, second version: `-i any`.
    Cooked2,
    /// IP without a link header: tunnels.
    Raw,
    /// Four bytes of address family: BSD loopback.
    Family,
}

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;

impl Link {
    /// Return the link type of this number.
    pub fn new(number: u32) -> Result<Self, CaptureError> {
        match number {
            1 => Ok(Self::Ethernet),
            113 => Ok(Self::Cooked),
            276 => Ok(Self::Cooked2),
            12 | 14 | 101 | 228 | 229 => Ok(Self::Raw),
            0 | 108 => Ok(Self::Family),
            other => Err(CaptureError::LinkType(other)),
        }
    }

    /// Return where the IP packet in `frame` begins; `None` if there is none.
    pub fn ip_at(self, frame: &[u8]) -> Option<usize> {
        let is_ip = |at: usize| matches!(ether_type(frame, at), Some(IPV4 | IPV6));
        match self {
            Self::Ethernet => {
                let mut at = 12;
                // There may be one VLAN tag, or two (802.1ad).
                while at <= 16 && matches!(ether_type(frame, at), Some(0x8100 | 0x88a8 | 0x9100)) {
                    at += 4;
                }
                is_ip(at).then_some(at + 2)
            }
            Self::Cooked => is_ip(14).then_some(16),
            Self::Cooked2 => is_ip(0).then_some(20),
            Self::Raw => Some(0),
            Self::Family => Some(4),
        }
    }
}

fn ether_type(frame: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]))
}
