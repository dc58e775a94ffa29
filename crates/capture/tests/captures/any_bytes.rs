use hindmost_capture::{exchanges, Protocol, Side, Stamps};
use proptest::prelude::*;

use crate::builder::{CaptureBuilder, Direction, SERVER};

fn parse_without_panic(bytes: &[u8]) {
    for protocol in [Protocol::Memcached, Protocol::Redis, Protocol::Http] {
        if let Ok(found) = exchanges(bytes, SERVER, protocol) {
            assert!(found.all.iter().all(|one| one.request_bytes > 0 && one.reply_bytes > 0));
        }
    }
    let mut stamps = Stamps::default();
    let _ = stamps.read(bytes, SERVER);
    for end in [0, 1, 1 << 31, u64::MAX] {
        stamps.time_of(4000, Side::Request, end);
    }
}

/// Generate a packet of one of two connections, with payloads that are likely to confuse the parser.
fn packet() -> impl Strategy<Value = (u16, bool, u32, u32, u8, Vec<u8>)> {
    let words: Vec<&[u8]> = vec![
        b"get a\r\n",
        b"set a 0 0 3\r\nabc\r\n",
        b"set a 0 0 999999999999999999\r\n",
        b"VALUE a 0 3\r\nabc\r\nEND\r\n",
        b"END\r\n",
        b"STORED\r\n",
        b"*2\r\n$3\r\nGET\r\n$1\r\na\r\n",
        b"*999999999999999999\r\n",
        b"$1\r\nv\r\n",
        b"%999999999999999999\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"\r\n",
    ];
    let payload = prop_oneof![
        prop::sample::select(words).prop_map(<[u8]>::to_vec),
        prop::collection::vec(any::<u8>(), 0..40),
    ];
    let near = prop_oneof![0u32..100, Just(u32::MAX), any::<u32>()];
    (4000u16..4002, any::<bool>(), near.clone(), near, prop::sample::select(vec![0x10, 2, 0x12, 1]), payload)
}

proptest! {
    #[test]
    fn no_packets_make_the_parser_panic(packets in prop::collection::vec(packet(), 0..60), snaplen in 20usize..200) {
        let mut file = CaptureBuilder::new(1);
        file.snaplen = snaplen;
        for (client, asks, seq, ack, flags, payload) in packets {
            let direction = if asks { Direction::Request } else { Direction::Reply };
            file.segment(client, direction, seq, ack, flags, &payload);
        }
        parse_without_panic(file.bytes());
    }

    #[test]
    fn no_damage_to_a_valid_capture_makes_the_parser_panic(
        damage in prop::collection::vec((0usize..2000, any::<u8>()), 0..20),
        length in 0usize..2000,
        link in prop::sample::select(vec![0u32, 1, 101, 113, 276]),
    ) {
        let mut file = CaptureBuilder::new(link);
        file.handshake(4000);
        for i in 0..8 {
            file.segment(4000, Direction::Request, 101 + 7 * i, 501 + 5 * i, 0x10, b"get a\r\n");
            file.segment(4000, Direction::Reply, 501 + 5 * i, 108 + 7 * i, 0x10, b"END\r\n");
        }
        let mut bytes = file.bytes().to_vec();
        for (at, value) in damage {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = value;
            }
        }
        bytes.truncate(length.max(24));
        parse_without_panic(&bytes);
    }

    #[test]
    fn no_bytes_make_the_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), magic in any::<bool>()) {
        let mut bytes = bytes;
        if magic && bytes.len() > 24 {
            bytes[..24].copy_from_slice(&CaptureBuilder::new(1).bytes()[..24]);
        }
        parse_without_panic(&bytes);
    }
}
