//! Redis: GET and SET in RESP2 (redis.io, "Redis serialization protocol specification").

use std::io::Write;

use hindmost_plan::Plan;

use super::items::Items;
use super::{line_end, number, Garbage, Outcome, Parsed, Protocol, Rest};
use crate::workload::{Kind, Request};

/// The codec.
pub struct Redis {
    items: Items,
}

impl Protocol for Redis {
    const PROTOCOL: hindmost_wire::Protocol = hindmost_wire::Protocol::Redis;
    /// Bulk headers are short; error lines are not, and may quote arguments.
    const MAX_HEAD: usize = 4096;

    type Session = ();

    fn new(plan: &Plan) -> Self {
        Self { items: Items::new(plan) }
    }

    #[inline]
    fn write(&self, (): &mut (), request: Request, _: u32, out: &mut Vec<u8>) {
        let ttl_s = if request.kind == Kind::SET { self.items.ttl_s(request.item) } else { 0 };
        let (head, verb) = match (request.kind, ttl_s) {
            (Kind::SET, 0) => (3, "SET"),
            (Kind::SET, _) => (5, "SET"),
            _ => (2, "GET"),
        };
        // Writing to a Vec cannot fail.
        let _ = write!(out, "*{head}\r\n$3\r\n{verb}\r\n${}\r\n", self.items.key_length(request.item));
        self.items.write_key(request.item, out);
        out.extend_from_slice(b"\r\n");
        if request.kind == Kind::SET {
            let _ = write!(out, "${}\r\n", request.value_bytes);
            out.extend_from_slice(self.items.value(request.value_bytes));
            out.extend_from_slice(b"\r\n");
            if ttl_s > 0 {
                let _ = write!(out, "$2\r\nEX\r\n${}\r\n{ttl_s}\r\n", ttl_s.ilog10() + 1);
            }
        }
    }

    fn remove(&self, (): &mut (), item: u32, _: u32, out: &mut Vec<u8>) {
        // Writing to a Vec cannot fail.
        let _ = write!(out, "*2\r\n$3\r\nDEL\r\n${}\r\n", self.items.key_length(item));
        self.items.write_key(item, out);
        out.extend_from_slice(b"\r\n");
    }

    #[inline]
    fn read(&self, (): &mut (), kind: Kind, bytes: &[u8]) -> Result<Parsed, Garbage> {
        let Some(end) = line_end(bytes) else { return Ok(Parsed::More) };
        let garbage = || Garbage::new::<Self>(kind, bytes);
        let line = bytes[..end].strip_suffix(b"\r\n").ok_or_else(garbage)?;
        match (line.first(), kind) {
            (Some(b'-'), _) => Ok(Parsed::line(end, Outcome::Error)),
            (Some(b':'), Kind::REMOVED) if line == b":0" => Ok(Parsed::line(end, Outcome::Miss)),
            (Some(b':'), Kind::REMOVED) | (Some(b'+'), Kind::SET) => Ok(Parsed::line(end, Outcome::Hit)),
            (Some(b'$'), _) if line == b"$-1" => Ok(Parsed::line(end, Outcome::Miss)),
            (Some(b'$'), Kind::GET) => {
                let size = number(&line[1..]).ok_or_else(garbage)?;
                let rest = Rest::Bytes { left: size + 2, end: b"\r\n" };
                Ok(Parsed::reply(end, rest, Outcome::Hit))
            }
            _ => Err(garbage()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::items::filler;
    use super::super::tests::{check_reply, plan, plan_with_ttl};
    use super::super::Reader;
    use super::*;

    #[test]
    fn requests_are_arrays_of_bulk_strings() {
        let codec = Redis::new(&plan("redis"));
        let mut out = Vec::new();
        codec.write(&mut (), Request { kind: Kind::SET, item: 12, value_bytes: 2 }, 0, &mut out);
        let value = String::from_utf8(filler(2)).unwrap();
        let expected = format!("*3\r\n$3\r\nSET\r\n$30\r\n0012{}\r\n$2\r\n{value}\r\n", "k".repeat(26));
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        let mut out = Vec::new();
        let set = Request { kind: Kind::SET, item: 12, value_bytes: 2 };
        Redis::new(&plan_with_ttl("redis", 600)).write(&mut (), set, 0, &mut out);
        let expected = format!("*5{}$2\r\nEX\r\n$3\r\n600\r\n", &expected[2..]);
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn replies_are_told_apart_however_they_arrive() {
        let codec = Redis::new(&plan("redis"));
        for (kind, reply, outcome) in [
            (Kind::GET, &b"$5\r\nhello\r\n"[..], Outcome::Hit),
            (Kind::GET, b"$0\r\n\r\n", Outcome::Hit),
            (Kind::GET, b"$-1\r\n", Outcome::Miss),
            (Kind::SET, b"+OK\r\n", Outcome::Hit),
            (Kind::REMOVED, b":1\r\n", Outcome::Hit),
            (Kind::REMOVED, b":0\r\n", Outcome::Miss),
            (Kind::SET, b"-OOM command not allowed\r\n", Outcome::Error),
        ] {
            check_reply(&codec, kind, reply, outcome);
        }
        for bytes in [&b"ERROR\r\n"[..], b":1\r\n", b"$x\r\n", b"+OK\r\n"] {
            assert!(codec.read(&mut (), Kind::GET, bytes).is_err(), "{bytes:?}");
        }
        let too_long = Reader::new::<Redis>().next(&codec, &mut (), Kind::GET, b"$1\r\nab\r\n", |_| ());
        assert_eq!(too_long.unwrap_err().start, "b\r\n");
    }
}
