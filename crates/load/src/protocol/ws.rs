//! WebSocket over HTTP/1.1 (RFC 6455): each message is answered by one message, in order.
//!
//! Messages of the server may come in fragments, with pings among them, which are answered. No extensions are asked
//! for. A server that closes says why: the oldest request that waits becomes an error in its words.

use std::sync::atomic::{AtomicU32, Ordering};

use base64::prelude::{Engine as _, BASE64_STANDARD};
use hindmost_plan::{Escape, Message, Messages, Plan, Workload};
use hindmost_random::mix;
use ring::digest::{digest, SHA1_FOR_LEGACY_USE_ONLY};

use super::{Garbage, Opening, Outcome, Parsed, Protocol, Refusal, Rest};
use crate::workload::{Kind, List, Request, Template};

/// What a server shows that it has read the key (RFC 6455, 1.3).
const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// A frame's header with its mask, at most (RFC 6455, 5.2).
const LARGEST_HEADER: usize = 14;
/// What a control frame carries, at most (RFC 6455, 5.5).
const LARGEST_CONTROL: usize = 125;
/// So much is kept of the start of an error, to be told.
const WORDS: usize = 256;
/// How a server begins that opens a WebSocket.
const SWITCHING: &[u8] = b"HTTP/1.1 101";
const FIN: u8 = 0x80;
const MASKED: u8 = 0x80;
/// The length stands behind, in two bytes, or in eight.
const IN_TWO: u8 = 0x7e;
const IN_EIGHT: u8 = 0x7f;

/// What a frame is (RFC 6455, 5.2).
mod opcode {
    pub const CONTINUATION: u8 = 0;
    pub const TEXT: u8 = 1;
    pub const BINARY: u8 = 2;
    pub const CLOSE: u8 = 8;
    pub const PONG: u8 = 10;
}

/// The codec.
pub struct Ws {
    list: List,
    sends: Vec<Send>,
    /// By kind.
    replies: Vec<Starts>,
    /// The opening of each path, up to its key.
    openings: Vec<Vec<u8>>,
    seed: u64,
    /// Connections so far.
    made: AtomicU32,
}

struct Send {
    opcode: u8,
    text: Template,
}

/// How replies of one kind start that are misses or errors.
struct Starts {
    miss: Option<Vec<u8>>,
    error: Option<Vec<u8>>,
    /// Bytes that tell what it is.
    decides: usize,
}

/// What is known of one connection.
#[derive(Default)]
pub struct Session {
    /// Which of all it is.
    number: u32,
    /// How often it was opened.
    openings: u32,
    /// What the server is to answer to the key.
    accept: [u8; 28],
    /// Requests without reply.
    waiting: u32,
    /// A message of which the last frame has not come yet.
    begun: Option<Outcome>,
    /// The pong or the farewell that is to be sent.
    says: Vec<u8>,
    /// The server has said goodbye.
    closed: bool,
}

/// The most bytes that a request of `messages` has.
pub fn largest_message(messages: &Messages) -> usize {
    messages.requests.iter().map(|one| text(one, messages).largest()).max().unwrap_or(0) + LARGEST_HEADER
}

fn text(message: &Message, messages: &Messages) -> Template {
    let mut text = Template::default();
    text.text(&message.send, messages.data.as_ref(), Escape::Raw);
    text
}

fn opening(path: &str, messages: &Messages, plan: &Plan) -> Vec<u8> {
    let host = messages.host.as_deref().unwrap_or(&plan.target.address);
    let mut lines = vec![format!("GET {path} HTTP/1.1"), format!("Host: {host}")];
    lines.extend(messages.headers.iter().map(|(name, value)| format!("{name}: {value}")));
    lines.extend(
        ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"].map(str::to_owned),
    );
    lines.push("Sec-WebSocket-Key: ".to_owned());
    lines.join("\r\n").into_bytes()
}

impl Starts {
    fn of(message: &Message) -> Self {
        let bytes = |text: &Option<String>| text.as_ref().map(|text| text.clone().into_bytes());
        let (miss, error) = (bytes(&message.miss), bytes(&message.error));
        let decides = [&miss, &error].iter().filter_map(|start| start.as_ref().map(Vec::len)).max();
        Self { miss, error, decides: decides.unwrap_or(0) }
    }

