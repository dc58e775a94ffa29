//! DNS over UDP (RFC 1035), one question per datagram. Only the response code of a reply is evaluated; its
//! records are skipped.

use std::borrow::Cow;

use hindmost_plan::{Dns as Queries, Plan, Workload};

use super::ids::{Ids, IN_FLIGHT};
use super::{Garbage, Incoming, Outcome, Protocol, Remainder};
use crate::transport::{DATAGRAM_LENGTH, LONGEST_DATAGRAM};
use crate::workload::{Kind, List, Request, Template};

/// Length of a header in either direction (4.1.1).
const HEADER: usize = 12;
/// Flags of the third byte: reply, truncated, recursion desired.
const REPLY: u8 = 0x80;
const TRUNCATED: u8 = 0x02;
const RECURSION: u8 = 0x01;
const CLASS_IN: [u8; 2] = [0, 1];
/// Start of the OPT pseudo-record, which states the longest acceptable reply (RFC 6891, 6.1.2): root name,
/// type OPT.
const OPT: [u8; 3] = [0, 0, 41];

/// Response codes by number (IANA, DNS RCODEs); empty if unassigned.
const CODES: [&str; 24] = [
    "NOERROR",
    "FORMERR",
    "SERVFAIL",
    "NXDOMAIN",
    "NOTIMP",
    "REFUSED",
    "YXDOMAIN",
    "YXRRSET",
    "NXRRSET",
    "NOTAUTH",
    "NOTZONE",
    "DSOTYPENI",
    "",
    "",
    "",
    "",
    "BADVERS",
    "BADKEY",
    "BADTIME",
    "BADMODE",
    "BADNAME",
    "BADALG",
    "BADTRUNC",
    "BADCOOKIE",
];
const NO_ERROR: u16 = 0;
const NO_NAME: u16 = 3;
/// The highest distinct response code.
const MAX_CODE: u16 = CUT - 1;
/// Flag added to a response code: the reply was truncated.
const CUT: u16 = 1 << 8;

/// Return the name of a reply's code as it appears in results.
pub fn code_name(code: u16) -> String {
    let rcode = code & MAX_CODE;
    let name = CODES.get(usize::from(rcode)).filter(|name| !name.is_empty());
    let name = name.map_or_else(|| format!("RCODE{rcode}"), |&name| name.into());
    if code & CUT == 0 {
        name
    } else {
        format!("{name} truncated")
    }
}

/// Return the outcome of a reply with that response code.
pub const fn outcome_of(code: u16) -> Outcome {
    match code & MAX_CODE {
        NO_ERROR => Outcome::Hit,
        NO_NAME => Outcome::Miss,
        _ => Outcome::Error,
    }
}

/// Return the response code of a whole message, with the upper bits from its OPT record (RFC 6891, 6.1.3). A
/// truncated message has only the bits of its header.
fn response_code(message: &[u8]) -> u16 {
    let low = message.get(3).map_or(0, |flags| u16::from(flags & 15));
    (extended_code(message).unwrap_or(0) << 4 | low).min(MAX_CODE)
}

fn extended_code(message: &[u8]) -> Option<u16> {
    let two = |at: usize| message.get(at..at + 2).map(|two| u16::from_be_bytes([two[0], two[1]]));
    let mut at = HEADER;
    for _ in 0..two(4)? {
        at = skip_name(message, at)? + 4;
    }
    for _ in 0..u32::from(two(6)?) + u32::from(two(8)?) + u32::from(two(10)?) {
        let fields = skip_name(message, at)?;
        if message.get(at..fields + 2)? == OPT {
            return message.get(fields + 4).map(|&high| high.into());
        }
        at = fields + 10 + usize::from(two(fields + 8)?);
    }
    None
}

/// Return the offset behind the name that begins at `at`.
fn skip_name(message: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match *message.get(at)? {
            0 => return Some(at + 1),
            // A pointer ends the name (4.1.4).
            0xc0.. => return Some(at + 2),
            length => at += 1 + usize::from(length),
        }
    }
}

/// The DNS codec.
pub struct Dns {
    list: List,
    questions: Vec<Question>,
    flags: u8,
    /// Bytes after a question. `records` is the number of records in them.
    additional: Vec<u8>,
    records: u8,
}

