//! Checks of replies beyond their status code. A body is searched as it arrives and is never stored.

use hindmost_plan::{ReplyCheck, MOST_REPLY_CHECKS};
use httparse::Header;
use memchr::memmem::Finder;

/// Code under which replies that fail the first check are counted. HTTP has no such status, and the errors of
/// HTTP/2's resets have lower codes.
const FIRST_CODE: u16 = 32;

/// Return the code of the check with that index.
pub fn code(check: usize) -> u16 {
    FIRST_CODE + check as u16
}

/// Return the index of the failed check that `code` stands for, or `None` for other codes.
pub fn failed_check(code: u16) -> Option<usize> {
    code.checked_sub(FIRST_CODE).map(usize::from).filter(|&check| check < MOST_REPLY_CHECKS)
}

/// The compiled checks of one kind of request.
pub struct Checks(Vec<Check>);

enum Check {
    Body(Box<Text>),
    Header { name: String, value: Vec<u8> },
    Size(u64, u64),
}

/// The state of the arriving reply of one connection.
#[derive(Debug, Default)]
pub struct Checked {
    /// Bytes of the body so far.
    bytes: u64,
    /// Whether each check of a header or of the body has passed.
    passed: [bool; MOST_REPLY_CHECKS],
    /// For each check of the body: length of the start of its text that the body so far ends with.
    matched: [u16; MOST_REPLY_CHECKS],
}

impl Checks {
    /// Compile the checks, which the plan has parsed before.
    pub fn new(texts: &[String]) -> Self {
        let compile = |check| match check {
            ReplyCheck::Body(text) => Check::Body(Box::new(Text::new(text.into_bytes()))),
            ReplyCheck::Header { name, value } => Check::Header { name, value: value.into_bytes() },
            ReplyCheck::Size(least, most) => Check::Size(least, most),
        };
        Self(texts.iter().filter_map(|text| ReplyCheck::parse(text).ok()).map(compile).collect())
    }

    /// Start a reply with these headers.
    #[inline]
    pub fn begin(&self, reply: &mut Checked, headers: &[Header]) {
        if self.0.is_empty() {
            return;
        }
        *reply = Checked::default();
        for (check, passed) in self.0.iter().zip(&mut reply.passed) {
            if let Check::Header { name, value } = check {
                *passed = headers
                    .iter()
                    .any(|one| one.name.eq_ignore_ascii_case(name) && one.value.trim_ascii() == value);
            }
        }
    }

    /// Continue with a part of the body.
    #[inline]
    pub fn search(&self, reply: &mut Checked, part: &[u8]) {
        if self.0.is_empty() {
            return;
        }
        reply.bytes += part.len() as u64;
        for ((check, passed), matched) in self.0.iter().zip(&mut reply.passed).zip(&mut reply.matched) {
            if let Check::Body(text) = check {
                *passed = *passed || text.ends_in(part, matched);
            }
        }
    }

    /// Return the code of the first check that the complete reply fails.
    #[inline]
    pub fn failed_code(&self, reply: &Checked) -> Option<u16> {
        let fails = |(check, passed): (&Check, &bool)| match check {
            Check::Body(_) | Check::Header { .. } => !passed,
            Check::Size(least, most) => !(*least..=*most).contains(&reply.bytes),
        };
        self.0.iter().zip(&reply.passed).position(fails).map(code)
    }
}

/// A text to find in a body that arrives in parts.
struct Text {
    bytes: Vec<u8>,
    finder: Finder<'static>,
    /// For each start of the text, the longest shorter start that it ends with (Knuth, Morris and Pratt).
    borders: Vec<u16>,
}

impl Text {
    /// Compile a text, which is not empty and has fewer than 2^16 bytes.
    fn new(bytes: Vec<u8>) -> Self {
        let mut text = Self { finder: Finder::new(&bytes).into_owned(), borders: vec![0], bytes };
        let mut matched = 0;
        for at in 1..text.bytes.len() {
            matched = text.after(matched, text.bytes[at]);
            text.borders.push(matched);
        }
        text
    }

    /// Whether an occurrence ends in `part`. `matched` bytes of the text are at the end of the parts before, and
    /// then at the end of this part. Only bytes near the ends of a part are compared one by one.
    fn ends_in(&self, part: &[u8], matched: &mut u16) -> bool {
        let overlap = self.bytes.len() - 1;
        let (start, end) = (&part[..part.len().min(overlap)], &part[part.len().saturating_sub(overlap)..]);
        if self.completes(start, matched) || self.finder.find(part).is_some() {
            return true;
        }
        if part.len() > overlap {
            *matched = 0;
            self.completes(end, matched);
        }
        false
    }

    /// Whether the text ends in `bytes`, compared one by one.
    fn completes(&self, bytes: &[u8], matched: &mut u16) -> bool {
        bytes.iter().any(|&byte| {
            *matched = self.after(*matched, byte);
            usize::from(*matched) == self.bytes.len()
        })
    }

    /// Return the number of matched bytes after one more byte, if there were `matched` of them, but not all.
    fn after(&self, mut matched: u16, byte: u8) -> u16 {
        while self.bytes[usize::from(matched)] != byte {
            if matched == 0 {
                return 0;
            }
            matched = self.borders[usize::from(matched) - 1];
        }
        matched + 1
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_text_is_found_however_the_body_is_split(
            text in "[ab]{1,6}", parts in prop::collection::vec("[ab]{0,12}", 0..6),
        ) {
            let (mut matched, compiled) = (0, Text::new(text.clone().into_bytes()));
            let found = parts.iter().any(|part| compiled.ends_in(part.as_bytes(), &mut matched));
            prop_assert_eq!(found, parts.concat().contains(&text));
        }
    }
}
