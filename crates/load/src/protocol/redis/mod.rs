//! Redis: GET and SET of keys, or any commands, in RESP2 or RESP3 (redis.io, "Redis serialization protocol
//! specification").

mod commands;
mod elements;
mod opening;

use std::io::Write;

use hindmost_plan::{Plan, Workload};

use self::commands::CompiledCommand;
use self::opening::Greeting;
use super::items::Items;
use super::{line_end, number, Garbage, Incoming, Opening, Outcome, Protocol, Refusal, Remainder};
use crate::workload::{Kind, List, Request};

pub use elements::Elements;

/// The codec for Redis.
pub struct Redis {
    greeting: Greeting,
    requests: Requests,
}

enum Requests {
    /// GET and SET.
    Items(Items),
    /// Any commands.
    Commands {
        list: List,
        compiled: Vec<CompiledCommand>,
        /// Number of replies to a request, by kind.
        replies: Vec<u32>,
    },
}

/// Return an upper bound on the bytes of a request of `commands`.
pub fn largest_command(commands: &hindmost_plan::Commands) -> usize {
    commands
        .commands
        .iter()
        .map(|one| CompiledCommand::new(one, commands.data.as_ref()).largest())
        .max()
        .unwrap_or(0)
}

impl Protocol for Redis {
    const PROTOCOL: hindmost_wire::Protocol = hindmost_wire::Protocol::Redis;
    /// Bulk headers are short. Error lines may be long and quote arguments.
    const MAX_HEAD: usize = 4096;
    /// RESP3 pushes may arrive at any time.
    const HAS_CONTROL: bool = true;

    /// Number of replies missing from the opening.
    type Session = u8;

    fn new(plan: &Plan) -> Self {
        let requests = match &plan.workload {
            Workload::Commands(commands) => {
                let listed = commands.weighted_kinds();
                let compiled: Vec<CompiledCommand> = commands
                    .commands
                    .iter()
                    .map(|one| CompiledCommand::new(one, commands.data.as_ref()))
                    .collect();
                // The plan has checked that requests of the same name have equally many replies.
                let replies = |name: &String| {
                    let same = listed.iter().zip(&compiled).find(|(one, _)| one.kind == *name);
                    same.map_or(1, |(_, compiled)| compiled.replies)
                };
                Requests::Commands {
                    replies: plan.workload.kinds().iter().map(replies).collect(),
                    list: List::new(plan.seed, &listed, commands.data.as_ref())
                        .in_sessions(commands.session.is_some()),
                    compiled,
                }
            }
            _ => Requests::Items(Items::new(plan)),
        };
        Self { greeting: Greeting::new(plan.target.login.as_ref()), requests }
    }

    fn begin(&self, left: &mut u8, out: &mut Vec<u8>) -> bool {
        self.greeting.begin(left, out)
    }

    fn opening(&self, left: &mut u8, bytes: &[u8], _: &mut Vec<u8>) -> Result<Opening, Refusal> {
        Greeting::step(left, bytes)
    }

    fn write_farewell(&self, _: &mut u8, out: &mut Vec<u8>) -> bool {
        out.extend_from_slice(b"*1\r\n$4\r\nQUIT\r\n");
        true
    }

    #[inline]
    fn write(&self, _: &mut u8, request: Request, _: u32, out: &mut Vec<u8>) {
        let items = match &self.requests {
            Requests::Items(items) => items,
            Requests::Commands { list, compiled, .. } => {
                let values = list.values(request.item);
                return compiled[list.index(values)].write(values, out);
            }
        };
        let ttl_s = if request.kind == Kind::SET { items.ttl_s(request.item) } else { 0 };
        let (head, verb) = match (request.kind, ttl_s) {
            (Kind::SET, 0) => (3, "SET"),
            (Kind::SET, _) => (5, "SET"),
            _ => (2, "GET"),
        };
        // Writing to a Vec cannot fail.
        let _ = write!(out, "*{head}\r\n$3\r\n{verb}\r\n${}\r\n", items.key_length(request.item));
        items.write_key(request.item, out);
        out.extend_from_slice(b"\r\n");
        if request.kind == Kind::SET {
            let _ = write!(out, "${}\r\n", request.value_bytes);
            out.extend_from_slice(items.value(request.value_bytes));
            out.extend_from_slice(b"\r\n");
            if ttl_s > 0 {
                let _ = write!(out, "$2\r\nEX\r\n${}\r\n{ttl_s}\r\n", ttl_s.ilog10() + 1);
            }
        }
    }

