//! Redis (redis.io, "Redis serialization protocol specification"). Requests are arrays of bulk strings and inline
//! commands; replies are any values. Subscriptions and pushes are not supported.

use super::{line_end, number, Grammar, Outcome, ReplyKind, Step};

/// State of one connection: the number of elements still missing in each direction, and the outcome of the reply.
#[derive(Default)]
pub struct Resp {
    asked: u64,
    answered: u64,
    outcome: Option<Outcome>,
}

impl Grammar for Resp {
    fn request(&mut self, bytes: &[u8]) -> Step<ReplyKind> {
        let Some(end) = line_end(bytes) else { return Step::More };
        let line = bytes[..end].trim_ascii_end();
        match (line.first(), self.asked) {
            (Some(b'*'), 0) => match number(&line[1..]) {
                Some(0) => Step::Last(end as u64, ReplyKind::Silence),
                Some(elements) => {
                    self.asked = elements;
                    Step::Piece(end as u64)
                }
                None => Step::Garbage,
            },
            (Some(letter), 0) if letter.is_ascii_alphabetic() => Step::Last(end as u64, ReplyKind::One),
            (Some(b'$'), 1..) => {
                let Some(size) = number(&line[1..]) else { return Step::Garbage };
                self.asked -= 1;
                let length = end as u64 + size + 2;
                if self.asked == 0 {
                    Step::Last(length, ReplyKind::One)
                } else {
                    Step::Piece(length)
                }
            }
            _ => Step::Garbage,
        }
    }

    fn reply(&mut self, _: ReplyKind, bytes: &[u8]) -> Step<Outcome> {
        let Some(end) = line_end(bytes) else { return Step::More };
        let line = bytes[..end].trim_ascii_end();
        let Some((sort, rest)) = line.split_first() else { return Step::Garbage };
        let null = rest == b"-1";
        // The number of elements that follow as parts of this one, and the number of bytes after the line.
        let (parts, size) = match (sort, number(rest)) {
            (b'+' | b'-' | b':' | b',' | b'_' | b'#' | b'(', _) => (0, 0),
            (b'$' | b'*', None) if null => (0, 0),
            (b'$' | b'=' | b'!', Some(size)) => (0, size + 2),
            (b'*' | b'~', Some(parts)) => (parts, 0),
            (b'%', Some(pairs)) => (2 * pairs, 0),
            _ => return Step::Garbage,
        };
        let outcome = *self.outcome.get_or_insert(match sort {
            b'-' | b'!' => Outcome::Error,
            b'_' => Outcome::Miss,
            _ if null => Outcome::Miss,
            _ => Outcome::Hit,
        });
        self.answered = self.answered.saturating_sub(1).saturating_add(parts);
        let length = end as u64 + size;
        if self.answered > 0 {
            return Step::Piece(length);
        }
        self.outcome = None;
        Step::Last(length, outcome)
    }
}
