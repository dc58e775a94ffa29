use hindmost_capture::{Side, Stamps};

use crate::builder::{CaptureBuilder, Direction, SERVER};

const ACK: u8 = 0x10;

/// Return the stamps of a SYN in one capture and of bytes in another, which began later.
fn stamps(isn: u32, segments: &[(u32, &[u8])]) -> (Stamps, Vec<u64>) {
    let mut opening = CaptureBuilder::new(1);
    opening.segment(4000, Direction::Request, isn, 0, 2, b"");
    let mut rest = CaptureBuilder::new(1);
    let at = segments
        .iter()
        .map(|(position, bytes)| {
            rest.segment(4000, Direction::Request, isn.wrapping_add(1).wrapping_add(*position), 0, ACK, bytes)
        })
        .collect();
    let mut stamps = Stamps::default();
    stamps.read(opening.bytes(), SERVER).unwrap();
    stamps.read(rest.bytes(), SERVER).unwrap();
    (stamps, at)
}

#[test]
fn a_byte_has_the_stamp_of_the_packet_that_carried_it_first() {
    let (stamps, at) = stamps(100, &[(50, b"abc"), (53, b"de"), (53, b"de"), (50, b"abcdefg"), (60, b"z")]);
    let found = |end| stamps.time_of(4000, Side::Request, end);
    assert_eq!([51, 53, 54, 55].map(found), [at[0], at[0], at[1], at[1]].map(Some));
    assert_eq!([56, 57, 61].map(found), [at[3], at[3], at[4]].map(Some));
    // Before the capture, in a hole, beyond the end, before the first byte.
    assert_eq!([50, 58, 62, 0].map(found), [None; 4]);
    assert_eq!(stamps.time_of(4000, Side::Reply, 53), None);
    assert_eq!(stamps.time_of(4001, Side::Request, 53), None);
}

#[test]
fn positions_beyond_four_gigabytes_are_found() {
    let far = u64::from(u32::MAX) + 10;
    let (stamps, at) = stamps(u32::MAX - 5, &[(far as u32, b"abc"), (far as u32 + 3, b"d")]);
    assert_eq!(stamps.time_of(4000, Side::Request, far + 3), Some(at[0]));
    assert_eq!(stamps.time_of(4000, Side::Request, far + 4), Some(at[1]));
}

#[test]
fn sequence_numbers_may_wrap_within_a_capture() {
    let near = u32::MAX - 1;
    let (stamps, at) = stamps(7, &[(near, b"abc"), (1, b"d")]);
    assert_eq!(stamps.time_of(4000, Side::Request, u64::from(near) + 3), Some(at[0]));
    assert_eq!(stamps.time_of(4000, Side::Request, u64::from(near) + 4), Some(at[1]));
}

#[test]
fn without_a_first_packet_positions_are_unknown() {
    let mut file = CaptureBuilder::new(1);
    file.segment(4000, Direction::Request, 100, 0, ACK, b"abc");
    let mut stamps = Stamps::default();
    stamps.read(file.bytes(), SERVER).unwrap();
    assert_eq!(stamps.time_of(4000, Side::Request, 3), None);
}