/// A domain name in text form and the queried type.
struct Question {
    name: Template,
    kind: u16,
}

impl Dns {
    fn compile(seed: u64, queries: &Queries) -> Self {
        let mut additional = Vec::new();
        if let Some(bytes) = queries.edns_bytes {
            additional.extend_from_slice(&OPT);
            additional.extend_from_slice(&bytes.to_be_bytes());
            additional.extend_from_slice(&[0; 6]);
        }
        let question = |one: &hindmost_plan::DnsQuery| {
            let mut name = Template::default();
            name.text(&one.name, queries.data.as_ref(), hindmost_plan::Escape::Raw);
            Question { name, kind: one.kind.number() }
        };
        Self {
            list: List::new(seed, &queries.weighted_kinds(), queries.data.as_ref())
                .in_turn(queries.in_turn()),
            questions: queries.all().iter().map(question).collect(),
            flags: if queries.recursion { RECURSION } else { 0 },
            records: u8::from(!additional.is_empty()),
            additional,
        }
    }
    /// Return an upper bound on a request's bytes.
    pub fn largest(&self) -> usize {
        let name = self.questions.iter().map(|one| one.name.largest()).max().unwrap_or(0);
        DATAGRAM_LENGTH + HEADER + name + FRAME + self.additional.len()
    }
}

/// Bytes around a name: the first length, the root, type and class.
const FRAME: usize = 1 + 1 + 2 + 2;

/// Convert the text name that starts at `from`, with one spare byte before it, into labels with their
/// lengths. `\.` is a dot within a label, `\DDD` a byte (RFC 1035, 5.1). The plan has checked that the name
/// fits.
fn label(out: &mut Vec<u8>, from: usize) {
    let (mut read, mut written, mut start) = (from + 1, from + 1, from);
    while let Some(&byte) = out.get(read) {
        read += 1;
        if byte == b'.' {
            out[start] = (written - start - 1) as u8;
            start = written;
        } else {
            out[written] = byte;
            if byte == b'\\' {
                (out[written], read) = unescape(out, read);
            }
        }
        written += 1;
    }
    // The root is the empty name, which also ends all other names.
    let ends = written == start + 1;
    out[start] = (written - start - 1) as u8;
    out.truncate(if ends && start == from + 1 && out[from] == 0 { start } else { written });
    if !ends {
        out.push(0);
    }
}

/// Decode the escape whose backslash is just before `at`. Return the byte and the offset behind the escape.
fn unescape(text: &[u8], at: usize) -> (u8, usize) {
    match *text.get(at..).unwrap_or_default() {
        [a @ b'0'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9', ..] => {
            let digit = |digit: u8| u32::from(digit - b'0');
            ((100 * digit(a) + 10 * digit(b) + digit(c)) as u8, at + 3)
        }
        [byte, ..] => (byte, at + 1),
        [] => (b'\\', at),
    }
}

impl Protocol for Dns {
    const PROTOCOL: hindmost_wire::Protocol = hindmost_wire::Protocol::Dns;
    /// The response code may be in the last record.
    const MAX_HEAD: usize = DATAGRAM_LENGTH + LONGEST_DATAGRAM;
    const TAGGED: bool = true;
    const BOUNDED: bool = true;
    const LOSSY: bool = true;
    const CODES: bool = true;

    type Session = Ids;

    fn new(plan: &Plan) -> Self {
        match &plan.workload {
            Workload::Dns(queries) => Self::compile(plan.seed, queries),
            _ => Self::compile(plan.seed, &Queries::default()),
        }
    }

    fn begin(&self, session: &mut Ids, _out: &mut Vec<u8>) -> bool {
        session.clear();
        true
    }

    fn in_flight(&self, _session: &Ids) -> usize {
        IN_FLIGHT
    }

    #[inline]
    fn is_free(&self, session: &Ids, tag: u32) -> bool {
        session.is_free(tag)
    }

    fn give_up(&self, session: &mut Ids, tag: u32) {
        session.give_up(tag);
    }

