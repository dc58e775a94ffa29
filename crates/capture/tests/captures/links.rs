use hindmost_capture::{exchanges, CaptureError, Protocol};

use crate::builder::{ipv4, ipv6, tcp, CaptureBuilder, Direction, SERVER};

const ACK: u8 = 0x10;

#[test]
fn every_link_type_and_both_address_families_are_parsed() {
    for link in [0u32, 1, 0x0101, 12, 101, 108, 113, 228, 229, 276] {
        for wrap in [ipv4, ipv6] {
            let mut file = CaptureBuilder::new(link);
            for (direction, seq, ack, flags, payload) in [
                (Direction::Request, 100, 0, 2, &b""[..]),
                (Direction::Reply, 500, 101, 0x12, b""),
                (Direction::Request, 101, 501, ACK, b"get a\r\n"),
                (Direction::Reply, 501, 108, ACK, b"END\r\n"),
            ] {
                file.packet(&wrap(&tcp(4000, direction, seq, ack, flags, payload), direction));
            }
            let mut bytes = file.bytes().to_vec();
            bytes[20] = link as u8;
            bytes[21] = u8::from(link == 276);
            let found = exchanges(&bytes[..], SERVER, Protocol::Memcached).unwrap();
            assert_eq!(found.all.len(), 1, "{link}: {:?}", found.counts);
            assert_eq!((found.all[0].out_ns, found.all[0].in_ns), (1_000_003_000, 1_000_004_000));
            assert!(found.flows[0].whole);
        }
    }
}

#[test]
fn packets_of_other_traffic_are_skipped_and_counted() {
    let mut file = CaptureBuilder::new(1);
    file.packet(&[0x45; 10]);
    let mut udp = ipv4(&tcp(4000, Direction::Request, 1, 1, ACK, b"x"), Direction::Request);
    udp[9] = 17;
    file.packet(&udp);
    let mut fragment = ipv4(&tcp(4000, Direction::Request, 1, 1, ACK, b"x"), Direction::Request);
    fragment[6] = 0x20;
    file.packet(&fragment);
    let mut other_port = tcp(4000, Direction::Request, 1, 1, ACK, b"x");
    other_port[2..4].copy_from_slice(&80u16.to_be_bytes());
    file.packet(&ipv4(&other_port, Direction::Request));
    let found = exchanges(file.bytes(), SERVER, Protocol::Memcached).unwrap();
    assert_eq!((found.counts.packets, found.counts.skipped, found.flows.len()), (4, 4, 0));
}

#[test]
fn an_unknown_link_type_is_named() {
    let error = exchanges(CaptureBuilder::new(147).bytes(), SERVER, Protocol::Http).unwrap_err();
    assert!(matches!(error, CaptureError::LinkType(147)), "{error}");
}
