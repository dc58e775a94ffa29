use hindmost_capture::{exchanges, CaptureError, Protocol};

use crate::made::{ipv4, ipv6, tcp, Made, Way, SERVER};

const ACK: u8 = 0x10;

#[test]
fn every_link_type_and_both_addresses_families_are_taken_apart() {
    for link in [0u32, 1, 0x0101, 12, 101, 108, 113, 228, 229, 276] {
        for wrap in [ipv4, ipv6] {
            let mut file = Made::new(link);
            for (way, seq, ack, flags, payload) in [
                (Way::Asks, 100, 0, 2, &b""[..]),
                (Way::Answers, 500, 101, 0x12, b""),
                (Way::Asks, 101, 501, ACK, b"get a\r\n"),
                (Way::Answers, 501, 108, ACK, b"END\r\n"),
            ] {
                file.packet(&wrap(&tcp(4000, way, seq, ack, flags, payload), way));
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
fn what_is_not_ours_is_skipped_and_counted() {
    let mut file = Made::new(1);
    file.packet(&[0x45; 10]);
    let mut udp = ipv4(&tcp(4000, Way::Asks, 1, 1, ACK, b"x"), Way::Asks);
    udp[9] = 17;
    file.packet(&udp);
    let mut fragment = ipv4(&tcp(4000, Way::Asks, 1, 1, ACK, b"x"), Way::Asks);
    fragment[6] = 0x20;
    file.packet(&fragment);
    let mut other_port = tcp(4000, Way::Asks, 1, 1, ACK, b"x");
    other_port[2..4].copy_from_slice(&80u16.to_be_bytes());
    file.packet(&ipv4(&other_port, Way::Asks));
    let found = exchanges(file.bytes(), SERVER, Protocol::Memcached).unwrap();
    assert_eq!((found.counts.packets, found.counts.skipped, found.flows.len()), (4, 4, 0));
}

#[test]
fn an_unknown_link_type_is_named() {
    let error = exchanges(Made::new(147).bytes(), SERVER, Protocol::Http).unwrap_err();
    assert!(matches!(error, CaptureError::LinkType(147)), "{error}");
}