    fn outcome(&self, start: &[u8]) -> Outcome {
        let starts = |with: &Option<Vec<u8>>| with.as_ref().is_some_and(|with| start.starts_with(with));
        match (starts(&self.error), starts(&self.miss)) {
            (true, _) => Outcome::Error,
            (_, true) => Outcome::Miss,
            _ => Outcome::Hit,
        }
    }
}

/// The server answers as HTTP has it, or speaks another protocol.
fn no_websocket(bytes: &[u8]) -> Refusal {
    if !bytes.starts_with(b"HTTP/") {
        return Refusal::quoting("it does not speak WebSocket, but answers", bytes);
    }
    let line = bytes.split(|&b| b == b'\r' || b == b'\n').next().unwrap_or_default();
    Refusal(String::from_utf8_lossy(&line[..line.len().min(120)]).into_owned())
}

/// A frame's header, as far as replies have it.
struct Frame {
    fin: bool,
    opcode: u8,
    header: usize,
    length: u64,
}

impl Frame {
    /// `None`: not yet all there. Servers mask nothing, and nobody has agreed on reserved bits (RFC 6455, 5.1, 5.2).
    fn read(bytes: &[u8]) -> Option<Result<Self, ()>> {
        let &[first, second, ..] = bytes else { return None };
        let (header, length) = match second {
            MASKED.. => return Some(Err(())),
            IN_TWO => (4, u64::from(u16::from_be_bytes(*bytes.get(2..)?.first_chunk()?))),
            IN_EIGHT => (10, u64::from_be_bytes(*bytes.get(2..)?.first_chunk()?)),
            short => (2, u64::from(short)),
        };
        let frame = Self { fin: first & FIN != 0, opcode: first & 0xf, header, length };
        let control = frame.opcode >= opcode::CLOSE;
        let known = frame.opcode <= opcode::BINARY || (opcode::CLOSE..=opcode::PONG).contains(&frame.opcode);
        let right = known && first & 0x70 == 0 && length >> 63 == 0;
        Some(if right && !(control && (!frame.fin || length > LARGEST_CONTROL as u64)) {
            Ok(frame)
        } else {
            Err(())
        })
    }
}

