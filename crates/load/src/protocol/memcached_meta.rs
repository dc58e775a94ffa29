//! memcached's meta commands: `mg` and `ms` (protocol.txt of memcached 1.6, "Meta Commands").

use std::io::Write;

use hindmost_plan::Plan;

use super::items::Items;
use super::memcached::is_error;
use super::{line_end, number, Garbage, Incoming, Outcome, Protocol, Remainder};
use crate::workload::{Kind, Request};

/// The codec for memcached's meta commands.
pub struct MemcachedMeta {
    items: Items,
}

impl Protocol for MemcachedMeta {
    const PROTOCOL: hindmost_wire::Protocol = hindmost_wire::Protocol::MemcachedMeta;
    /// Room for `VA <bytes>` and error lines: requests ask for no flags.
    const MAX_HEAD: usize = 1024;

    type Session = ();

    fn new(plan: &Plan) -> Self {
        Self { items: Items::new(plan) }
    }

    #[inline]
    fn write(&self, (): &mut (), request: Request, _: u32, out: &mut Vec<u8>) {
        if request.kind == Kind::GET {
            out.extend_from_slice(b"mg ");
            self.items.write_key(request.item, out);
            out.extend_from_slice(b" v\r\n");
            return;
        }
        out.extend_from_slice(b"ms ");
        self.items.write_key(request.item, out);
        // Writing to a Vec cannot fail.
        let _ = match self.items.ttl_s(request.item) {
            0 => write!(out, " {}\r\n", request.value_bytes),
            ttl_s => write!(out, " {} T{ttl_s}\r\n", request.value_bytes),
        };
        out.extend_from_slice(self.items.value(request.value_bytes));
        out.extend_from_slice(b"\r\n");
    }

    fn write_farewell(&self, (): &mut (), out: &mut Vec<u8>) -> bool {
        out.extend_from_slice(b"quit\r\n");
        true
    }

    fn write_removal(&self, (): &mut (), item: u32, _: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(b"md ");
        self.items.write_key(item, out);
        out.extend_from_slice(b"\r\n");
    }

    #[inline]
    fn read(&self, (): &mut (), kind: Kind, bytes: &[u8]) -> Result<Incoming, Garbage> {
        let Some(end) = line_end(bytes) else { return Ok(Incoming::More) };
        let garbage = || Garbage::new::<Self>(kind, bytes);
        let line = bytes[..end].strip_suffix(b"\r\n").ok_or_else(garbage)?;
        if let (Some(stated), Kind::GET) = (line.strip_prefix(b"VA "), kind) {
            let size = stated.split(|&b| b == b' ').next().and_then(number).ok_or_else(garbage)?;
            let rest = Remainder::Bytes { left: size + 2, end: b"\r\n" };
            return Ok(Incoming::reply(end, rest, Outcome::Hit));
        }
        match (line.split(|&b| b == b' ').next(), kind) {
            _ if is_error(line) => Ok(Incoming::line(end, Outcome::Error)),
            (Some(b"HD"), Kind::SET | Kind::REMOVED) => Ok(Incoming::line(end, Outcome::Hit)),
            // Not stored, changed by another client, or not found: normal results of the client's own
            // conditions.
            (Some(b"EN"), Kind::GET)
            | (Some(b"NS" | b"EX" | b"NF"), Kind::SET)
            | (Some(b"NF"), Kind::REMOVED) => Ok(Incoming::line(end, Outcome::Miss)),
            _ => Err(garbage()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::items::filler;
    use super::super::tests::{check_reply, plan};
    use super::*;

    #[test]
    fn requests_have_the_format_of_protocol_txt() {
        let codec = MemcachedMeta::new(&plan("memcached-meta"));
        let mut out = Vec::new();
        codec.write(&mut (), Request { kind: Kind::GET, item: 7, value_bytes: 0 }, 0, &mut out);
        codec.write(&mut (), Request { kind: Kind::SET, item: 7, value_bytes: 3 }, 0, &mut out);
        let key = "0007kkkkkkkkkkkkkkkkkkkkkkkkkk";
        let value = String::from_utf8(filler(3)).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), format!("mg {key} v\r\nms {key} 3\r\n{value}\r\n"));
    }

    #[test]
    fn replies_are_recognised_however_they_are_split() {
        let codec = MemcachedMeta::new(&plan("memcached-meta"));
        for (kind, reply, outcome) in [
            (Kind::GET, &b"VA 5\r\nhello\r\n"[..], Outcome::Hit),
            (Kind::GET, b"VA 5 f1 t-1\r\nEN\r\r\n\r\n", Outcome::Hit),
            (Kind::GET, b"VA 0\r\n\r\n", Outcome::Hit),
            (Kind::GET, b"EN\r\n", Outcome::Miss),
            (Kind::SET, b"HD\r\n", Outcome::Hit),
            (Kind::SET, b"NS\r\n", Outcome::Miss),
            (Kind::REMOVED, b"HD\r\n", Outcome::Hit),
            (Kind::REMOVED, b"NF\r\n", Outcome::Miss),
            (Kind::SET, b"SERVER_ERROR out of memory storing object\r\n", Outcome::Error),
            (Kind::GET, b"ERROR\r\n", Outcome::Error),
        ] {
            check_reply(&codec, kind, reply, outcome);
        }
        for bytes in [&b"END\r\n"[..], b"VA x\r\n", b"HD\r\n", b"\n", b"VALUE k 0 1\r\n"] {
            assert!(codec.read(&mut (), Kind::GET, bytes).is_err(), "{bytes:?}");
        }
    }
}
