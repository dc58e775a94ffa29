//! WebSocket over HTTP/1.1 (RFC 6455): each message is answered by one message, in order.
//!
//! The server's messages may be fragmented and interleaved with pings, which the client answers. The client
//! requests no extensions. A closing server states its reason: the oldest pending request becomes an error
//! with that text.

mod frame;
mod opening;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::atomic::{AtomicU32, Ordering};

use hindmost_plan::{Escape, Message, Messages, Plan, Workload};
use hindmost_random::mix;

use self::frame::{apply, opcode, write_header, Frame, LARGEST_CONTROL, LARGEST_HEADER};
use self::opening::{accept_for, key, parse_answer, request, Accept};
use super::prefixes::Prefixes;
use super::{Garbage, Incoming, Opening, Outcome, Protocol, Refusal, Remainder};
use crate::workload::{Kind, List, Request, Template};

/// Most bytes kept of the start of an error, for reports.
const WORDS: usize = 256;

/// The codec for WebSocket.
pub struct Ws {
    list: List,
    sends: Vec<Send>,
    /// Outcome prefixes by kind.
    replies: Vec<Prefixes>,
    /// The opening request of each path, up to its key.
    openings: Vec<Vec<u8>>,
    seed: u64,
    /// Number of sessions created so far.
    sessions: AtomicU32,
}

struct Send {
    opcode: u8,
    text: Template,
}

/// The state of one connection.
#[derive(Default)]
pub struct Session {
    /// Number of this session.
    number: u32,
    /// How often the connection was opened.
    openings: u32,
    /// The expected answer to the key.
    accept: Accept,
    /// Number of requests without a reply.
    waiting: u32,
    /// Outcome of a message whose last frame is missing.
    fragment: Option<Outcome>,
    /// A pong or close frame to be sent.
    pending: Vec<u8>,
    /// Whether the server has sent a close frame.
    closed: bool,
}

/// Return an upper bound on the bytes of a request of `messages`.
pub fn largest_message(messages: &Messages) -> usize {
    messages.requests.iter().map(|one| text(one, messages).largest()).max().unwrap_or(0) + LARGEST_HEADER
}

fn text(message: &Message, messages: &Messages) -> Template {
    let mut text = Template::default();
    text.text(&message.send, messages.data.as_ref(), Escape::Raw);
    text
}

impl Ws {
    fn data(
        &self,
        session: &mut Session,
        kind: Kind,
        bytes: &[u8],
        frame: &Frame,
    ) -> Result<Incoming, Garbage> {
        let garbage = || Err(Garbage::new::<Self>(kind, bytes));
        let first = frame.opcode != opcode::CONTINUATION;
        if first == session.fragment.is_some() {
            return garbage();
        }
        if session.waiting == 0 {
            // The server may send unrequested messages: a greeting or a push.
            session.fragment = (!frame.fin).then_some(Outcome::Hit);
            return Ok(Incoming::Aside {
                head: frame.header,
                rest: Remainder::Bytes { left: frame.length, end: b"" },
            });
        }
        let Some(prefixes) = self.replies.get(usize::from(kind.0)) else { return garbage() };
        let most = |most: usize| frame.header + frame.length.min(most as u64) as usize;
        let (mut head, mut outcome) = (most(prefixes.longest), session.fragment.unwrap_or(Outcome::Hit));
        if first {
            let Some(start) = bytes.get(frame.header..head) else { return Ok(Incoming::More) };
            outcome = prefixes.outcome(start);
            if outcome == Outcome::Error {
                head = most(WORDS);
            }
        } else {
            head = frame.header;
        }
        if bytes.len() < head {
            return Ok(Incoming::More);
        }
        let rest = Remainder::Bytes { left: frame.length - (head - frame.header) as u64, end: b"" };
        if !frame.fin {
            session.fragment = Some(outcome);
            return Ok(Incoming::Aside { head, rest });
        }
        session.fragment = None;
        session.waiting = session.waiting.saturating_sub(1);
        Ok(Incoming::reply(head, rest, outcome))
    }
}

impl Protocol for Ws {
    const PROTOCOL: hindmost_wire::Protocol = hindmost_wire::Protocol::Ws;
    /// Room for the server's answer to the opening.
    const MAX_HEAD: usize = 8 * 1024;
    const HAS_CONTROL: bool = true;

    type Session = Session;

    fn new(plan: &Plan) -> Self {
        let Workload::Messages(messages) = &plan.workload else {
            unreachable!("the plan has checked that {:?} gets messages", plan.target.protocol)
        };
        let kinds = plan.workload.kinds();
        let prefixes_of = |name: &String| {
            messages
                .requests
                .iter()
                .find(|one| one.name == *name)
                .map(|one| Prefixes::new(one.miss.as_deref(), one.error.as_deref()))
        };
        let send = |one: &Message| Send {
            opcode: if one.binary { opcode::BINARY } else { opcode::TEXT },
            text: text(one, messages),
        };
        Self {
            list: List::new(plan.seed, &messages.weighted_kinds(), messages.data.as_ref())
                .in_sessions(messages.session.is_some()),
            sends: messages.requests.iter().map(send).collect(),
            replies: kinds.iter().filter_map(prefixes_of).collect(),
            openings: messages.paths.iter().map(|path| request(path, messages, plan)).collect(),
            seed: plan.seed,
            sessions: AtomicU32::new(0),
        }
    }

