//! memcached's text protocol over UDP (protocol.txt of memcached, "UDP protocol"). A request is one datagram;
//! a reply is one or more. Each has a header of eight bytes. A reply is complete when all its datagrams have
//! arrived, in any order.

use std::borrow::Cow;

use hindmost_plan::Plan;

use super::ids::{Ids, IN_FLIGHT};
use super::{Garbage, Incoming, Memcached, Outcome, Protocol, Remainder};
use crate::transport::DATAGRAM_LENGTH;
use crate::workload::{Kind, Request};

/// Length of the header: id, number of this datagram, number of datagrams, and two zero bytes.
const HEADER: usize = 8;
const BEFORE: usize = DATAGRAM_LENGTH + HEADER;
/// Most replies that may be partially received at once. Beyond it, the oldest one is dropped.
const PARTIAL: usize = 64;
/// Most datagrams of one reply: a value of about 350 KB.
const MOST_DATAGRAMS: u16 = 256;

/// The codec for memcached over UDP.
pub struct MemcachedUdp {
    text: Memcached,
}

/// The state of one connection.
#[derive(Debug, Default)]
pub struct Session {
    ids: Ids,
    /// Partial replies, oldest first. Never grows beyond its initial capacity.
    partial: Vec<Partial>,
}

/// A partially received reply.
#[derive(Debug)]
struct Partial {
    id: u16,
    seen: [u64; MOST_DATAGRAMS as usize / 64],
    left: u16,
    outcome: Option<Outcome>,
}

impl MemcachedUdp {
    /// Append the header of a request. Return the offset where it begins.
    fn header(session: &mut Session, tag: u32, out: &mut Vec<u8>) -> usize {
        let (begin, [high, low]) = (out.len(), session.ids.take(tag).to_be_bytes());
        out.extend_from_slice(&[0, 0, high, low, 0, 0, 0, 1, 0, 0]);
        begin
    }

    /// Fill in the length of the complete datagram that starts at `begin`.
    fn close(begin: usize, out: &mut [u8]) {
        let length = (out.len() - begin - DATAGRAM_LENGTH) as u16;
        out[begin..begin + DATAGRAM_LENGTH].copy_from_slice(&length.to_be_bytes());
    }
}

impl Session {
    /// Record a received datagram. Return the outcome of its reply if that is now complete.
    fn take(&mut self, id: u16, number: u16, count: u16, outcome: Option<Outcome>) -> Option<Outcome> {
        if count == 1 {
            return outcome;
        }
        let at = self.partial.iter().position(|one| one.id == id).unwrap_or_else(|| {
            if self.partial.len() == PARTIAL {
                self.partial.remove(0);
            }
            self.partial.push(Partial {
                id,
                seen: [0; MOST_DATAGRAMS as usize / 64],
                left: count,
                outcome: None,
            });
            self.partial.len() - 1
        });
        let one = &mut self.partial[at];
        let (word, mask) = (usize::from(number / 64), 1 << (number % 64));
        if one.seen[word] & mask == 0 {
            one.seen[word] |= mask;
            one.left = one.left.saturating_sub(1);
        }
        one.outcome = one.outcome.or(outcome);
        if one.left > 0 {
            return None;
        }
        self.partial.remove(at).outcome
    }
}

impl Protocol for MemcachedUdp {
    const PROTOCOL: hindmost_wire::Protocol = hindmost_wire::Protocol::MemcachedUdp;
    const MAX_HEAD: usize = BEFORE + Memcached::MAX_HEAD;
    const TAGGED: bool = true;
    const HAS_CONTROL: bool = true;
    const BOUNDED: bool = true;
    const LOSSY: bool = true;

    type Session = Session;

    fn new(plan: &Plan) -> Self {
        Self { text: Memcached::new(plan) }
    }

    fn session(&self) -> Session {
        Session { partial: Vec::with_capacity(PARTIAL), ..Session::default() }
    }

    fn begin(&self, session: &mut Session, _out: &mut Vec<u8>) -> bool {
        session.ids.clear();
        session.partial.clear();
        true
    }

    fn in_flight(&self, _session: &Session) -> usize {
        IN_FLIGHT
    }

    #[inline]
    fn is_free(&self, session: &Session, tag: u32) -> bool {
        session.ids.is_free(tag)
    }

    fn give_up(&self, session: &mut Session, tag: u32) {
        session.partial.retain(|one| one.id != tag as u16);
        session.ids.give_up(tag);
    }

    #[inline]
    fn write(&self, session: &mut Session, request: Request, tag: u32, out: &mut Vec<u8>) {
        let begin = Self::header(session, tag, out);
        self.text.write(&mut (), request, tag, out);
        Self::close(begin, out);
    }

    fn write_removal(&self, session: &mut Session, item: u32, tag: u32, out: &mut Vec<u8>) {
        let begin = Self::header(session, tag, out);
        self.text.write_removal(&mut (), item, tag, out);
        Self::close(begin, out);
    }

