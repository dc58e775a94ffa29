use hindmost_capture::{exchanges, Exchange, Exchanges, Outcome, Protocol};

use crate::builder::{CaptureBuilder, Direction, SERVER};

const ACK: u8 = 0x10;

fn read(file: &CaptureBuilder) -> Exchanges {
    exchanges(file.bytes(), SERVER, Protocol::Memcached).unwrap()
}

#[test]
fn a_split_reply_is_timed_from_last_byte_to_last_byte() {
    let mut file = CaptureBuilder::new(1);
    file.handshake(4000);
    file.segment(4000, Direction::Request, 101, 501, ACK, b"get ");
    let out_ns = file.segment(4000, Direction::Request, 105, 501, ACK, b"key\r\n");
    file.segment(4000, Direction::Reply, 501, 110, ACK, b"VALUE key 0 5\r\nhe");
    let in_ns = file.segment(4000, Direction::Reply, 518, 110, ACK, b"llo\r\nEND\r\n");
    let exchange =
        Exchange { flow: 0, out_ns, in_ns, request_bytes: 9, reply_bytes: 27, outcome: Outcome::Hit };
    assert_eq!(read(&file).all, [exchange]);
}

#[test]
fn pipelined_requests_get_their_own_replies_on_each_connection() {
    let mut file = CaptureBuilder::new(1);
    for client in [4000, 4001] {
        file.handshake(client);
    }
    let first = file.segment(4000, Direction::Request, 101, 501, ACK, b"get a\r\nget b\r\n");
    let other = file.segment(4001, Direction::Request, 101, 501, ACK, b"set a 0 0 1\r\nx\r\n");
    let third = file.segment(4000, Direction::Request, 115, 501, ACK, b"get c\r\n");
    let one = file.segment(4000, Direction::Reply, 501, 122, ACK, b"END\r\n");
    let two = file.segment(4000, Direction::Reply, 506, 122, ACK, b"END\r\nEND\r\n");
    let stored = file.segment(4001, Direction::Reply, 501, 117, ACK, b"STORED\r\n");
    let pairs: Vec<_> = read(&file).all.iter().map(|e| (e.flow, e.out_ns, e.in_ns)).collect();
    assert_eq!(pairs, [(0, first, one), (0, first, two), (1, other, stored), (0, third, two)]);
}

#[test]
fn a_retransmission_does_not_move_a_stamp() {
    let mut file = CaptureBuilder::new(1);
    file.handshake(4000);
    let out_ns = file.segment(4000, Direction::Request, 101, 501, ACK, b"get a\r\n");
    file.segment(4000, Direction::Request, 101, 501, ACK, b"get a\r\n");
    let in_ns = file.segment(4000, Direction::Reply, 501, 108, ACK, b"END\r\n");
    file.segment(4000, Direction::Reply, 501, 108, ACK, b"END\r\n");
    let read = read(&file);
    assert_eq!((read.all.len(), read.all[0].out_ns, read.all[0].in_ns), (1, out_ns, in_ns));
    assert_eq!(read.counts.repeated, 2);
}

#[test]
fn long_values_may_be_cut_off_by_the_snap_length() {
    let mut file = CaptureBuilder::new(1);
    file.snaplen = 100;
    file.handshake(4000);
    file.segment(4000, Direction::Request, 101, 501, ACK, b"get a\r\n");
    let reply = [&b"VALUE a 0 1000\r\n"[..], &[b'x'; 1000], b"\r\nEND\r\n"].concat();
    let in_ns = file.segment(4000, Direction::Reply, 501, 108, ACK, &reply);
    let read = read(&file);
    assert_eq!((read.all[0].in_ns, read.all[0].reply_bytes), (in_ns, reply.len() as u64));
}

#[test]
fn a_connection_captured_from_the_middle_resumes_where_all_is_answered() {
    let mut file = CaptureBuilder::new(1);
    // The end of a value, then the reply to it; then a request that starts a packet.
    file.segment(4000, Direction::Request, 7000, 9000, ACK, b"xxx\r\n");
    file.segment(4000, Direction::Reply, 9000, 7005, ACK, b"STORED\r\n");
    let out_ns = file.segment(4000, Direction::Request, 7005, 9008, ACK, b"get a\r\n");
    let in_ns = file.segment(4000, Direction::Reply, 9008, 7012, ACK, b"END\r\n");
    let read = read(&file);
    assert_eq!(read.all.iter().map(|e| (e.out_ns, e.in_ns)).collect::<Vec<_>>(), [(out_ns, in_ns)]);
    assert!(!read.flows[0].whole);
}

#[test]
fn a_reply_to_an_uncaptured_request_matches_no_other() {
    let mut file = CaptureBuilder::new(1);
    // Two more requests are in flight when the capture begins. The server has received this one when it answers
    // the first of them, so only the surplus reply reveals the mismatch.
    file.segment(4000, Direction::Request, 7000, 9000, ACK, b"get a\r\n");
    file.segment(4000, Direction::Reply, 9000, 7007, ACK, b"END\r\n");
    file.segment(4000, Direction::Reply, 9005, 7007, ACK, b"END\r\n");
    let read = read(&file);
    assert!(read.all.is_empty(), "{:?}", read.all);
    assert_eq!((read.counts.taken_back, read.counts.lost), (1, 1));
}

#[test]
fn after_a_missing_packet_nothing_is_matched_until_all_is_answered() {
    let mut file = CaptureBuilder::new(1);
    file.handshake(4000);
    file.segment(4000, Direction::Request, 101, 501, ACK, b"get a\r\n");
    file.segment(4000, Direction::Reply, 501, 108, ACK, b"END\r\n");
    // The request at 108 and its reply at 506 were not captured. 100 complete exchanges follow.
    let (mut seq, mut ack) = (115, 511);
    for _ in 0..100 {
        file.segment(4000, Direction::Request, seq, ack, ACK, b"get b\r\n");
        seq += 7;
        file.segment(4000, Direction::Reply, ack, seq, ACK, b"END\r\n");
        ack += 5;
    }
    let read = read(&file);
    assert_eq!((read.counts.holes, read.counts.lost), (2, 1));
    // Requests that were captured while the hole might still have been filled are matched late, with their own
    // stamps.
    assert!(read.all.len() > 30, "{}", read.all.len());
    assert!(read.all.iter().all(|e| e.in_ns == e.out_ns + 1000), "{:?}", read.counts);
}

#[test]
fn a_reused_port_is_another_connection() {
    let mut file = CaptureBuilder::new(1);
    for isn in [100, 90_000] {
        file.segment(4000, Direction::Request, isn, 0, 2, b"");
        file.segment(4000, Direction::Reply, isn + 400, isn + 1, 0x12, b"");
        file.segment(4000, Direction::Request, isn + 1, isn + 401, ACK, b"get a\r\n");
        file.segment(4000, Direction::Reply, isn + 401, isn + 8, ACK, b"END\r\n");
    }
    let read = read(&file);
    assert_eq!(read.all.iter().map(|e| e.flow).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(read.counts.lost, 0);
}

#[test]
fn unanswered_requests_are_counted() {
    let mut file = CaptureBuilder::new(1);
    file.handshake(4000);
    file.segment(4000, Direction::Request, 101, 501, ACK, b"get a\r\nset b 0 0 1 noreply\r\nx\r\nget b\r\n");
    let counts = read(&file).counts;
    assert_eq!((counts.unanswered, counts.silent, counts.lost), (2, 1, 0));
}
