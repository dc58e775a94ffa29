//! Builds captures byte for byte.

/// A pcap file under construction; its stamps are one microsecond apart, in nanoseconds.
pub struct CaptureBuilder {
    file: Vec<u8>,
    link: u32,
    at_ns: u64,
    /// Most captured bytes of a packet.
    pub snaplen: usize,
}

pub const SERVER: u16 = 11211;

/// Direction of a packet.
#[derive(Clone, Copy)]
pub enum Direction {
    Request,
    Reply,
}

impl CaptureBuilder {
    pub fn new(link: u32) -> Self {
        let mut file = Vec::new();
        for n in [0xa1b2_3c4d, 0x0004_0002, 0, 0, 262_144, link] {
            file.extend(u32::to_le_bytes(n));
        }
        Self { file, link, at_ns: 1_000_000_000, snaplen: 262_144 }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.file
    }

    /// Append a packet; return its stamp.
    pub fn packet(&mut self, ip: &[u8]) -> u64 {
        self.at_ns += 1000;
        let v6 = ip[0] >> 4 == 6;
        let kind: [u8; 2] = if v6 { [0x86, 0xdd] } else { [0x08, 0x00] };
        let mut frame = match self.link {
            1 => [&[0; 12][..], &kind].concat(),
            // One VLAN tag. The tests request it by this number; the file declares Ethernet.
            0x0101 => [&[0; 12][..], &[0x81, 0, 0, 7], &kind].concat(),
            113 => [&[0; 14][..], &kind].concat(),
            276 => [&kind[..], &[0; 18]].concat(),
            0 | 108 => vec![2, 0, 0, 0],
            _ => Vec::new(),
        };
        frame.extend(ip);
        let kept = frame.len().min(self.snaplen);
        for n in [
            (self.at_ns / 1_000_000_000) as u32,
            (self.at_ns % 1_000_000_000) as u32,
            kept as u32,
            frame.len() as u32,
        ] {
            self.file.extend(n.to_le_bytes());
        }
        self.file.extend(&frame[..kept]);
        self.at_ns
    }

    /// Append a TCP segment of the connection from `client` to the server; return its stamp.
    pub fn segment(
        &mut self,
        client: u16,
        direction: Direction,
        seq: u32,
        ack: u32,
        flags: u8,
        payload: &[u8],
    ) -> u64 {
        self.packet(&ipv4(&tcp(client, direction, seq, ack, flags, payload), direction))
    }

    /// Append the handshake of a connection; the next sequence numbers are 101 and 501.
    pub fn handshake(&mut self, client: u16) {
        self.segment(client, Direction::Request, 100, 0, 2, b"");
        self.segment(client, Direction::Reply, 500, 101, 0x12, b"");
    }
}

/// Return a TCP segment with twelve bytes of options.
pub fn tcp(client: u16, direction: Direction, seq: u32, ack: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
    let (from, to) = match direction {
        Direction::Request => (client, SERVER),
        Direction::Reply => (SERVER, client),
    };
    let mut bytes = Vec::new();
    bytes.extend(from.to_be_bytes());
    bytes.extend(to.to_be_bytes());
    bytes.extend(seq.to_be_bytes());
    bytes.extend(ack.to_be_bytes());
    bytes.extend([8 << 4, flags, 0, 0, 0, 0, 0, 0]);
    bytes.extend([1; 12]);
    bytes.extend(payload);
    bytes
}

pub fn ipv4(tcp: &[u8], direction: Direction) -> Vec<u8> {
    let ends: [u8; 8] = match direction {
        Direction::Request => [10, 0, 0, 1, 10, 0, 0, 2],
        Direction::Reply => [10, 0, 0, 2, 10, 0, 0, 1],
    };
    let mut bytes = vec![0x45, 0];
    bytes.extend((20 + tcp.len() as u16).to_be_bytes());
    bytes.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
    bytes.extend(ends);
    bytes.extend(tcp);
    bytes
}

/// Return an IPv6 packet with a hop-by-hop header before the segment.
pub fn ipv6(tcp: &[u8], direction: Direction) -> Vec<u8> {
    let mut bytes = vec![0x60, 0, 0, 0];
    bytes.extend((8 + tcp.len() as u16).to_be_bytes());
    bytes.extend([0, 64]);
    let (a, b) = ([1; 16], [2; 16]);
    bytes.extend(if matches!(direction, Direction::Request) { [a, b].concat() } else { [b, a].concat() });
    bytes.extend([6, 0, 0, 0, 0, 0, 0, 0]);
    bytes.extend(tcp);
    bytes
}
