use hindmost_capture::{exchanges, Exchange, Exchanges, Outcome, Protocol};

use crate::made::{Made, Way, SERVER};

const ACK: u8 = 0x10;

fn found(file: &Made) -> Exchanges {
    exchanges(file.bytes(), SERVER, Protocol::Memcached).unwrap()
}

#[test]
fn a_split_reply_counts_from_the_last_byte_of_the_request_to_its_own() {
    let mut file = Made::new(1);
    file.handshake(4000);
    file.segment(4000, Way::Asks, 101, 501, ACK, b"get ");
    let out_ns = file.segment(4000, Way::Asks, 105, 501, ACK, b"key\r\n");
    file.segment(4000, Way::Answers, 501, 110, ACK, b"VALUE key 0 5\r\nhe");
    let in_ns = file.segment(4000, Way::Answers, 518, 110, ACK, b"llo\r\nEND\r\n");
    let exchange =
        Exchange { flow: 0, out_ns, in_ns, request_bytes: 9, reply_bytes: 27, outcome: Outcome::Hit };
    assert_eq!(found(&file).all, [exchange]);
}

#[test]
fn pipelined_requests_get_their_own_replies_on_each_connection() {
    let mut file = Made::new(1);
    for client in [4000, 4001] {
        file.handshake(client);
    }
    let first = file.segment(4000, Way::Asks, 101, 501, ACK, b"get a\r\nget b\r\n");
    let other = file.segment(4001, Way::Asks, 101, 501, ACK, b"set a 0 0 1\r\nx\r\n");
    let third = file.segment(4000, Way::Asks, 115, 501, ACK, b"get c\r\n");
    let one = file.segment(4000, Way::Answers, 501, 122, ACK, b"END\r\n");
    let two = file.segment(4000, Way::Answers, 506, 122, ACK, b"END\r\nEND\r\n");
    let stored = file.segment(4001, Way::Answers, 501, 117, ACK, b"STORED\r\n");
    let pairs: Vec<_> = found(&file).all.iter().map(|e| (e.flow, e.out_ns, e.in_ns)).collect();
    assert_eq!(pairs, [(0, first, one), (0, first, two), (1, other, stored), (0, third, two)]);
}

#[test]
fn a_retransmission_does_not_move_a_stamp() {
    let mut file = Made::new(1);
    file.handshake(4000);
    let out_ns = file.segment(4000, Way::Asks, 101, 501, ACK, b"get a\r\n");
    file.segment(4000, Way::Asks, 101, 501, ACK, b"get a\r\n");
    let in_ns = file.segment(4000, Way::Answers, 501, 108, ACK, b"END\r\n");
    file.segment(4000, Way::Answers, 501, 108, ACK, b"END\r\n");
    let found = found(&file);
    assert_eq!((found.all.len(), found.all[0].out_ns, found.all[0].in_ns), (1, out_ns, in_ns));
    assert_eq!(found.counts.repeated, 2);
}

#[test]
fn long_values_may_be_cut_off_by_the_snap_length() {
    let mut file = Made::new(1);
    file.snaplen = 100;
    file.handshake(4000);
    file.segment(4000, Way::Asks, 101, 501, ACK, b"get a\r\n");
    let reply = [&b"VALUE a 0 1000\r\n"[..], &[b'x'; 1000], b"\r\nEND\r\n"].concat();
    let in_ns = file.segment(4000, Way::Answers, 501, 108, ACK, &reply);
    let found = found(&file);
    assert_eq!((found.all[0].in_ns, found.all[0].reply_bytes), (in_ns, reply.len() as u64));
}

#[test]
fn a_connection_met_midway_is_taken_up_where_all_is_answered() {
    let mut file = Made::new(1);
    // The rest of a value, then a reply to it; then a request that starts a packet.
    file.segment(4000, Way::Asks, 7000, 9000, ACK, b"xxx\r\n");
    file.segment(4000, Way::Answers, 9000, 7005, ACK, b"STORED\r\n");
    let out_ns = file.segment(4000, Way::Asks, 7005, 9008, ACK, b"get a\r\n");
    let in_ns = file.segment(4000, Way::Answers, 9008, 7012, ACK, b"END\r\n");
    let found = found(&file);
    assert_eq!(found.all.iter().map(|e| (e.out_ns, e.in_ns)).collect::<Vec<_>>(), [(out_ns, in_ns)]);
    assert!(!found.flows[0].whole);
}

#[test]
fn a_reply_to_a_request_before_the_capture_is_given_to_no_other() {
    let mut file = Made::new(1);
    // Two more requests are under way when the capture begins; the server has this one when it answers the
    // first of them, so only the reply too many gives it away.
    file.segment(4000, Way::Asks, 7000, 9000, ACK, b"get a\r\n");
    file.segment(4000, Way::Answers, 9000, 7007, ACK, b"END\r\n");
    file.segment(4000, Way::Answers, 9005, 7007, ACK, b"END\r\n");
    let found = found(&file);
    assert!(found.all.is_empty(), "{:?}", found.all);
    assert_eq!((found.counts.taken_back, found.counts.lost), (1, 1));
}

#[test]
fn behind_a_missing_packet_nothing_is_matched_until_all_is_answered() {
    let mut file = Made::new(1);
    file.handshake(4000);
    file.segment(4000, Way::Asks, 101, 501, ACK, b"get a\r\n");
    file.segment(4000, Way::Answers, 501, 108, ACK, b"END\r\n");
    // The request at 108 and its reply at 506 were not captured. Afterwards 100 good ones.
    let (mut seq, mut ack) = (115, 511);
    for _ in 0..100 {
        file.segment(4000, Way::Asks, seq, ack, ACK, b"get b\r\n");
        seq += 7;
        file.segment(4000, Way::Answers, ack, seq, ACK, b"END\r\n");
        ack += 5;
    }
    let found = found(&file);
    assert_eq!((found.counts.holes, found.counts.lost), (2, 1));
    // Those seen while the hole might still have been filled come late, but with their own stamps.
    assert!(found.all.len() > 30, "{}", found.all.len());
    assert!(found.all.iter().all(|e| e.in_ns == e.out_ns + 1000), "{:?}", found.counts);
}

#[test]
fn the_same_port_again_is_another_connection() {
    let mut file = Made::new(1);
    for isn in [100, 90_000] {
        file.segment(4000, Way::Asks, isn, 0, 2, b"");
        file.segment(4000, Way::Answers, isn + 400, isn + 1, 0x12, b"");
        file.segment(4000, Way::Asks, isn + 1, isn + 401, ACK, b"get a\r\n");
        file.segment(4000, Way::Answers, isn + 401, isn + 8, ACK, b"END\r\n");
    }
    let found = found(&file);
    assert_eq!(found.all.iter().map(|e| e.flow).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(found.counts.lost, 0);
}

#[test]
fn what_never_was_answered_is_counted() {
    let mut file = Made::new(1);
    file.handshake(4000);
    file.segment(4000, Way::Asks, 101, 501, ACK, b"get a\r\nset b 0 0 1 noreply\r\nx\r\nget b\r\n");
    let counts = found(&file).counts;
    assert_eq!((counts.unanswered, counts.silent, counts.lost), (2, 1, 0));
}
