//! memcached's text protocol: get and set (protocol.txt of memcached 1.6).

use std::io::Write;

use hindmost_plan::Plan;

use super::items::Items;
use super::{line_end, number, Garbage, Incoming, Outcome, Protocol, Remainder};
use crate::workload::{Kind, Request};

/// Bytes after a value: the end of its line, and the end of the list of values.
const TAIL: &[u8] = b"\r\nEND\r\n";

/// The codec for memcached's text protocol.
pub struct Memcached {
    items: Items,
}

impl Protocol for Memcached {
    const PROTOCOL: hindmost_wire::Protocol = hindmost_wire::Protocol::Memcached;
    /// Room for `VALUE <250-byte key> <flags> <bytes> <cas>` and error lines.
    const MAX_HEAD: usize = 1024;

    type Session = ();

    fn new(plan: &Plan) -> Self {
        Self { items: Items::new(plan) }
    }

    #[inline]
    fn write(&self, (): &mut (), request: Request, _: u32, out: &mut Vec<u8>) {
        if request.kind == Kind::GET {
            out.extend_from_slice(b"get ");
            self.items.write_key(request.item, out);
            out.extend_from_slice(b"\r\n");
            return;
        }
        out.extend_from_slice(b"set ");
        self.items.write_key(request.item, out);
        // Writing to a Vec cannot fail.
        let _ = write!(out, " 0 {} {}\r\n", self.items.ttl_s(request.item), request.value_bytes);
        out.extend_from_slice(self.items.value(request.value_bytes));
        out.extend_from_slice(b"\r\n");
    }

    fn write_farewell(&self, (): &mut (), out: &mut Vec<u8>) -> bool {
        out.extend_from_slice(b"quit\r\n");
        true
    }

    fn write_removal(&self, (): &mut (), item: u32, _: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(b"delete ");
        self.items.write_key(item, out);
        out.extend_from_slice(b"\r\n");
    }

    #[inline]
    fn read(&self, (): &mut (), kind: Kind, bytes: &[u8]) -> Result<Incoming, Garbage> {
        let Some(end) = line_end(bytes) else { return Ok(Incoming::More) };
        let garbage = || Garbage::new::<Self>(kind, bytes);
        let line = bytes[..end].strip_suffix(b"\r\n").ok_or_else(garbage)?;
        if kind == Kind::GET {
            if let Some(header) = line.strip_prefix(b"VALUE ") {
                let size = header.split(|&b| b == b' ').nth(2).and_then(number).ok_or_else(garbage)?;
                let rest = Remainder::Bytes { left: size + TAIL.len() as u64, end: TAIL };
                return Ok(Incoming::reply(end, rest, Outcome::Hit));
            }
            if line == b"END" {
                return Ok(Incoming::line(end, Outcome::Miss));
            }
        } else if line == if kind == Kind::REMOVED { &b"DELETED"[..] } else { b"STORED" } {
            return Ok(Incoming::line(end, Outcome::Hit));
        } else if line == if kind == Kind::REMOVED { &b"NOT_FOUND"[..] } else { b"NOT_STORED" } {
            return Ok(Incoming::line(end, Outcome::Miss));
        }
        if is_error(line) {
            return Ok(Incoming::line(end, Outcome::Error));
        }
        Err(garbage())
    }
}

/// Whether a line reports an error, in the text protocol or the meta commands, or because the server is out
/// of connections (`ERROR Too many open connections`).
pub fn is_error(line: &[u8]) -> bool {
    line == b"ERROR"
        || line.starts_with(b"ERROR ")
        || line.starts_with(b"CLIENT_ERROR")
        || line.starts_with(b"SERVER_ERROR")
}

#[cfg(test)]
mod tests {
    use super::super::items::filler;
    use super::super::tests::{check_reply, plan, plan_with_ttl};
    use super::super::Reader;
    use super::*;

    #[test]
    fn requests_have_the_format_of_protocol_txt() {
        let codec = Memcached::new(&plan("memcached"));
        let mut out = Vec::new();
        codec.write(&mut (), Request { kind: Kind::GET, item: 7, value_bytes: 0 }, 0, &mut out);
        codec.write(&mut (), Request { kind: Kind::SET, item: 7, value_bytes: 3 }, 0, &mut out);
        let key = "0007kkkkkkkkkkkkkkkkkkkkkkkkkk";
        let text = String::from_utf8(out).unwrap();
        let value = String::from_utf8(filler(3)).unwrap();
        assert_eq!(text, format!("get {key}\r\nset {key} 0 0 3\r\n{value}\r\n"));
        let mut out = Vec::new();
        let set = Request { kind: Kind::SET, item: 7, value_bytes: 3 };
        Memcached::new(&plan_with_ttl("memcached", 60)).write(&mut (), set, 0, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), format!("set {key} 0 60 3\r\n{value}\r\n"));
    }

    #[test]
    fn replies_are_recognised_however_they_are_split() {
        let codec = Memcached::new(&plan("memcached"));
        for (kind, reply, outcome) in [
            (Kind::GET, &b"VALUE k 0 5\r\nhello\r\nEND\r\n"[..], Outcome::Hit),
            (Kind::GET, b"VALUE k 0 6 99\r\n\r\nEND\r\r\nEND\r\n", Outcome::Hit),
            (Kind::GET, b"END\r\n", Outcome::Miss),
            (Kind::SET, b"STORED\r\n", Outcome::Hit),
            (Kind::SET, b"NOT_STORED\r\n", Outcome::Miss),
            (Kind::REMOVED, b"DELETED\r\n", Outcome::Hit),
            (Kind::REMOVED, b"NOT_FOUND\r\n", Outcome::Miss),
            (Kind::SET, b"SERVER_ERROR out of memory storing object\r\n", Outcome::Error),
            (Kind::GET, b"ERROR\r\n", Outcome::Error),
            (Kind::GET, b"ERROR Too many open connections\r\n", Outcome::Error),
        ] {
            check_reply(&codec, kind, reply, outcome);
        }
    }

    #[test]
    fn other_protocols_are_garbage() {
        let codec = Memcached::new(&plan("memcached"));
        for bytes in
            [&b"HTTP/1.1 400 Bad Request\r\n"[..], b"-ERR unknown command\r\n", b"VALUE k 0 x\r\n", b"\n"]
        {
            assert!(codec.read(&mut (), Kind::GET, bytes).is_err(), "{bytes:?}");
        }
        let no_end = Reader::new::<Memcached>().next(
            &codec,
            &mut (),
            Kind::GET,
            b"VALUE k 0 1\r\nabcdefgh\r\n",
            |_| (),
        );
        assert_eq!(no_end.unwrap_err().start, "bcdefgh\r\n");
    }
}
