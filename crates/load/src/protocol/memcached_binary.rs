//! memcached's binary protocol: Get and Set (memcached's wiki, "Binary Protocol Revamped").

use std::borrow::Cow;

use hindmost_plan::Plan;

use super::items::Items;
use super::{Garbage, Incoming, Outcome, Protocol, Remainder};
use crate::workload::{Kind, Request};

/// Length of a header in either direction.
const HEADER: usize = 24;
const REQUEST: u8 = 0x80;
const REPLY: u8 = 0x81;
const GET: u8 = 0x00;
const SET: u8 = 0x01;
const DELETE: u8 = 0x04;
/// Quit without a reply (`QuitQ`).
const QUIT: u8 = 0x17;
/// The longest plausible body: an item has at most 1 GiB (memcached's option `-I`).
const LARGEST: u32 = 1 << 30;
/// Extras of a Set: flags and expiry.
const SET_EXTRAS: [u8; 8] = [0; 8];

/// Statuses of an item that is missing or was not stored.
const NOT_FOUND: u16 = 1;
const EXISTS: u16 = 2;
const NOT_STORED: u16 = 5;

/// The codec for memcached's binary protocol.
pub struct MemcachedBinary {
    items: Items,
}

/// Counts of requests and replies on a connection: each reply carries the number of its request.
#[derive(Debug, Default)]
pub struct Session {
    asked: u32,
    answered: u32,
}

impl Session {
    /// Return the opaque of the next request.
    fn next(&mut self) -> u32 {
        let opaque = self.asked;
        self.asked = opaque.wrapping_add(1);
        opaque
    }
}

impl MemcachedBinary {
    fn write_header(opcode: u8, key: usize, extras: usize, value: usize, opaque: u32, out: &mut Vec<u8>) {
        let mut header = [0; HEADER];
        header[0] = REQUEST;
        header[1] = opcode;
        header[2..4].copy_from_slice(&(key as u16).to_be_bytes());
        header[4] = extras as u8;
        header[8..12].copy_from_slice(&((extras + key + value) as u32).to_be_bytes());
        header[12..16].copy_from_slice(&opaque.to_be_bytes());
        out.extend_from_slice(&header);
    }
}

impl Protocol for MemcachedBinary {
    const PROTOCOL: hindmost_wire::Protocol = hindmost_wire::Protocol::MemcachedBinary;
    /// Room for a header and an error text.
    const MAX_HEAD: usize = 1024;

    type Session = Session;

    fn new(plan: &Plan) -> Self {
        Self { items: Items::new(plan) }
    }

    fn begin(&self, session: &mut Session, _: &mut Vec<u8>) -> bool {
        *session = Session::default();
        true
    }

    #[inline]
    fn write(&self, session: &mut Session, request: Request, _: u32, out: &mut Vec<u8>) {
        let (key, opaque) = (self.items.key_length(request.item), session.next());
        if request.kind == Kind::GET {
            Self::write_header(GET, key, 0, 0, opaque, out);
            return self.items.write_key(request.item, out);
        }
        Self::write_header(SET, key, SET_EXTRAS.len(), request.value_bytes as usize, opaque, out);
        out.extend_from_slice(&SET_EXTRAS[..4]);
        out.extend_from_slice(&self.items.ttl_s(request.item).to_be_bytes());
        self.items.write_key(request.item, out);
        out.extend_from_slice(self.items.value(request.value_bytes));
    }

    fn write_farewell(&self, session: &mut Session, out: &mut Vec<u8>) -> bool {
        Self::write_header(QUIT, 0, 0, 0, session.next(), out);
        true
    }

    fn write_removal(&self, session: &mut Session, item: u32, _: u32, out: &mut Vec<u8>) {
        Self::write_header(DELETE, self.items.key_length(item), 0, 0, session.next(), out);
        self.items.write_key(item, out);
    }

    #[inline]
    fn read(&self, session: &mut Session, kind: Kind, bytes: &[u8]) -> Result<Incoming, Garbage> {
        let opcode = match kind {
            Kind::GET => GET,
            Kind::REMOVED => DELETE,
            _ => SET,
        };
        let starts = [REPLY, opcode];
        if bytes.iter().zip(starts).any(|(&seen, scheduled)| seen != scheduled) {
            return Err(Garbage::new::<Self>(kind, bytes));
        }
        let Some(header) = bytes.first_chunk::<HEADER>() else { return Ok(Incoming::More) };
        let status = u16::from_be_bytes([header[6], header[7]]);
        let body = u32::from_be_bytes([header[8], header[9], header[10], header[11]]);
        let opaque = u32::from_be_bytes([header[12], header[13], header[14], header[15]]);
        let key_and_extras = u32::from(u16::from_be_bytes([header[2], header[3]])) + u32::from(header[4]);
        if opaque != session.answered || !(key_and_extras..=LARGEST).contains(&body) {
            return Err(Garbage::new::<Self>(kind, bytes));
        }
        let outcome = match (status, kind) {
            (0, _) => Outcome::Hit,
            (NOT_FOUND, _) | (EXISTS | NOT_STORED, Kind::SET) => Outcome::Miss,
            _ => Outcome::Error,
        };
        // The text of an error is kept with its head for reports, if it has the usual short length.
        let words = if outcome == Outcome::Error { body as usize } else { 0 };
        let words = if words <= Self::MAX_HEAD - HEADER { words } else { 0 };
        if bytes.len() < HEADER + words {
            return Ok(Incoming::More);
        }
        session.answered = opaque.wrapping_add(1);
        let rest = Remainder::Bytes { left: u64::from(body) - words as u64, end: b"" };
        Ok(Incoming::reply(HEADER + words, rest, outcome))
    }

