//! Header fields (HPACK, RFC 7541), as far as a load generator needs them. Only the HTTP status and the gRPC
//! status of a reply are decoded, and its content type is compared; other fields are skipped. The dynamic
//! table has size 0 (`SETTINGS_HEADER_TABLE_SIZE`), so no state is needed. Requests are encoded without a
//! dynamic table and without Huffman coding.

use std::ops::RangeInclusive;

use crate::protocol::http::is_event_stream;

/// Names in the static table that requests use, with their indices (appendix A).
const PLACES: [(&str, u8); 12] = [
    (":authority", 1),
    (":method", 2),
    (":path", 4),
    (":scheme", 6),
    ("accept", 19),
    ("accept-encoding", 16),
    ("authorization", 23),
    ("content-length", 28),
    ("content-type", 31),
    ("cookie", 32),
    ("range", 50),
    ("user-agent", 58),
];
/// The index of the first `:status` entry, and the codes of the consecutive entries.
const STATUS: usize = 8;
const STATUSES: [u16; 7] = [200, 204, 206, 304, 400, 404, 500];
/// Number of entries in the static table. Higher indices refer to the dynamic table, which has size 0.
const STATIC: usize = 61;
/// `:status` in Huffman coding (appendix B).
const STATUS_CODED: &[u8] = &[0xb8, 0x84, 0x8d, 0x36, 0xa3];

/// `grpc-status` in Huffman coding.
const GRPC_STATUS_CODED: &[u8] = &[0x9a, 0xca, 0xc8, 0xb2, 0x12, 0x34, 0xda, 0x8f];

/// The index of `content-type`, and its name in Huffman coding.
const CONTENT_TYPE: usize = 31;
const CONTENT_TYPE_CODED: &[u8] = &[0x21, 0xea, 0x49, 0x6a, 0x4a, 0xc9, 0xf5, 0x59, 0x7f];
/// `text/event-stream` in Huffman coding. The last two bits of the last byte belong to what follows.
const EVENTS_CODED: [u8; 12] = [0x49, 0x7c, 0xa5, 0x82, 0xf7, 0x2d, 0x49, 0x59, 0x09, 0xb0, 0xa3, 0xa4];

/// The status fields of a header block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statuses {
    /// HTTP status; trailers have none.
    pub status: Option<u16>,
    /// Status of a gRPC call, from its trailers.
    pub grpc: Option<u16>,
    /// Whether the content is server-sent events.
    pub events: bool,
}

/// The header block is malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedBlock;

/// Parse the status fields of `block`.
pub fn parse_statuses(mut block: &[u8]) -> Result<Statuses, MalformedBlock> {
    let mut found = Statuses::default();
    while let Some(&first) = block.first() {
        // 6.1: indexed; 6.2.1: literal with indexing; 6.3: table size update; 6.2.2, 6.2.3: literal without
        // indexing.
        let bits = match first {
            0x80.. => 7,
            0x40..=0x7f => 6,
            0x20..=0x3f => 5,
            _ => 4,
        };
        let index = integer(&mut block, bits)?;
        if bits == 5 {
            continue;
        }
        if index > STATIC {
            return Err(MalformedBlock);
        }
        if bits == 7 {
            if index == 0 {
                return Err(MalformedBlock);
            }
            found.status =
                found.status.or(index.checked_sub(STATUS).and_then(|at| STATUSES.get(at).copied()));
            continue;
        }
        let (mut is_status, mut is_grpc) = ((STATUS..STATUS + STATUSES.len()).contains(&index), false);
        let mut is_type = index == CONTENT_TYPE;
        if index == 0 {
            match text(&mut block)? {
                (false, b":status") | (true, STATUS_CODED) => is_status = true,
                (false, b"grpc-status") | (true, GRPC_STATUS_CODED) => is_grpc = true,
                (false, b"content-type") | (true, CONTENT_TYPE_CODED) => is_type = true,
                _ => {}
            }
        }
        let (coded, value) = text(&mut block)?;
        if is_status {
            found.status = Some(digits(coded, value, 3..=3).ok_or(MalformedBlock)?);
        } else if is_grpc {
            found.grpc = Some(digits(coded, value, 1..=3).ok_or(MalformedBlock)?);
        } else if is_type {
            found.events = if coded { has_coded_events(value) } else { is_event_stream(value) };
        }
    }
    Ok(found)
}

