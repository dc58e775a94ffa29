//! A custom protocol, implemented with the engine's public traits, without changes to Hindmost.
//!
//! The server is a dictionary with a line-based protocol:
//!
//! ```text
//! ?KEY\n          ->  =LENGTH\n, then that many bytes    or  -\n if there is none
//! !KEY LENGTH\n, then that many bytes   ->  +\n
//! ```

use hindmost_load::protocol::{Garbage, Incoming, Items, Outcome, Protocol, Remainder};
use hindmost_load::workload::{Kind, Request};
use hindmost_plan::Plan;

/// Its codec. It replaces memcached, an entry of the table: plans name that entry, and workloads are key-value
/// ones.
pub struct Dictionary {
    items: Items,
}

impl Protocol for Dictionary {
    const PROTOCOL: hindmost_wire::Protocol = hindmost_wire::Protocol::Memcached;
    const MAX_HEAD: usize = 64;
    type Session = ();

    fn new(plan: &Plan) -> Self {
        Self { items: Items::new(plan) }
    }

    fn write(&self, (): &mut (), request: Request, _: u32, out: &mut Vec<u8>) {
        if request.kind == Kind::GET {
            out.push(b'?');
            self.items.write_key(request.item, out);
            out.push(b'\n');
            return;
        }
        out.push(b'!');
        self.items.write_key(request.item, out);
        out.extend_from_slice(format!(" {}\n", request.value_bytes).as_bytes());
        out.extend_from_slice(self.items.value(request.value_bytes));
    }

    fn read(&self, (): &mut (), kind: Kind, bytes: &[u8]) -> Result<Incoming, Garbage> {
        let Some(end) = bytes.iter().position(|&b| b == b'\n') else { return Ok(Incoming::More) };
        let (line, head) = (&bytes[..end], end + 1);
        match (line.split_first(), kind) {
            (Some((b'-', [])), Kind::GET) => Ok(Incoming::reply(head, Remainder::EMPTY, Outcome::Miss)),
            (Some((b'+', [])), Kind::SET) => Ok(Incoming::reply(head, Remainder::EMPTY, Outcome::Hit)),
            (Some((b'=', length)), Kind::GET) => {
                let length = std::str::from_utf8(length).ok().and_then(|text| text.parse().ok());
                let left = length.ok_or_else(|| Garbage::new::<Self>(kind, bytes))?;
                Ok(Incoming::reply(head, Remainder::Bytes { left, end: b"" }, Outcome::Hit))
            }
            _ => Err(Garbage::new::<Self>(kind, bytes)),
        }
    }
}