    fn write_removal(&self, _: &mut u8, item: u32, _: u32, out: &mut Vec<u8>) {
        let Requests::Items(items) = &self.requests else { return };
        // Writing to a Vec cannot fail.
        let _ = write!(out, "*2\r\n$3\r\nDEL\r\n${}\r\n", items.key_length(item));
        items.write_key(item, out);
        out.extend_from_slice(b"\r\n");
    }

    #[inline]
    fn read(&self, _: &mut u8, kind: Kind, bytes: &[u8]) -> Result<Incoming, Garbage> {
        let Some(end) = line_end(bytes) else { return Ok(Incoming::More) };
        let garbage = || Garbage::new::<Self>(kind, bytes);
        if bytes[0] == b'>' {
            let mut push = Elements::aside();
            let extent = push.consume(&bytes[..end], &mut Vec::new()).map_err(|_| garbage())?;
            let rest = if extent.whole { Remainder::EMPTY } else { Remainder::Elements(push) };
            return Ok(Incoming::Aside { head: extent.bytes, rest });
        }
        if let Requests::Commands { replies, .. } = &self.requests {
            let mut elements = Elements::new(replies.get(usize::from(kind.0)).copied().unwrap_or(1));
            let extent = elements.consume(&bytes[..end], &mut Vec::new()).map_err(|_| garbage())?;
            let rest = if extent.whole { Remainder::EMPTY } else { Remainder::Elements(elements) };
            return Ok(Incoming::reply(end, rest, elements.outcome()));
        }
        let line = bytes[..end].strip_suffix(b"\r\n").ok_or_else(garbage)?;
        match (line.first(), kind) {
            (Some(b'-'), _) => Ok(Incoming::line(end, Outcome::Error)),
            (Some(b':'), Kind::REMOVED) if line == b":0" => Ok(Incoming::line(end, Outcome::Miss)),
            (Some(b':'), Kind::REMOVED) | (Some(b'+'), Kind::SET) => Ok(Incoming::line(end, Outcome::Hit)),
            _ if line == b"$-1" || line == b"_" => Ok(Incoming::line(end, Outcome::Miss)),
            (Some(b'$'), Kind::GET) => {
                let size = number(&line[1..]).ok_or_else(garbage)?;
                let rest = Remainder::Bytes { left: size + 2, end: b"\r\n" };
                Ok(Incoming::reply(end, rest, Outcome::Hit))
            }
            _ => Err(garbage()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::items::filler;
    use super::super::tests::{check_reply, plan};
    use super::super::Reader;
    use super::*;

    fn commands(list: &serde_json::Value) -> Redis {
        let mut plan = plan("redis");
        plan.workload = serde_json::from_value(json!({"kind": "commands", "commands": list})).unwrap();
        Redis::new(&plan)
    }

    fn encode(codec: &Redis, request: Request) -> String {
        let mut out = Vec::new();
        codec.write(&mut 0, request, 0, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn requests_are_arrays_of_bulk_strings() {
        let codec = Redis::new(&plan("redis"));
        let value = String::from_utf8(filler(2)).unwrap();
        let expected = format!("*3\r\n$3\r\nSET\r\n$30\r\n0012{}\r\n$2\r\n{value}\r\n", "k".repeat(26));
        assert_eq!(encode(&codec, Request { kind: Kind::SET, item: 12, value_bytes: 2 }), expected);
    }

    #[test]
    fn commands_have_the_planned_words_and_correct_lengths() {
        let push = commands(&json!([{"command": "LPUSH l{{sequence:98}} {{string:3}} x"}]));
        let one = |item| encode(&push, Request { kind: Kind(0), item, value_bytes: 0 });
        assert!(one(1).starts_with("*4\r\n$5\r\nLPUSH\r\n$3\r\nl99\r\n$3\r\n"), "{}", one(1));
        assert!(one(2).contains("$4\r\nl100\r\n$3\r\n") && one(2).ends_with("\r\n$1\r\nx\r\n"), "{}", one(2));
        let multi = commands(&json!([{"command": [["MULTI"], ["INCR", "n"], ["EXEC"]]}]));
        let expected = "*1\r\n$5\r\nMULTI\r\n*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n*1\r\n$4\r\nEXEC\r\n";
        assert_eq!(encode(&multi, Request { kind: Kind(0), item: 0, value_bytes: 0 }), expected);
    }

    #[test]
    fn replies_are_recognised_however_they_are_split() {
        let codec = Redis::new(&plan("redis"));
        for (kind, reply, outcome) in [
            (Kind::GET, &b"$5\r\nhello\r\n"[..], Outcome::Hit),
            (Kind::GET, b"$0\r\n\r\n", Outcome::Hit),
            (Kind::GET, b"$-1\r\n", Outcome::Miss),
            (Kind::GET, b"_\r\n", Outcome::Miss),
            (Kind::SET, b"+OK\r\n", Outcome::Hit),
            (Kind::REMOVED, b":1\r\n", Outcome::Hit),
            (Kind::REMOVED, b":0\r\n", Outcome::Miss),
            (Kind::SET, b"-OOM command not allowed\r\n", Outcome::Error),
        ] {
            check_reply(&codec, kind, reply, outcome);
        }
        for bytes in [&b"ERROR\r\n"[..], b":1\r\n", b"$x\r\n", b"+OK\r\n"] {
            assert!(codec.read(&mut 0, Kind::GET, bytes).is_err(), "{bytes:?}");
        }
        let too_long = Reader::new::<Redis>().next(&codec, &mut 0, Kind::GET, b"$1\r\nab\r\n", |_| ());
        assert_eq!(too_long.unwrap_err().start, "b\r\n");
    }

    #[test]
    fn pushes_answer_nothing() {
        let push = b">2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n";
        for codec in [Redis::new(&plan("redis")), commands(&json!([{"command": "GET k"}]))] {
            let mut reader = Reader::new::<Redis>();
            for piece in push.chunks(3) {
                assert_eq!(reader.next(&codec, &mut 0, Kind(0), piece, |_| ()).unwrap(), None);
            }
            assert!(reader.is_fresh());
            let found = reader.next(&codec, &mut 0, Kind(0), b"$1\r\nv\r\n", |_| ()).unwrap().unwrap();
            assert_eq!(found.outcome, Outcome::Hit);
        }
    }

    #[test]
    fn replies_to_commands_may_have_any_type() {
        let codec = commands(&json!([
            {"command": "LRANGE l 0 -1"},
            {"command": [["MULTI"], ["LPUSH", "l", "x"], ["EXEC"]]},
        ]));
        for (kind, reply, outcome) in [
            (Kind(0), &b"*2\r\n$1\r\na\r\n*1\r\n:2\r\n"[..], Outcome::Hit),
            (Kind(0), b"*-1\r\n", Outcome::Miss),
            (Kind(0), b"-WRONGTYPE Operation\r\n", Outcome::Error),
            (Kind(1), b"+OK\r\n+QUEUED\r\n*1\r\n:3\r\n", Outcome::Hit),
            (Kind(1), b"+OK\r\n-ERR wrong number of arguments\r\n-EXECABORT discarded\r\n", Outcome::Error),
            (Kind(1), b"+OK\r\n+QUEUED\r\n*1\r\n-WRONGTYPE Operation\r\n", Outcome::Error),
        ] {
            check_reply(&codec, kind, reply, outcome);
        }
    }
}