/// Whether a coded `content-type` starts with `text/event-stream`.
fn has_coded_events(value: &[u8]) -> bool {
    let [first @ .., last] = EVENTS_CODED;
    value.starts_with(&first) && value.get(first.len()).is_some_and(|byte| byte & 0xfc == last)
}

/// Parse an integer with a prefix of `bits` bits (5.1).
fn integer(block: &mut &[u8], bits: u32) -> Result<usize, MalformedBlock> {
    let (&first, mut rest) = block.split_first().ok_or(MalformedBlock)?;
    let most = (1_usize << bits) - 1;
    let mut value = usize::from(first) & most;
    if value == most {
        for shift in [0, 7, 14, 21] {
            let (&byte, after) = rest.split_first().ok_or(MalformedBlock)?;
            rest = after;
            value += usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                *block = rest;
                return Ok(value);
            }
        }
        return Err(MalformedBlock);
    }
    *block = rest;
    Ok(value)
}

/// Parse a string. Return whether it is Huffman-coded, and its bytes (5.2).
fn text<'a>(block: &mut &'a [u8]) -> Result<(bool, &'a [u8]), MalformedBlock> {
    let coded = block.first().is_some_and(|first| first & 0x80 != 0);
    let length = integer(block, 7)?;
    let (text, rest) = block.split_at_checked(length).ok_or(MalformedBlock)?;
    *block = rest;
    Ok((coded, text))
}

/// Parse a decimal number whose digit count is in `most`.
fn digits(coded: bool, text: &[u8], most: RangeInclusive<usize>) -> Option<u16> {
    if !coded {
        return super::super::number(text)
            .filter(|_| most.contains(&text.len()))
            .and_then(|n| n.try_into().ok());
    }
    if text.len() > 4 {
        return None;
    }
    // 0 to 2 have the five-bit codes 00000 to 00010, 3 to 9 the six-bit codes 011001 to 011111. The last byte
    // is padded with ones.
    let all = text.iter().fold(0_u32, |all, &byte| all << 8 | u32::from(byte));
    let (mut left, mut value, mut count) = (text.len() as u32 * 8, 0_u32, 0);
    while left > 7 || all & ((1 << left) - 1) != (1 << left) - 1 {
        let five = all >> left.checked_sub(5)? & 31;
        let digit = if five <= 2 {
            left -= 5;
            five
        } else {
            left = left.checked_sub(6)?;
            (all >> left & 63).checked_sub(25 - 3).filter(|digit| (3..=9).contains(digit))?
        };
        value = value * 10 + digit; // six digits at most
        count += 1;
    }
    u16::try_from(value).ok().filter(|_| most.contains(&count))
}

/// Append a field name as a literal without indexing. Its value follows ([`write_length`]).
pub fn write_name(name: &str, out: &mut Vec<u8>) {
    let place = PLACES.iter().find(|(other, _)| *other == name).map_or(0, |(_, place)| *place);
    // The upper four bits give the kind of literal; the index is an integer with a four-bit prefix (5.1).
    if place < 15 {
        out.push(place);
    } else {
        out.extend_from_slice(&[15, place - 15]);
    }
    if place == 0 {
        write_length(name.len(), out);
        out.extend_from_slice(name.as_bytes());
    }
}