    fn session(&self) -> Session {
        let number = self.sessions.fetch_add(1, Ordering::Relaxed);
        Session {
            number,
            pending: Vec::with_capacity(LARGEST_HEADER + LARGEST_CONTROL),
            ..Session::default()
        }
    }

    fn begin(&self, session: &mut Session, out: &mut Vec<u8>) -> bool {
        session.openings += 1;
        (session.waiting, session.fragment, session.closed) = (0, None, false);
        session.pending.clear();
        let key = key(self.seed, u64::from(session.openings) << 32 | u64::from(session.number));
        session.accept = accept_for(&key);
        out.extend_from_slice(&self.openings[session.number as usize % self.openings.len()]);
        out.extend_from_slice(&key);
        out.extend_from_slice(b"\r\n\r\n");
        false
    }

    fn opening(&self, session: &mut Session, bytes: &[u8], _: &mut Vec<u8>) -> Result<Opening, Refusal> {
        parse_answer(&session.accept, bytes)
    }

    #[inline]
    fn write(&self, session: &mut Session, request: Request, _: u32, out: &mut Vec<u8>) {
        let values = self.list.values(request.item);
        let Send { opcode, text } = &self.sends[self.list.index(values)];
        let mask = (mix(self.seed ^ u64::from(request.item)) as u32 | 1).to_ne_bytes();
        write_header(*opcode, text.length(values), mask, out);
        let from = out.len();
        text.write(values, out);
        apply(mask, &mut out[from..]);
        session.waiting += 1;
    }

    /// Append a close frame. The server answers it and closes first (RFC 6455, 7.1.1).
    fn write_farewell(&self, _: &mut Session, out: &mut Vec<u8>) -> bool {
        write_header(opcode::CLOSE, 2, [0; 4], out);
        out.extend_from_slice(&1000_u16.to_be_bytes());
        true
    }

    fn write_control(&self, session: &mut Session, out: &mut Vec<u8>) {
        if out.capacity() - out.len() >= session.pending.len() {
            out.append(&mut session.pending);
        }
    }

    fn closing_tag(&self, session: &Session) -> Option<u32> {
        session.closed.then_some(0)
    }

    fn read(&self, session: &mut Session, kind: Kind, bytes: &[u8]) -> Result<Incoming, Garbage> {
        let Some(frame) = Frame::read(bytes) else { return Ok(Incoming::More) };
        let frame = frame.map_err(|()| Garbage::new::<Self>(kind, bytes))?;
        if frame.opcode < opcode::CLOSE {
            return self.data(session, kind, bytes, &frame);
        }
        let head = frame.header + frame.length as usize;
        let Some(carried) = bytes.get(frame.header..head) else { return Ok(Incoming::More) };
        if frame.opcode != opcode::PONG {
            let closes = frame.opcode == opcode::CLOSE;
            // The pong for the latest ping replaces earlier ones (RFC 6455, 5.5.3). A close frame is answered
            // with its code.
            session.pending.clear();
            let (of, echo) = if closes {
                (opcode::CLOSE, &carried[..carried.len().min(2)])
            } else {
                (opcode::PONG, carried)
            };
            write_header(of, echo.len(), [0; 4], &mut session.pending);
            session.pending.extend_from_slice(echo);
            session.closed |= closes;
            if closes && session.waiting > 0 {
                session.waiting -= 1;
                let reply = Incoming::reply(head, Remainder::EMPTY, Outcome::Error);
                let Incoming::Reply { rest, outcome, code, tag, .. } = reply else { return Ok(reply) };
                return Ok(Incoming::Reply { head, rest, outcome, closes: true, code, tag });
            }
        }
        Ok(Incoming::Aside { head, rest: Remainder::EMPTY })
    }

    fn error_text(head: &[u8]) -> Cow<'_, [u8]> {
        match Frame::read(head) {
            Some(Ok(Frame { opcode: opcode::CLOSE, header, .. })) => {
                describe_close(&head[header..]).into_bytes().into()
            }
            Some(Ok(frame)) => head[frame.header..].into(),
            _ => head.into(),
        }
    }
}

/// Describe a server's close frame (RFC 6455, 7.4.1): the meaning of its code, and its reason.
fn describe_close(carried: &[u8]) -> String {
    let reason = String::from_utf8_lossy(carried.get(2..).unwrap_or_default());
    let meaning = meaning(carried);
    if reason.is_empty() {
        return meaning.to_owned();
    }
    format!("{meaning}: {reason}")
}

fn meaning(carried: &[u8]) -> &'static str {
    match carried.first_chunk().map(|&code| u16::from_be_bytes(code)) {
        None => "the server closed without a code",
        Some(1000) => "the server closed: 1000 normal closure",
        Some(1001) => "the server closed: 1001 going away",
        Some(1002) => "the server closed: 1002 protocol error",
        Some(1003) => "the server closed: 1003 unacceptable data",
        Some(1007) => "the server closed: 1007 no such text",
        Some(1008) => "the server closed: 1008 policy violation",
        Some(1009) => "the server closed: 1009 message too big",
        Some(1010) => "the server closed: 1010 extension missing",
        Some(1011) => "the server closed: 1011 internal error",
        Some(1012) => "the server closed: 1012 service restart",
        Some(1013) => "the server closed: 1013 try again later",
        Some(_) => "the server closed with an application-defined code",
    }
}
