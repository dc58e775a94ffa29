//! The connections of a capture.

use std::collections::HashMap;
use std::io::Read;
use std::net::SocketAddr;

use crate::file::Reader;
use crate::link::Link;
use crate::packet::{segment, Segment};
use crate::CaptureError;

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// From the client to the server.
    Request,
    /// From the server to the client.
    Reply,
}

/// Connections that are followed; packets of more are skipped, so that memory stays bounded.
const FLOWS: usize = 1 << 18;

/// The packets of a capture that go to or come from one port.
#[derive(Default)]
pub struct Table {
    index: HashMap<(SocketAddr, SocketAddr), u32>,
    /// Client and server of each connection.
    pub addresses: Vec<(SocketAddr, SocketAddr)>,
}

impl Table {
    /// The number of the connection between `client` and `server`; `None` when there are too many.
    pub fn number(&mut self, client: SocketAddr, server: SocketAddr) -> Option<u32> {
        if let Some(&number) = self.index.get(&(client, server)) {
            return Some(number);
        }
        self.renew(client, server)
    }

    /// A number for a new connection between two that had one before.
    pub fn renew(&mut self, client: SocketAddr, server: SocketAddr) -> Option<u32> {
        if self.addresses.len() == FLOWS {
            return None;
        }
        let number = self.addresses.len() as u32;
        self.index.insert((client, server), number);
        self.addresses.push((client, server));
        Some(number)
    }
}

/// What each file says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Packets in the file.
    pub packets: u64,
    /// Those that are no TCP segment of the port, or could not be taken apart.
    pub skipped: u64,
    /// Whether the file ended in mid-packet.
    pub cut: bool,
}

/// Shows every segment that goes to or comes from `port`, with its stamp, its client and its server.
pub fn each_segment<R: Read>(
    input: R,
    port: u16,
    mut see: impl FnMut(u64, Side, SocketAddr, SocketAddr, &Segment<'_>),
) -> Result<Seen, CaptureError> {
    let mut reader = Reader::new(input)?;
    let link = Link::new(reader.link())?;
    let mut seen = Seen::default();
    while let Some(record) = reader.packet()? {
        seen.packets += 1;
        let found = link.ip_at(record.bytes).and_then(|at| {
            let original = (record.original as usize).saturating_sub(at);
            segment(record.bytes.get(at..)?, original)
        });
        match found {
            Some(one) if one.to.port() == port => see(record.at_ns, Side::Request, one.from, one.to, &one),
            Some(one) if one.from.port() == port => see(record.at_ns, Side::Reply, one.to, one.from, &one),
            _ => seen.skipped += 1,
        }
    }
    seen.cut = reader.is_cut();
    Ok(seen)
}