    fn read(&self, session: &mut Session, kind: Kind, bytes: &[u8]) -> Result<Incoming, Garbage> {
        let garbage = || Garbage::new::<Self>(kind, bytes);
        let two = |at: usize| bytes.get(at..at + 2).map(|two| u16::from_be_bytes([two[0], two[1]]));
        let Some(length) = two(0).map(usize::from) else { return Ok(Incoming::More) };
        if length < HEADER {
            return Err(garbage());
        }
        let Some(body) = bytes.get(BEFORE..) else { return Ok(Incoming::More) };
        let (Some(id), Some(number), Some(count)) = (two(2), two(4), two(6)) else {
            return Ok(Incoming::More);
        };
        if count == 0 || number >= count || count > MOST_DATAGRAMS {
            return Err(garbage());
        }
        // Bytes after this datagram belong to the next one.
        let body = &body[..body.len().min(length - HEADER)];
        let (mut head, mut outcome) = (BEFORE, None);
        if number == 0 {
            let answers = answered_kind(body);
            match self.text.read(&mut (), answers, body) {
                Ok(Incoming::Reply { head: line, outcome: said, .. }) => {
                    head += line;
                    outcome = Some(said);
                }
                Ok(_) if body.len() < length - HEADER => return Ok(Incoming::More),
                Ok(_) | Err(_) => return Err(garbage()),
            }
        }
        let rest = Remainder::Bytes { left: (DATAGRAM_LENGTH + length - head) as u64, end: b"" };
        let Some(outcome) = session.take(id, number, count, outcome) else {
            return Ok(Incoming::Aside { head, rest });
        };
        let tag = session.ids.release(id);
        Ok(Incoming::Reply { head, rest, outcome, closes: false, code: 0, tag })
    }

    fn error_text(head: &[u8]) -> Cow<'_, [u8]> {
        head.get(BEFORE..).unwrap_or_default().into()
    }
}

/// Return the kind of request that a line answers, because the tag alone does not determine it.
fn answered_kind(line: &[u8]) -> Kind {
    let starts = |words: [&[u8]; 2]| words.iter().any(|word| line.starts_with(word));
    if starts([b"V", b"EN"]) {
        Kind::GET
    } else if starts([b"D", b"NOT_F"]) {
        Kind::REMOVED
    } else {
        Kind::SET
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check_reply, plan};
    use super::*;

    fn datagram(id: u16, number: u16, count: u16, body: &[u8]) -> Vec<u8> {
        let mut bytes = ((HEADER + body.len()) as u16).to_be_bytes().to_vec();
        for field in [id, number, count, 0] {
            bytes.extend_from_slice(&field.to_be_bytes());
        }
        bytes.extend_from_slice(body);
        bytes
    }

    #[test]
    fn a_request_is_a_datagram_with_a_header() {
        let codec = MemcachedUdp::new(&plan("memcached-udp"));
        let mut out = Vec::new();
        let request = Request { kind: Kind::GET, item: 7, value_bytes: 0 };
        codec.write(&mut codec.session(), request, 0x1_0203, &mut out);
        assert_eq!(out[..BEFORE], [0, 44, 2, 3, 0, 0, 0, 1, 0, 0]);
        assert_eq!(&out[BEFORE..BEFORE + 8], b"get 0007");
        assert_eq!(out.len(), DATAGRAM_LENGTH + 44);
    }

    #[test]
    fn replies_of_one_datagram_are_recognised() {
        let codec = MemcachedUdp::new(&plan("memcached-udp"));
        for (body, outcome) in [
            (&b"VALUE k 0 3\r\nabc\r\nEND\r\n"[..], Outcome::Hit),
            (b"END\r\n", Outcome::Miss),
            (b"STORED\r\n", Outcome::Hit),
            (b"NOT_STORED\r\n", Outcome::Miss),
            (b"DELETED\r\n", Outcome::Hit),
            (b"NOT_FOUND\r\n", Outcome::Miss),
            (b"SERVER_ERROR out of memory\r\n", Outcome::Error),
        ] {
            check_reply(&codec, Kind::GET, &datagram(7, 0, 1, body), outcome);
        }
        let error = datagram(7, 0, 1, b"ERROR\r\n");
        assert_eq!(&*MemcachedUdp::error_text(&error), b"ERROR\r\n");
    }

    #[test]
    fn a_reply_is_complete_with_its_last_datagram_in_any_order() {
        let codec = MemcachedUdp::new(&plan("memcached-udp"));
        let pieces = [&b"VALUE k 0 9\r\nabc"[..], b"def", b"ghi\r\nEND\r\n"];
        for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
            let mut session = codec.session();
            session.ids.take(7);
            let mut read = |number: u16| {
                let bytes = datagram(7, number, 3, pieces[usize::from(number)]);
                codec.read(&mut session, Kind::GET, &bytes).unwrap()
            };
            assert!(matches!(read(order[0]), Incoming::Aside { .. }));
            assert!(matches!(read(order[0]), Incoming::Aside { .. }), "a duplicate does not count");
            assert!(matches!(read(order[1]), Incoming::Aside { .. }));
            let last = read(order[2]);
            assert!(matches!(last, Incoming::Reply { outcome: Outcome::Hit, tag: 7, .. }), "{last:?}");
        }
    }

    #[test]
    fn pieces_of_a_reply_that_was_given_up_are_forgotten() {
        let codec = MemcachedUdp::new(&plan("memcached-udp"));
        let mut session = codec.session();
        for tag in 0..200 {
            session.ids.take(tag);
            codec.read(&mut session, Kind::GET, &datagram(tag as u16, 1, 2, b"x")).unwrap();
        }
        assert_eq!(session.partial.len(), PARTIAL);
        (0..200).for_each(|tag| codec.give_up(&mut session, tag));
        assert!(session.partial.is_empty());
    }

    #[test]
    fn other_datagrams_are_garbage() {
        let codec = MemcachedUdp::new(&plan("memcached-udp"));
        for bytes in [
            datagram(7, 0, 0, b"END\r\n"),
            datagram(7, 2, 2, b"END\r\n"),
            datagram(7, 0, 1, b"HTTP/1.1 200 OK\r\n"),
            datagram(7, 0, 1, b"no line"),
            vec![0, 3, 1, 2, 3],
        ] {
            assert!(codec.read(&mut codec.session(), Kind::GET, &bytes).is_err(), "{bytes:?}");
        }
    }
}