    #[inline]
    fn write(&self, session: &mut Ids, request: Request, tag: u32, out: &mut Vec<u8>) {
        let values = self.list.values(request.item);
        let question = &self.questions[self.list.index(values)];
        let (begin, [high, low]) = (out.len(), session.take(tag).to_be_bytes());
        let [types, rest] = question.kind.to_be_bytes();
        out.extend_from_slice(&[0, 0, high, low, self.flags, 0, 0, 1, 0, 0, 0, 0, 0, self.records]);
        let name = out.len();
        out.push(b'.');
        question.name.write(values, out);
        label(out, name);
        out.extend_from_slice(&[types, rest]);
        out.extend_from_slice(&CLASS_IN);
        out.extend_from_slice(&self.additional);
        let length = (out.len() - begin - DATAGRAM_LENGTH) as u16;
        out[begin..begin + DATAGRAM_LENGTH].copy_from_slice(&length.to_be_bytes());
    }

    #[inline]
    fn read(&self, session: &mut Ids, kind: Kind, bytes: &[u8]) -> Result<Incoming, Garbage> {
        let Some(head) = bytes.first_chunk::<{ DATAGRAM_LENGTH + HEADER }>() else {
            let whole = bytes.first_chunk::<DATAGRAM_LENGTH>().map(|length| u16::from_be_bytes(*length));
            return match whole {
                Some(length) if usize::from(length) < HEADER => Err(Garbage::new::<Self>(kind, bytes)),
                _ => Ok(Incoming::More),
            };
        };
        let length = usize::from(u16::from_be_bytes([head[0], head[1]]));
        if length < HEADER || head[4] & REPLY == 0 {
            return Err(Garbage::new::<Self>(kind, bytes));
        }
        let Some(message) = bytes.get(DATAGRAM_LENGTH..DATAGRAM_LENGTH + length) else {
            return Ok(Incoming::More);
        };
        let cut = if head[4] & TRUNCATED == 0 { 0 } else { CUT };
        let code = response_code(message);
        Ok(Incoming::Reply {
            head: DATAGRAM_LENGTH + length,
            rest: Remainder::EMPTY,
            outcome: outcome_of(code),
            closes: false,
            code: code | cut,
            tag: session.release(u16::from_be_bytes([head[2], head[3]])),
        })
    }

    fn error_text(head: &[u8]) -> Cow<'_, [u8]> {
        code_name(response_code(head.get(DATAGRAM_LENGTH..).unwrap_or_default())).into_bytes().into()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::{check_reply, plan};
    use super::*;

    fn codec(workload: serde_json::Value) -> Dns {
        let Workload::Dns(queries) = serde_json::from_value(workload).unwrap() else { panic!() };
        Dns::compile(1, &queries)
    }

    fn encode(codec: &Dns, tag: u32) -> Vec<u8> {
        let mut out = Vec::new();
        let request = Request { kind: Kind(0), item: tag, value_bytes: 0 };
        codec.write(&mut codec.session(), request, tag, &mut out);
        out
    }

    /// Return a reply as servers write it, with `records` bytes after its header.
    pub fn reply(id: u16, flags: [u8; 2], records: usize) -> Vec<u8> {
        let mut bytes = ((HEADER + records) as u16).to_be_bytes().to_vec();
        bytes.extend_from_slice(&id.to_be_bytes());
        bytes.extend_from_slice(&flags);
        bytes.resize(bytes.len() + 8 + records, 0xc0);
        bytes
    }

    #[test]
    fn a_question_has_the_format_of_rfc_1035() {
        let codec_for = |query| codec(json!({"kind": "dns", "queries": [query], "edns_bytes": null}));
        let mx = codec_for(json!({"name": "mail.example.", "type": "MX"}));
        assert_eq!(
            encode(&mx, 0x1_0203),
            b"\0\x1e\x02\x03\x01\0\0\x01\0\0\0\0\0\0\x04mail\x07example\0\0\x0f\0\x01"
        );
        let root = codec_for(json!({"name": ".", "type": "NS"}));
        assert_eq!(encode(&root, 0)[14..], b"\0\0\x02\0\x01"[..]);
        let edns = codec(json!({"kind": "dns", "queries": [{"name": "a"}], "recursion": false}));
        let written = encode(&edns, 1);
        assert_eq!((written[4], written[13], &written[14..17]), (0, 1, &b"\x01a\0"[..]));
        assert_eq!(written[21..], b"\0\0\x29\x04\xd0\0\0\0\0\0\0"[..], "1232 bytes");
    }

