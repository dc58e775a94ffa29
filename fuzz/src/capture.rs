//! Packet captures: no file makes the reader panic, and its result does not depend on how a conversation was split
//! into packets, or on duplicate packets.
//!
//! An input that starts like a pcap file is one. Any other is `PROTOCOL REQUESTS 0xFF REPLIES`, from which captures
//! are built.

use hindmost_capture::{exchanges, Exchange, Outcome, Protocol, Side, Stamps};

use super::pieces;

const PROTOCOLS: [Protocol; 3] = [Protocol::Memcached, Protocol::Redis, Protocol::Http];
const MAGICS: [[u8; 4]; 4] =
    [[0xa1, 0xb2, 0xc3, 0xd4], [0xd4, 0xc3, 0xb2, 0xa1], [0xa1, 0xb2, 0x3c, 0x4d], [0x4d, 0x3c, 0xb2, 0xa1]];
const SERVER: u16 = 11211;
const CLIENT: u16 = 4000;

/// Check any bytes as a capture and as a conversation.
pub fn any_file(bytes: &[u8]) {
    if MAGICS.iter().any(|magic| bytes.starts_with(magic)) {
        return any_pcap(bytes);
    }
    let Some((&protocol, said)) = bytes.split_first() else { return };
    let protocol = PROTOCOLS[usize::from(protocol) % PROTOCOLS.len()];
    let middle = said.iter().position(|&byte| byte == 0xff).unwrap_or(said.len());
    let (requests, replies) = (&said[..middle], said.get(middle + 1..).unwrap_or_default());
    let whole = match_packets(protocol, &[requests], &[replies], 1);
    if whole.lost > 0 {
        // The start of the next message is then guessed from the start of a packet.
        return;
    }
    for (asks, answers) in pieces::ways(requests).iter().zip(pieces::ways(replies)) {
        for times in [1, 2] {
            let cut = match_packets(protocol, asks, &answers, times);
            assert_eq!(cut, whole, "{asks:?} {answers:?} {times}");
        }
    }
}

fn any_pcap(bytes: &[u8]) {
    for protocol in PROTOCOLS {
        if let Ok(found) = exchanges(bytes, SERVER, protocol) {
            assert!(found.all.iter().all(|one| one.request_bytes > 0 && one.reply_bytes > 0));
            let exchanges: u64 = found.flows.iter().map(|flow| flow.exchanges).sum();
            assert_eq!(exchanges, found.all.len() as u64);
            assert!(found.counts.skipped <= found.counts.packets);
        }
    }
    let mut stamps = Stamps::default();
    let _ = stamps.read(bytes, SERVER);
    for end in [0, 1, 1 << 31, u64::MAX] {
        stamps.time_of(CLIENT, Side::Request, end);
    }
}

/// The result of a capture that must not depend on its packets.
#[derive(Debug, PartialEq)]
struct CaptureResult {
    /// Length of the request and of the reply, and the outcome.
    exchanges: Vec<(u64, u64, Outcome)>,
    lost: u64,
}

/// Return the exchanges of a conversation in these packets, each repeated this many times.
fn match_packets(protocol: Protocol, asks: &[&[u8]], answers: &[&[u8]], times: usize) -> CaptureResult {
    let mut file = Pcap::new();
    file.segment(Side::Request, 0, 0, SYN, b"", 1);
    file.segment(Side::Reply, 0, 1, SYN, b"", 1);
    let mut asked = 1;
    for piece in asks {
        file.segment(Side::Request, asked, 1, 0, piece, times);
        asked += piece.len() as u32;
    }
    let mut answered = 1;
    for piece in answers {
        file.segment(Side::Reply, answered, asked, 0, piece, times);
        answered += piece.len() as u32;
    }
    let found = exchanges(&file.bytes[..], SERVER, protocol).expect("a capture made here is whole");
    let told = |one: &Exchange| (one.request_bytes, one.reply_bytes, one.outcome);
    CaptureResult { exchanges: found.all.iter().map(told).collect(), lost: found.counts.lost }
}

const SYN: u8 = 2;

/// A file of raw IP packets under construction.
struct Pcap {
    bytes: Vec<u8>,
    at: u32,
}

impl Pcap {
    fn new() -> Self {
        let header = [0xa1b2_3c4d, 0x0004_0002, 0, 0, 262_144, 101_u32];
        Self { bytes: header.iter().flat_map(|word| word.to_le_bytes()).collect(), at: 0 }
    }

    fn segment(&mut self, side: Side, seq: u32, ack: u32, flags: u8, payload: &[u8], times: usize) {
        if flags == 0 && payload.is_empty() {
            return;
        }
        let ports = if side == Side::Request { [CLIENT, SERVER] } else { [SERVER, CLIENT] };
        let hosts: [u8; 8] =
            if side == Side::Request { [10, 0, 0, 1, 10, 0, 0, 2] } else { [10, 0, 0, 2, 10, 0, 0, 1] };
        let length = 40 + payload.len();
        let mut packet = vec![0x45, 0];
        packet.extend((length as u16).to_be_bytes());
        packet.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
        packet.extend(hosts);
        packet.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
        packet.extend(seq.to_be_bytes());
        packet.extend(ack.to_be_bytes());
        packet.extend([5 << 4, flags | 0x10, 0, 0, 0, 0, 0, 0]);
        packet.extend(payload);
        for _ in 0..times {
            self.at += 1;
            for word in [1, self.at, length as u32, length as u32] {
                self.bytes.extend(word.to_le_bytes());
            }
            self.bytes.extend(&packet);
        }
    }
}
