//! memcached's text protocol (protocol.txt of memcached 1.6), without meta commands.

use super::{line_end, number, Grammar, Outcome, ReplyKind, Step};

/// Length of `END` and its line end, in bytes.
const END: u64 = 5;

/// State of one connection: the number of values in the current reply so far.
#[derive(Default)]
pub struct Text {
    values: u32,
}

impl Grammar for Text {
    fn request(&mut self, bytes: &[u8]) -> Step<ReplyKind> {
        let Some(end) = line_end(bytes) else { return Step::More };
        let mut words = bytes[..end].trim_ascii_end().split(|&b| b == b' ').filter(|word| !word.is_empty());
        let Some(verb) = words.next() else { return Step::Garbage };
        let line = end as u64;
        let silent = bytes[..end].trim_ascii_end().ends_with(b" noreply");
        let one = if silent { ReplyKind::Silence } else { ReplyKind::One };
        match verb {
            b"get" | b"gets" => Step::Last(line, ReplyKind::Values(words.count() as u32)),
            b"gat" | b"gats" => Step::Last(line, ReplyKind::Values(words.count().saturating_sub(1) as u32)),
            b"set" | b"add" | b"replace" | b"append" | b"prepend" | b"cas" => {
                match words.nth(3).and_then(number) {
                    Some(size) => Step::Last(line + size + 2, one),
                    None => Step::Garbage,
                }
            }
            b"delete" | b"incr" | b"decr" | b"touch" | b"flush_all" | b"version" | b"verbosity" => {
                Step::Last(line, one)
            }
            b"stats" => Step::Last(line, ReplyKind::List),
            b"quit" => Step::Last(line, ReplyKind::Silence),
            _ => Step::Garbage,
        }
    }

    fn reply(&mut self, asked: ReplyKind, bytes: &[u8]) -> Step<Outcome> {
        let Some(end) = line_end(bytes) else { return Step::More };
        let line = bytes[..end].trim_ascii_end();
        let length = end as u64;
        if line == b"ERROR" || line.starts_with(b"CLIENT_ERROR") || line.starts_with(b"SERVER_ERROR") {
            self.values = 0;
            return Step::Last(length, Outcome::Error);
        }
        match asked {
            ReplyKind::Values(keys) => self.values(keys, line, length),
            ReplyKind::List if line == b"END" => Step::Last(length, Outcome::Hit),
            ReplyKind::List => Step::Piece(length),
            _ if matches!(line, b"NOT_STORED" | b"EXISTS" | b"NOT_FOUND") => {
                Step::Last(length, Outcome::Miss)
            }
            _ if matches!(line, b"STORED" | b"DELETED" | b"TOUCHED" | b"OK" | b"RESET") => {
                Step::Last(length, Outcome::Hit)
            }
            _ if line.starts_with(b"VERSION ") || line.first().is_some_and(u8::is_ascii_digit) => {
                Step::Last(length, Outcome::Hit)
            }
            _ => Step::Garbage,
        }
    }
}

impl Text {
    fn values(&mut self, keys: u32, line: &[u8], length: u64) -> Step<Outcome> {
        if line == b"END" {
            let all = std::mem::take(&mut self.values) >= keys;
            return Step::Last(length, if all { Outcome::Hit } else { Outcome::Miss });
        }
        let size = line.strip_prefix(b"VALUE ").and_then(|rest| rest.split(|&b| b == b' ').nth(2));
        let Some(size) = size.and_then(number) else { return Step::Garbage };
        self.values += 1;
        let whole = length + size + 2;
        if self.values < keys {
            return Step::Piece(whole);
        }
        // Only the end can follow the last key's value.
        self.values = 0;
        Step::Last(whole + END, Outcome::Hit)
    }
}