    fn error_text(head: &[u8]) -> Cow<'_, [u8]> {
        head[HEADER..].into()
    }
}

#[cfg(test)]
mod tests {
    use super::super::items::filler;
    use super::super::tests::{check_reply, plan};
    use super::super::Reader;
    use super::*;

    fn reply(opcode: u8, status: u16, body: &[u8]) -> Vec<u8> {
        let mut bytes = vec![REPLY, opcode, 0, 0, 0, 0];
        bytes.extend_from_slice(&status.to_be_bytes());
        bytes.extend_from_slice(&(body.len() as u32).to_be_bytes());
        bytes.resize(HEADER, 0);
        bytes.extend_from_slice(body);
        bytes
    }

    #[test]
    fn requests_are_headers_with_key_and_value() {
        let codec = MemcachedBinary::new(&plan("memcached-binary"));
        let (mut get, mut set) = (Vec::new(), Vec::new());
        let mut session = Session::default();
        codec.write(&mut session, Request { kind: Kind::GET, item: 7, value_bytes: 0 }, 0, &mut get);
        codec.write(&mut session, Request { kind: Kind::SET, item: 7, value_bytes: 3 }, 0, &mut set);
        assert_eq!([&get, &set].map(|one| one[12..16].to_vec()), [[0, 0, 0, 0], [0, 0, 0, 1]]);
        let key = b"0007kkkkkkkkkkkkkkkkkkkkkkkkkk";
        assert_eq!(get[..12], [0x80, 0, 0, 30, 0, 0, 0, 0, 0, 0, 0, 30]);
        assert_eq!(get[HEADER..], key[..]);
        assert_eq!(set[..12], [0x80, 1, 0, 30, 8, 0, 0, 0, 0, 0, 0, 41]);
        assert_eq!(set[HEADER..], [&SET_EXTRAS[..], key, &filler(3)].concat());
    }

    #[test]
    fn replies_are_recognised_however_they_are_split() {
        let codec = MemcachedBinary::new(&plan("memcached-binary"));
        for (kind, bytes, outcome) in [
            (Kind::GET, reply(GET, 0, b"\0\0\0\0hello"), Outcome::Hit),
            (Kind::GET, reply(GET, 1, b"Not found"), Outcome::Miss),
            (Kind::GET, reply(GET, 0x81, b"Unknown command"), Outcome::Error),
            (Kind::SET, reply(SET, 0, b""), Outcome::Hit),
            (Kind::SET, reply(SET, 5, b"Not stored."), Outcome::Miss),
            (Kind::REMOVED, reply(DELETE, 0, b""), Outcome::Hit),
            (Kind::REMOVED, reply(DELETE, 1, b"Not found"), Outcome::Miss),
            (Kind::SET, reply(SET, 0x82, b"Out of memory"), Outcome::Error),
            (Kind::SET, reply(SET, 0x82, &[b'x'; 5000]), Outcome::Error),
        ] {
            check_reply(&codec, kind, &bytes, outcome);
        }
        for bytes in [&b"VALUE k"[..], &reply(SET, 0, b""), &[REQUEST]] {
            assert!(codec.read(&mut Session::default(), Kind::GET, bytes).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn a_reply_needs_the_number_of_its_request_and_a_plausible_length() {
        let codec = MemcachedBinary::new(&plan("memcached-binary"));
        let numbered = |opaque: u8| {
            let mut bytes = reply(GET, 1, b"");
            bytes[15] = opaque;
            bytes
        };
        let mut session = Session::default();
        assert!(codec.read(&mut session, Kind::GET, &numbered(0)).is_ok());
        assert!(codec.read(&mut session, Kind::GET, &numbered(0)).is_err(), "request 0 is answered already");
        assert!(codec.read(&mut session, Kind::GET, &numbered(2)).is_err(), "reply 1 is missing");
        assert!(codec.read(&mut session, Kind::GET, &numbered(1)).is_ok());
        codec.begin(&mut session, &mut Vec::new());
        assert!(codec.read(&mut session, Kind::GET, &numbered(0)).is_ok());
        for (at, byte) in [(8, 0xff), (3, 1), (4, 1)] {
            let mut bytes = reply(GET, 0, b"");
            bytes[at] = byte;
            let found = codec.read(&mut Session::default(), Kind::GET, &bytes);
            assert!(found.is_err(), "{at}: {found:?}");
        }
    }

    #[test]
    fn the_text_of_an_error_is_reported() {
        let codec = MemcachedBinary::new(&plan("memcached-binary"));
        let mut head = Vec::new();
        let bytes = reply(SET, 3, b"Too large.");
        Reader::new::<MemcachedBinary>()
            .next(&codec, &mut Session::default(), Kind::SET, &bytes, |bytes| head.extend_from_slice(bytes))
            .unwrap();
        assert_eq!(&*MemcachedBinary::error_text(&head), b"Too large.");
    }
}