/// Append the length of the string that follows.
pub fn write_length(length: usize, out: &mut Vec<u8>) {
    if length < 127 {
        return out.push(length as u8);
    }
    out.push(127);
    let mut left = length - 127;
    while left >= 128 {
        out.push(left as u8 & 0x7f | 0x80);
        left >>= 7;
    }
    out.push(left as u8);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_status_is_parsed_in_every_encoding() {
        for (block, expected) in [
            (&b"\x88"[..], Some(200)),
            (b"\x8e", Some(500)),
            // A table size update, a date with indexing, then the status.
            (b"\x20\x61\x03abc\x8d", Some(404)),
            (b"\x08\x03301", Some(301)),
            (b"\x48\x82\x64\x02", Some(302)),     // C.6.1
            (b"\x48\x83\x64\x0e\xff", Some(307)), // C.6.2
            (b"\x00\x07:status\x03418", Some(418)),
            (b"\x10\x85\xb8\x84\x8d\x36\xa3\x03503", Some(503)),
            (b"\x00\x0bgrpc-status\x010", None),
            (b"", None),
        ] {
            assert_eq!(parse_statuses(block).map(|found| found.status), Ok(expected), "{block:?}");
        }
    }

    #[test]
    fn a_grpc_status_is_parsed_in_every_encoding() {
        for (block, expected) in [
            (&b"\x00\x0bgrpc-status\x010"[..], 0),
            (b"\x40\x88\x9a\xca\xc8\xb2\x12\x34\xda\x8f\x01\x35", 5),
            (b"\x10\x88\x9a\xca\xc8\xb2\x12\x34\xda\x8f\x81\x07\x00\x01a\x01b", 0),
            (b"\x00\x0bgrpc-status\x82\x0b\x5f", 14),
            (b"\x88\x00\x0bgrpc-status\x0216\x00\x0cgrpc-message\x01x", 16),
        ] {
            assert_eq!(parse_statuses(block).map(|found| found.grpc), Ok(Some(expected)), "{block:?}");
        }
    }

    #[test]
    fn server_sent_events_are_recognised_in_every_encoding() {
        let coded = [&[0x0f, 0x10, 0x8c][..], &EVENTS_CODED[..11]].concat();
        let with_charset = b"\x0f\x10\x97\x49\x7c\xa5\x82\xf7\x2d\x49\x59\x09\xb0\xa3\xa7\
            \xed\x42\x4e\x3b\x10\x54\xc1\x6a\x65\x59\xef";
        let name = [&[0x00, 0x89][..], CONTENT_TYPE_CODED, b"\x11text/event-stream"].concat();
        for (block, events) in [
            (&b"\x88\x0f\x10\x11text/event-stream"[..], true),
            (b"\x5f\x20Text/event-stream; charset=utf-8", true),
            (b"\x00\x0ccontent-type\x11text/event-stream", true),
            (&name, true),
            (&[&coded[..], &[0xa7]].concat(), true),
            (with_charset, true),
            (&[&coded[..], &[0xab]].concat(), false),
            (b"\x0f\x10\x09text/html", false),
            (b"\x0f\x10\x80", false),
            (b"\x0f\x04\x11text/event-stream", false),
        ] {
            assert_eq!(parse_statuses(block).map(|found| found.events), Ok(events), "{block:?}");
        }
    }

    #[test]
    fn malformed_blocks_are_refused() {
        for block in [
            &b"\x80"[..],
            b"\xbe",
            b"\x7f\xff",
            b"\x08\x03ab",
            b"\x08\x0212",
            b"\x08\x03abc",
            b"\x7f\xff\xff\xff\xff\x01",
        ] {
            assert_eq!(parse_statuses(block), Err(MalformedBlock), "{block:?}");
        }
    }

    proptest! {
        #[test]
        fn written_fields_are_skipped(names in prop::collection::vec("[a-z:-]{1,40}", 0..6), length in 0..40_000_usize) {
            let mut block = Vec::new();
            for name in &names {
                write_name(name, &mut block);
                write_length(length, &mut block);
                block.resize(block.len() + length, b'x');
            }
            block.push(0x8d);
            prop_assert_eq!(parse_statuses(&block).map(|found| found.status), Ok(Some(404)));
        }

        #[test]
        fn any_block_is_handled(block in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = parse_statuses(&block);
        }
    }
}
