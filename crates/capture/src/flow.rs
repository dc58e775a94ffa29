//! The connections of a capture.

use std::collections::HashMap;
use std::io::Read;
use std::net::SocketAddr;

use crate::file::Reader;
use crate::link::Link;
use crate::packet::{segment, Segment};
use crate::CaptureError;

/// Direction of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// From the client to the server.
    Request,
    /// From the server to the client.
    Reply,
}

/// Most connections that are followed; packets of further ones are skipped, which bounds memory.
const MAX_FLOWS: usize = 1 << 18;

/// The connections of a capture with one server port.
#[derive(Default)]
pub struct Table {
    index: HashMap<(SocketAddr, SocketAddr), u32>,
    /// Client and server of each connection.
    pub addresses: Vec<(SocketAddr, SocketAddr)>,
}

impl Table {
    /// Return the number of the connection between `client` and `server`; `None` if there are too many.
    pub fn number(&mut self, client: SocketAddr, server: SocketAddr) -> Option<u32> {
        if let Some(&number) = self.index.get(&(client, server)) {
            return Some(number);
        }
        self.renew(client, server)
    }

    /// Assign a number to a new connection between two addresses that had one before.
    pub fn renew(&mut self, client: SocketAddr, server: SocketAddr) -> Option<u32> {
        if self.addresses.len() == MAX_FLOWS {
            return None;
        }
        let number = self.addresses.len() as u32;
        self.index.insert((client, server), number);
        self.addresses.push((client, server));
        Some(number)
    }
}

/// Counts over the packets of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketCounts {
    /// Packets in the file.
    pub packets: u64,
    /// Packets that are not a TCP segment of the port, or that could not be parsed.
    pub skipped: u64,
    /// Whether the file ended within a packet.
    pub cut: bool,
}

/// Pass each segment from or to `port` to the callback, with its stamp, client and server.
pub fn each_segment<R: Read>(
    input: R,
    port: u16,
    mut visit: impl FnMut(u64, Side, SocketAddr, SocketAddr, &Segment<'_>),
) -> Result<PacketCounts, CaptureError> {
    let mut reader = Reader::new(input)?;
    let link = Link::new(reader.link())?;
    let mut counts = PacketCounts::default();
    while let Some(record) = reader.packet()? {
        counts.packets += 1;
        let segment = link.ip_at(record.bytes).and_then(|at| {
            let original = (record.original as usize).saturating_sub(at);
            segment(record.bytes.get(at..)?, original)
        });
        match segment {
            Some(one) if one.to.port() == port => visit(record.at_ns, Side::Request, one.from, one.to, &one),
            Some(one) if one.from.port() == port => visit(record.at_ns, Side::Reply, one.to, one.from, &one),
            _ => counts.skipped += 1,
        }
    }
    counts.cut = reader.is_cut();
    Ok(counts)
}