/// Appends a frame's header, and says where its mask stands.
fn write_header(opcode: u8, length: usize, mask: [u8; 4], out: &mut Vec<u8>) {
    out.push(FIN | opcode);
    match length {
        0..=125 => out.push(MASKED | length as u8),
        126..=0xffff => {
            out.push(MASKED | IN_TWO);
            out.extend_from_slice(&(length as u16).to_be_bytes());
        }
        _ => {
            out.push(MASKED | IN_EIGHT);
            out.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(&mask);
}

#[inline]
fn apply(mask: [u8; 4], bytes: &mut [u8]) {
    let four = u64::from(u32::from_ne_bytes(mask));
    let wide = four << 32 | four;
    let mut words = bytes.chunks_exact_mut(8);
    for word in &mut words {
        let mut value = [0; 8];
        value.copy_from_slice(word);
        word.copy_from_slice(&(u64::from_ne_bytes(value) ^ wide).to_ne_bytes());
    }
    for (byte, key) in words.into_remainder().iter_mut().zip(mask.iter().cycle()) {
        *byte ^= key;
    }
}

impl Ws {
    fn data(
        &self,
        session: &mut Session,
        kind: Kind,
        bytes: &[u8],
        frame: &Frame,
    ) -> Result<Parsed, Garbage> {
        let garbage = || Err(Garbage::new::<Self>(kind, bytes));
        let first = frame.opcode != opcode::CONTINUATION;
        if first == session.begun.is_some() {
            return garbage();
        }
        let Some(starts) = self.replies.get(usize::from(kind.0)) else { return garbage() };
        let most = |most: usize| frame.header + frame.length.min(most as u64) as usize;
        let (mut head, mut outcome) = (most(starts.decides), session.begun.unwrap_or(Outcome::Hit));
        if first {
            let Some(start) = bytes.get(frame.header..head) else { return Ok(Parsed::More) };
            outcome = starts.outcome(start);
            if outcome == Outcome::Error {
                head = most(WORDS);
            }
        } else {
            head = frame.header;
        }
        if bytes.len() < head {
            return Ok(Parsed::More);
        }
        let rest = Rest::Bytes { left: frame.length - (head - frame.header) as u64, end: b"" };
        if !frame.fin {
            session.begun = Some(outcome);
            return Ok(Parsed::Aside { head, rest });
        }
        session.begun = None;
        session.waiting = session.waiting.saturating_sub(1);
        Ok(Parsed::reply(head, rest, outcome))
    }
}

impl Protocol for Ws {
    const PROTOCOL: hindmost_wire::Protocol = hindmost_wire::Protocol::Ws;
    /// What servers answer to an opening.
    const MAX_HEAD: usize = 8 * 1024;
    const ANSWERS: bool = true;

    type Session = Session;

    fn new(plan: &Plan) -> Self {
        let Workload::Messages(messages) = &plan.workload else {
            unreachable!("the plan has checked that {:?} gets messages", plan.target.protocol)
        };
        let kinds = plan.workload.kinds();
        let of = |name: &String| messages.requests.iter().find(|one| one.name == *name).map(Starts::of);
        let send = |one: &Message| Send {
            opcode: if one.binary { opcode::BINARY } else { opcode::TEXT },
            text: text(one, messages),
        };
        Self {
            list: List::new(plan.seed, &messages.listed(), messages.data.as_ref()),
            sends: messages.requests.iter().map(send).collect(),
            replies: kinds.iter().filter_map(of).collect(),
            openings: messages.paths.iter().map(|path| opening(path, messages, plan)).collect(),
            seed: plan.seed,
            made: AtomicU32::new(0),
        }
    }

    fn session(&self) -> Session {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        Session { number, says: Vec::with_capacity(LARGEST_HEADER + LARGEST_CONTROL), ..Session::default() }
    }

    fn begin(&self, session: &mut Session, out: &mut Vec<u8>) -> bool {
        session.openings += 1;
        (session.waiting, session.begun, session.closed) = (0, None, false);
        session.says.clear();
        let number = u64::from(session.openings) << 32 | u64::from(session.number);
        let words = [mix(self.seed ^ number), mix(!self.seed ^ number)];
        let mut key = [0; 24];
        let mut nonce = [0; 16];
        for (place, word) in nonce.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        let written = BASE64_STANDARD.encode_slice(nonce, &mut key);
        debug_assert_eq!(written, Ok(key.len()));
        let mut joined = [0; 60];
        joined[..24].copy_from_slice(&key);
        joined[24..].copy_from_slice(GUID.as_bytes());
        let shown = digest(&SHA1_FOR_LEGACY_USE_ONLY, &joined);
        let written = BASE64_STANDARD.encode_slice(shown.as_ref(), &mut session.accept);
        debug_assert_eq!(written, Ok(session.accept.len()));
        out.extend_from_slice(&self.openings[session.number as usize % self.openings.len()]);
        out.extend_from_slice(&key);
        out.extend_from_slice(b"\r\n\r\n");
        false
    }

    fn opening(&self, session: &mut Session, bytes: &[u8], _: &mut Vec<u8>) -> Result<Opening, Refusal> {
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
            let known =
                bytes.len() >= SWITCHING.len() && !bytes.starts_with(SWITCHING) && bytes.contains(&b'\n');
            return if known { Err(no_websocket(bytes)) } else { Ok(Opening::More) };
        };
        if !bytes.starts_with(SWITCHING) {
            return Err(no_websocket(bytes));
        }
        let value = |name: &str| {
            bytes[..end].split(|&b| b == b'\n').skip(1).find_map(|line| {
                let colon = line.iter().position(|&b| b == b':')?;
                line[..colon].eq_ignore_ascii_case(name.as_bytes()).then(|| line[colon + 1..].trim_ascii())
            })
        };
        if value("sec-websocket-accept") != Some(&session.accept[..]) {
            return Err(Refusal("its Sec-WebSocket-Accept does not fit our key".to_owned()));
        }
        if value("sec-websocket-extensions").is_some_and(|asked| !asked.is_empty()) {
            return Err(Refusal(
                "it wants extensions (Sec-WebSocket-Extensions) that nobody asked for".to_owned(),
            ));
        }
        Ok(Opening::Done(end + 4))
    }

    #[inline]
    fn write(&self, session: &mut Session, request: Request, _: u32, out: &mut Vec<u8>) {
        let values = self.list.values(request.item);
        let Send { opcode, text } = &self.sends[self.list.which(values)];
        let mask = (mix(self.seed ^ u64::from(request.item)) as u32 | 1).to_ne_bytes();
        write_header(*opcode, text.length(values), mask, out);
        let from = out.len();
        text.write(values, out);
        apply(mask, &mut out[from..]);
        session.waiting += 1;
    }

    fn answer(&self, session: &mut Session, out: &mut Vec<u8>) {
        if out.capacity() - out.len() >= session.says.len() {
            out.append(&mut session.says);
        }
    }

    fn leaves(&self, session: &Session) -> Option<u32> {
        session.closed.then_some(0)
    }

    fn read(&self, session: &mut Session, kind: Kind, bytes: &[u8]) -> Result<Parsed, Garbage> {
        let Some(frame) = Frame::read(bytes) else { return Ok(Parsed::More) };
        let frame = frame.map_err(|()| Garbage::new::<Self>(kind, bytes))?;
        if frame.opcode < opcode::CLOSE {
            return self.data(session, kind, bytes, &frame);
        }
        let head = frame.header + frame.length as usize;
        let Some(carried) = bytes.get(frame.header..head) else { return Ok(Parsed::More) };
        if frame.opcode != opcode::PONG {
            let closes = frame.opcode == opcode::CLOSE;
            // A newer one stands for those before it (RFC 6455, 5.5.3); a farewell is answered by its code.
            session.says.clear();
            let (of, echo) = if closes {
                (opcode::CLOSE, &carried[..carried.len().min(2)])
            } else {
                (opcode::PONG, carried)
            };
            write_header(of, echo.len(), [0; 4], &mut session.says);
            session.says.extend_from_slice(echo);
            session.closed |= closes;
            if closes && session.waiting > 0 {
                session.waiting -= 1;
                let reply = Parsed::reply(head, Rest::NOTHING, Outcome::Error);
                let Parsed::Reply { rest, outcome, code, tag, .. } = reply else { return Ok(reply) };
                return Ok(Parsed::Reply { head, rest, outcome, closes: true, code, tag });
            }
        }
        Ok(Parsed::Aside { head, rest: Rest::NOTHING })
    }

    fn complaint(head: &[u8]) -> &[u8] {
        match Frame::read(head) {
            Some(Ok(Frame { opcode: opcode::CLOSE, header, .. })) => farewell(&head[header..]),
            Some(Ok(frame)) => &head[frame.header..],
            _ => head,
        }
    }
}

/// What a server says that closes (RFC 6455, 7.4.1).
fn farewell(carried: &[u8]) -> &'static [u8] {
    match carried.first_chunk().map(|&code| u16::from_be_bytes(code)) {
        None => b"the server closed, without a code",
        Some(1000) => b"the server closed: 1000 normal closure",
        Some(1001) => b"the server closed: 1001 going away",
        Some(1002) => b"the server closed: 1002 protocol error",
        Some(1003) => b"the server closed: 1003 unacceptable data",
        Some(1007) => b"the server closed: 1007 no such text",
        Some(1008) => b"the server closed: 1008 policy violation",
        Some(1009) => b"the server closed: 1009 message too big",
        Some(1010) => b"the server closed: 1010 extension missing",
        Some(1011) => b"the server closed: 1011 internal error",
        Some(1012) => b"the server closed: 1012 service restart",
        Some(1013) => b"the server closed: 1013 try again later",
        Some(_) => b"the server closed, with a code of its own",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::{check_reply, plan};
    use super::super::Reader;
    use super::*;

    fn codec(workload: serde_json::Value) -> Ws {
        let mut plan = plan("ws");
        plan.workload = serde_json::from_value(workload).unwrap();
        Ws::new(&plan)
    }

    /// A frame as servers send it.
    fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![first];
        match payload.len() {
            0..=125 => bytes.push(payload.len() as u8),
            126..=0xffff => bytes.extend([&[126][..], &(payload.len() as u16).to_be_bytes()].concat()),
            _ => bytes.extend([&[127][..], &(payload.len() as u64).to_be_bytes()].concat()),
        }
        bytes.extend_from_slice(payload);
        bytes
    }

    /// What a frame of ours carries, unmasked.
    fn carried(bytes: &[u8]) -> (u8, Vec<u8>) {
        let (header, length) = match bytes[1] & 0x7f {
            126 => (4, usize::from(u16::from_be_bytes([bytes[2], bytes[3]]))),
            127 => (10, u64::from_be_bytes(bytes[2..10].try_into().unwrap()) as usize),
            short => (2, usize::from(short)),
        };
        let (mask, payload) = bytes[header..].split_at(4);
        assert_eq!((bytes[1] & MASKED, payload.len()), (MASKED, length));
        (bytes[0], payload.iter().zip(mask.iter().cycle()).map(|(byte, key)| byte ^ key).collect())
    }

    #[test]
    fn the_accepted_key_is_that_of_the_rfc() {
        // RFC 6455, 1.3.
        let shown = digest(&SHA1_FOR_LEGACY_USE_ONLY, format!("dGhlIHNhbXBsZSBub25jZQ=={GUID}").as_bytes());
        assert_eq!(BASE64_STANDARD.encode(shown.as_ref()), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn a_connection_opens_with_a_key_of_its_own_and_takes_only_what_fits_it() {
        let codec =
            codec(json!({"kind": "messages", "paths": ["/a", "/b"], "headers": {"Origin": "http://x"}}));
        let mut keys = Vec::new();
        for path in ["/a", "/b", "/a"] {
            let (mut session, mut out) = (codec.session(), Vec::new());
            assert!(!codec.begin(&mut session, &mut out));
            let asked = String::from_utf8(out).unwrap();
            assert!(asked.starts_with(&format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:1\r\n")), "{asked}");
            assert!(asked.contains("\r\nOrigin: http://x\r\n") && asked.ends_with("==\r\n\r\n"), "{asked}");
            keys.push(asked.split("Key: ").nth(1).unwrap().to_owned());
            let fits = String::from_utf8(session.accept.to_vec()).unwrap();
            let mut answers = |text: String| codec.opening(&mut session, text.as_bytes(), &mut Vec::new());
            let good =
                format!("HTTP/1.1 101 Go\r\nupgrade: websocket\r\nsec-websocket-ACCEPT:  {fits}\r\n\r\n");
            assert_eq!(answers(good.clone()), Ok(Opening::Done(good.len())));
            assert_eq!(answers(good[..good.len() - 1].to_owned()), Ok(Opening::More));
            let other = good.replace(&fits, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
            assert!(answers(other).unwrap_err().0.contains("does not fit our key"));
            let extended = good.replace("upgrade: websocket", "sec-websocket-extensions: permessage-deflate");
            assert!(answers(extended).unwrap_err().0.contains("extensions"));
            let refused = answers("HTTP/1.1 404 Not Found\r\nServer: x\r\n".to_owned()).unwrap_err();
            assert_eq!(refused.0, "HTTP/1.1 404 Not Found");
            let foreign = answers("-ERR unknown command\r\n".to_owned()).unwrap_err();
            assert!(foreign.0.contains("does not speak WebSocket"), "{foreign}");
        }
        assert!(keys[0] != keys[1] && keys[0] != keys[2]);
        let (mut session, mut again) = (codec.session(), Vec::new());
        codec.begin(&mut session, &mut Vec::new());
        let first = session.accept;
        codec.begin(&mut session, &mut again);
        assert_ne!(first, session.accept, "opened again, with another key");
    }

    #[test]
    fn messages_of_any_length_are_masked_and_are_what_the_plan_says() {
        for (length, binary) in [(0, false), (7, true), (125, false), (126, false), (70_000, true)] {
            let text = "m".repeat(length);
            let codec = codec(json!({"kind": "messages", "requests": [{"send": text, "binary": binary}]}));
            let (mut session, mut out) = (codec.session(), Vec::new());
            codec.write(&mut session, Request { kind: Kind(0), item: 5, value_bytes: 0 }, 0, &mut out);
            let opcode = if binary { opcode::BINARY } else { opcode::TEXT };
            assert_eq!(carried(&out), (FIN | opcode, text.clone().into_bytes()));
            assert!(length == 0 || !out.ends_with(&text.as_bytes()[..1.min(length)]) || out[2..6] != [0; 4]);
            let Workload::Messages(messages) =
                serde_json::from_value(json!({"kind": "messages", "requests": [{"send": text}]})).unwrap()
            else {
                panic!()
            };
            assert!(out.len() <= largest_message(&messages));
        }
    }

    #[test]
    fn replies_are_told_apart_however_they_arrive() {
        let codec = codec(json!({"kind": "messages", "requests": [{"miss": "none", "error": "ERR"}]}));
        for (payload, outcome) in [
            (&b"hello"[..], Outcome::Hit),
            (b"", Outcome::Hit),
            (b"no", Outcome::Hit),
            (b"none", Outcome::Miss),
            (b"nonesuch", Outcome::Miss),
            (b"ERR what", Outcome::Error),
            (&[b'x'; 300], Outcome::Hit),
        ] {
            check_reply(&codec, Kind(0), &frame(FIN | opcode::TEXT, payload), outcome);
            let half = payload.len() / 2;
            let fragments = [
                frame(opcode::BINARY, payload),
                frame(FIN | opcode::PONG, b"x"),
                frame(FIN, &payload[half..]),
            ];
            check_reply(&codec, Kind(0), &fragments.concat(), outcome);
        }
        let long = frame(FIN | opcode::BINARY, &vec![0; 70_000]);
        let mut session = codec.session();
        let found = Reader::new::<Ws>().next(&codec, &mut session, Kind(0), &long, |_| ()).unwrap().unwrap();
        assert_eq!((found.taken, found.outcome), (long.len(), Outcome::Hit));
    }

    #[test]
    fn what_no_server_may_send_is_garbage() {
        let codec = codec(json!({"kind": "messages"}));
        for bytes in [
            &[FIN | opcode::TEXT, MASKED, 0, 0, 0, 0][..], // masked
            &[FIN | 0x40 | opcode::TEXT, 0],               // a reserved bit
            &[FIN | 3, 0],                                 // no such frame
            &[FIN | 0xb, 0],
            &[FIN, 0],                          // a continuation of nothing
            &[opcode::CLOSE, 0],                // control in fragments
            &[FIN | opcode::PONG, 126, 0, 126], // and too long
            &[FIN | opcode::TEXT, 127, 0x80, 0, 0, 0, 0, 0, 0, 0],
            &[opcode::TEXT, 0, FIN | opcode::TEXT, 0], // one begun within another
        ] {
            let mut session = codec.session();
            let found = Reader::new::<Ws>().next(&codec, &mut session, Kind(0), bytes, |_| ());
            assert!(found.is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn pings_are_answered_and_a_farewell_is_told_by_its_code() {
        let codec = codec(json!({"kind": "messages"}));
        let mut session = codec.session();
        let read = |session: &mut Session, bytes: &[u8]| {
            let mut words = Vec::new();
            let tell = |said: &[u8]| words.extend_from_slice(said);
            let found = Reader::new::<Ws>().next(&codec, session, Kind(0), bytes, tell).unwrap();
            (found, String::from_utf8(words).unwrap())
        };
        assert_eq!(read(&mut session, &frame(FIN | 9, b"are you there")).0, None);
        let mut out = Vec::with_capacity(100);
        codec.answer(&mut session, &mut out);
        assert_eq!(carried(&out), (FIN | opcode::PONG, b"are you there".to_vec()));
        assert_eq!(codec.leaves(&session), None);

        codec.write(&mut session, Request { kind: Kind(0), item: 1, value_bytes: 0 }, 0, &mut Vec::new());
        let (reply, words) = read(&mut session, &frame(FIN | opcode::CLOSE, b"\x03\xf3oops"));
        let reply = reply.unwrap();
        assert_eq!((reply.outcome, reply.closes), (Outcome::Error, true));
        assert_eq!(words, "the server closed: 1011 internal error");

        codec.begin(&mut session, &mut Vec::new());
        assert_eq!(read(&mut session, &frame(FIN | opcode::CLOSE, b"")).0, None, "nobody waits for a reply");
        assert_eq!(codec.leaves(&session), Some(0));
        out.clear();
        codec.answer(&mut session, &mut out);
        assert_eq!(carried(&out), (FIN | opcode::CLOSE, Vec::new()));
    }
}