    #[test]
    fn templated_names_are_encoded_for_each_request() {
        let codec = codec(json!({"kind": "dns", "queries": [{"name": "h{{sequence:9}}.example"}]}));
        assert_eq!(encode(&codec, 0)[14..], encode(&codec, 0)[14..]);
        assert!(encode(&codec, 0)[14..].starts_with(b"\x02h9\x07example\0"));
        assert!(encode(&codec, 1)[14..].starts_with(b"\x03h10\x07example\0"));
    }

    #[test]
    fn response_codes_are_recognised() {
        let codec = Dns::new(&plan("dns"));
        for (flags, outcome, name) in [
            ([0x81, 0x80], Outcome::Hit, "NOERROR"),
            ([0x83, 0x80], Outcome::Hit, "NOERROR truncated"),
            ([0x85, 0x83], Outcome::Miss, "NXDOMAIN"),
            ([0x81, 0x82], Outcome::Error, "SERVFAIL"),
            ([0x80, 0x05], Outcome::Error, "REFUSED"),
            ([0x80, 0x0f], Outcome::Error, "RCODE15"),
        ] {
            let bytes = reply(7, flags, 30);
            check_reply(&codec, Kind(0), &bytes, outcome);
            let mut session = codec.session();
            session.take(7);
            let Ok(Incoming::Reply { code, tag, .. }) = codec.read(&mut session, Kind(0), &bytes) else {
                panic!()
            };
            assert_eq!((code_name(code), tag), (name.to_owned(), 7));
        }
        assert_eq!(&*Dns::error_text(&reply(7, [0x81, 0x82], 0)), b"SERVFAIL");
    }

    /// Return a reply with a question, an answer that points to its name, and an OPT record.
    fn extended_reply(high: u8, low: u8) -> Vec<u8> {
        let header = [0, 7, 0x81, 0x80 | low, 0, 1, 0, 1, 0, 0, 0, 1];
        let question = b"\x01a\x07example\0\0\x01\0\x01";
        let answer = b"\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04\x7f\0\0\x01";
        let opt = [0, 0, 41, 4, 208, high, 0, 0, 0, 0, 0];
        let message = [&header[..], question, answer, &opt].concat();
        [&(message.len() as u16).to_be_bytes()[..], &message].concat()
    }

    #[test]
    fn response_codes_have_the_bits_of_the_opt_record() {
        let codec = Dns::new(&plan("dns"));
        for (high, low, outcome, name) in [
            (0, 0, Outcome::Hit, "NOERROR"),
            (1, 0, Outcome::Error, "BADVERS"),
            (1, 7, Outcome::Error, "BADCOOKIE"),
            (1, 3, Outcome::Error, "BADMODE"),
            (2, 0, Outcome::Error, "RCODE32"),
            (255, 15, Outcome::Error, "RCODE255"),
        ] {
            let bytes = extended_reply(high, low);
            check_reply(&codec, Kind(0), &bytes, outcome);
            assert_eq!(&*Dns::error_text(&bytes), name.as_bytes());
        }
        // A truncated message has the code of its header.
        let whole = &extended_reply(1, 7)[2..];
        for end in HEADER..whole.len() - 6 {
            assert_eq!(response_code(&whole[..end]), 7, "{end}");
        }
    }

    #[test]
    fn escapes_are_bytes_of_their_label() {
        for (name, expected) in [
            ("a\\.b.example", &b"\x03a.b\x07example\0"[..]),
            ("\\001\\002.example.", b"\x02\x01\x02\x07example\0"),
            ("a\\\\b\\ c", b"\x05a\\b c\0"),
            ("\\046.x", b"\x01.\x01x\0"),
        ] {
            let codec = codec(json!({"kind": "dns", "queries": [{"name": name}]}));
            assert!(encode(&codec, 0)[14..].starts_with(expected), "{name}");
        }
    }

    #[test]
    fn other_datagrams_are_garbage() {
        let codec = Dns::new(&plan("dns"));
        let query = reply(7, [0x01, 0], 10);
        let short = [&b"\0\x0b"[..], &[0x80; 11]].concat();
        for bytes in [query, short] {
            assert!(codec.read(&mut codec.session(), Kind(0), &bytes).is_err(), "{bytes:?}");
        }
    }
}
