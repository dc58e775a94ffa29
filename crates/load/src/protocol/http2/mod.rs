//! HTTP/2 (RFC 9113) to a server known to support it. Each request is a stream; replies arrive in any order.
//!
//! ```text
//! client  preface SETTINGS WINDOW_UPDATE            HEADERS 1  HEADERS 3 DATA 3           ACK  PING ack
//! server                                 SETTINGS                              HEADERS 3 DATA 3  PING
//! HEADERS 1 ...
//! ```
//!
//! The client's windows never fill up, so no reply waits for the client. If the server's windows are full, a
//! request body and all later requests wait.

mod frames;
mod grpc;
mod hpack;
mod requests;
mod resets;
mod session;

use std::borrow::Cow;

use hindmost_plan::{Plan, Workload};

use self::frames::{Frame, HEAD, MAX_PAYLOAD};
use self::requests::CompiledRequest;
use self::session::{Session, Stream, Unsent};
use super::http::ReplyRules;
use super::streamed::{Messages, Streamed};
use super::{quote, Garbage, Incoming, Opening, Outcome, Protocol, Refusal, Remainder};
use crate::workload::{Kind, List, Request};

pub use self::grpc::{status_name, status_outcome};
pub use self::resets::reset_name;

/// HTTP requests, whose outcome is the HTTP status.
pub type Http2 = Streams<false>;
/// gRPC calls with one request each, whose outcome is the status in the trailers.
pub type Grpc = Streams<true>;

/// The HTTP/2 codec. Each request of the list is compiled once.
pub struct Streams<const GRPC: bool> {
    list: List,
    requests: Vec<CompiledRequest>,
    kinds: Vec<ReplyRules>,
    /// Whether the requests accept compressed replies.
    compressed: bool,
    /// Whether the messages of replies are counted. A call may then have any number of them.
    streamed: bool,
}

/// The bytes are not a frame that a server may send now.
struct Wrong;

impl<const GRPC: bool> Protocol for Streams<GRPC> {
    const PROTOCOL: hindmost_wire::Protocol =
        if GRPC { hindmost_wire::Protocol::Grpc } else { hindmost_wire::Protocol::Http2 };
    const MAY_CLOSE: bool = true;
    /// Room for a HEADERS frame with some CONTINUATION frames.
    const MAX_HEAD: usize = 2 * (HEAD + MAX_PAYLOAD);
    const TAGGED: bool = true;
    const HAS_CONTROL: bool = true;
    const BOUNDED: bool = true;
    const STREAMS: bool = true;
    const REFUSAL: Option<&'static [u8]> = Some(b"RST_STREAM: REFUSED_STREAM, twice for the same request");

    type Session = Session;

    fn new(plan: &Plan) -> Self {
        let Workload::Http(http) = &plan.workload else {
            unreachable!("the plan has checked that HTTP/2 gets an http workload")
        };
        let requests: Vec<CompiledRequest> =
            http.all().iter().map(|one| CompiledRequest::new(one, http, plan, GRPC)).collect();
        Self {
            list: List::new(plan.seed, &http.weighted_kinds(), http.data.as_ref())
                .in_sessions(http.session.is_some()),
            kinds: ReplyRules::all(plan, http),
            compressed: http.all().iter().any(|one| {
                one.headers
                    .keys()
                    .chain(http.headers.keys())
                    .any(|name| name.eq_ignore_ascii_case("grpc-accept-encoding"))
            }),
            streamed: plan.stream,
            requests,
        }
    }

    fn session(&self) -> Session {
        Session::new(Self::MAX_HEAD)
    }

    fn begin(&self, session: &mut Session, out: &mut Vec<u8>) -> bool {
        session.begin();
        frames::greeting(out);
        false
    }

    fn opening(&self, session: &mut Session, bytes: &[u8], out: &mut Vec<u8>) -> Result<Opening, Refusal> {
        let sign = &bytes[..bytes.len().min(4)];
        // A server's preface is a frame of type 4, SETTINGS, of any length (RFC 9113, 3.4).
        if sign.first().is_some_and(|&byte| byte != 0)
            || sign.get(3).is_some_and(|&kind| kind != frames::SETTINGS)
        {
            return Err(Refusal::Protocol(quote("the server does not speak HTTP/2:", bytes)));
        }
        if bytes.len() < HEAD || bytes.len() < HEAD + Frame::parse(bytes).length {
            return Ok(Opening::More);
        }
        let end = HEAD + Frame::parse(bytes).length;
        session.apply_settings(&bytes[HEAD..end]);
        session.write_pending(out);
        // A WINDOW_UPDATE of the connection usually follows.
        let mut after = end;
        while let Some(rest) = bytes.get(after..).filter(|rest| rest.len() >= HEAD) {
            let frame = Frame::parse(rest);
            if frame.kind != frames::WINDOW_UPDATE || rest.len() < HEAD + frame.length {
                break;
            }
            session.add_window(frame, &rest[HEAD..HEAD + frame.length]);
            after += HEAD + frame.length;
        }
        Ok(Opening::Done(after))
    }

    /// Append GOAWAY, which endpoints should always send before they close (RFC 9113, 6.8).
    fn write_farewell(&self, _: &mut Session, out: &mut Vec<u8>) -> bool {
        frames::write_farewell(out);
        true
    }

    fn in_flight(&self, session: &Session) -> usize {
        session.in_flight()
    }

    #[inline]
    fn write(&self, session: &mut Session, request: Request, tag: u32, out: &mut Vec<u8>) {
        let values = self.list.values(request.item);
        let compiled = &self.requests[self.list.index(values)];
        let body = compiled.body(values);
        if session.accepts(body) {
            compiled.write(values, body, 2 * tag + 1, out);
            session.push(tag, request.kind, body);
        } else {
            compiled.write_fields(values, false, 2 * tag + 1, out);
            session.push_unsent(tag, request, body);
            self.send_bodies(session, out);
        }
    }

    fn may_repeat(&self, kind: Kind) -> bool {
        self.kinds.get(usize::from(kind.0)).is_none_or(ReplyRules::is_idempotent)
    }

    fn may_repeat_unhandled(&self, _kind: Kind) -> bool {
        true
    }

    fn write_control(&self, session: &mut Session, out: &mut Vec<u8>) {
        session.write_pending(out);
        self.send_bodies(session, out);
    }

    fn closing_tag(&self, session: &Session) -> Option<u32> {
        session.closing_tag()
    }

    #[inline]
    fn read(&self, session: &mut Session, kind: Kind, bytes: &[u8]) -> Result<Incoming, Garbage> {
        self.frame(session, bytes).map_err(|Wrong| Garbage::new::<Self>(kind, bytes))
    }

    #[inline]
    fn finish_message(&self, session: &mut Session, rest: &Remainder) {
        if let Remainder::Streamed(frame) = rest {
            session.keep_position(frame);
        }
    }

    fn error_text(head: &[u8]) -> Cow<'_, [u8]> {
        if head.get(3) != Some(&frames::RST_STREAM) {
            return if GRPC { grpc::error_text(head) } else { b"a status that the workload does not accept" }
                .into();
        }
        resets::error_text(frames::number(head.get(HEAD..).unwrap_or_default())).as_bytes().into()
    }
}

impl<const GRPC: bool> Streams<GRPC> {
    /// Return an upper bound on a request's bytes, including frame headers.
    pub fn largest(&self) -> usize {
        let request_bytes = |one: &CompiledRequest| {
            let (fields, body) = one.largest();
            fields + body + HEAD * (2 + body / MAX_PAYLOAD)
        };
        self.requests.iter().map(request_bytes).max().unwrap_or(0)
    }

    /// Send as much of waiting bodies as the server's windows and the space in `out` allow.
    fn send_bodies(&self, session: &mut Session, out: &mut Vec<u8>) {
        while let Some(Unsent { tag, item, left, open }) = session.unsent() {
            let room = (out.capacity() - out.len()).saturating_sub(HEAD);
            let piece = open.min(MAX_PAYLOAD).min(room);
            if piece == 0 {
                return;
            }
            let values = self.list.values(item);
            let mut body = std::mem::take(&mut session.body);
            body.clear();
            self.requests[self.list.index(values)].write_body(values, &mut body);
            let from = body.len() - left;
            let flags = if piece == left { frames::END_STREAM } else { 0 };
            Frame::write(frames::DATA, flags, 2 * tag + 1, &body[from..from + piece], out);
            session.body = body;
            session.record_sent(tag, piece);
        }
    }

    /// Parse the first frame of `bytes`.
    #[inline]
    fn frame(&self, session: &mut Session, bytes: &[u8]) -> Result<Incoming, Wrong> {
        if bytes.len() < HEAD {
            return Ok(Incoming::More);
        }
        let frame = Frame::parse(bytes);
        if frame.length > MAX_PAYLOAD {
            return Err(Wrong);
        }
        let whole = HEAD + frame.length;
        let tag = frame.stream / 2;
        if frame.kind == frames::DATA && self.streamed {
            if let Some(messages) = session.stream(tag).and_then(|stream| stream.messages) {
                return Ok(self.messages(session, frame, messages, &bytes[HEAD..]));
            }
        }
        if frame.kind == frames::DATA {
            let stream = session.stream(tag).filter(|_| GRPC);
            let looked_at = stream.map_or(Some(0), |one| one.message.take(frame, &bytes[HEAD..]));
            let Some(looked_at) = looked_at else { return Ok(Incoming::More) };
            session.count_received(frame.length);
            let head = HEAD + looked_at;
            let rest = Remainder::Bytes { left: (frame.length - looked_at) as u64, end: b"" };
            return Ok(self.end(session, frame, head, rest).unwrap_or(Incoming::Aside { head, rest }));
        }
        if bytes.len() < whole {
            return Ok(Incoming::More);
        }
        let payload = &bytes[HEAD..whole];
        let mut head = whole;
        match frame.kind {
            frames::HEADERS => {
                let Some(end) = self.headers(session, frame, bytes)? else { return Ok(Incoming::More) };
                head = end;
                if let Some(reply) = self.end(session, frame, head, Remainder::EMPTY) {
                    return Ok(reply);
                }
            }
            frames::RST_STREAM => {
                if let Some(ended) = Self::reset(session, tag, payload) {
                    return Ok(ended);
                }
            }
            frames::SETTINGS if !frame.has(frames::ACK) => session.apply_settings(payload),
            frames::PING if !frame.has(frames::ACK) => session.queue_ping(payload),
            frames::GOAWAY => session.apply_goaway(payload),
            frames::WINDOW_UPDATE => session.add_window(frame, payload),
            frames::PUSH_PROMISE | frames::CONTINUATION => return Err(Wrong),
            _ => {}
        }
        Ok(Incoming::Aside { head, rest: Remainder::EMPTY })
    }

    /// Parse the start of a DATA frame that continues the messages of a streamed reply. `bytes` follow the
    /// frame's header.
    fn messages(&self, session: &mut Session, frame: Frame, messages: Messages, bytes: &[u8]) -> Incoming {
        let padded = usize::from(frame.has(frames::PADDED) && frame.length > 0);
        let Some(padding) = bytes.get(..padded) else { return Incoming::More };
        let padding = padding.first().copied().unwrap_or(0);
        session.count_received(frame.length);
        let (head, left) = (HEAD + padded, (frame.length - padded) as u64);
        let rest = Remainder::Streamed(Streamed::frame(left, padding, messages, frame.stream / 2));
        self.end(session, frame, head, rest).unwrap_or(Incoming::Aside { head, rest })
    }

    /// Return what to count as messages in a reply with these headers, if anything.
    fn messages_of(&self, kind: Kind, found: hpack::Statuses, status: u16) -> Option<Messages> {
        if GRPC {
            return self.streamed.then(Messages::of_call);
        }
        // An error reply has no latency, so its messages have no times.
        let counts = self.streamed && found.events && self.rules(kind).outcome(status) != Outcome::Error;
        counts.then(Messages::events)
    }

    /// Whether the messages of a call that ends are complete, and as many as it has.
    fn are_whole(&self, stream: &Stream) -> bool {
        if self.streamed {
            stream.messages.is_some_and(|messages| messages.are_whole(self.compressed))
        } else {
            stream.message.is_whole(self.compressed)
        }
    }

    fn rules(&self, kind: Kind) -> &ReplyRules {
        &self.kinds[usize::from(kind.0).min(self.kinds.len() - 1)]
    }

    /// Handle `RST_STREAM`. Return the result for its request if the reply is still incomplete.
    #[cold]
    fn reset(session: &mut Session, tag: u32, payload: &[u8]) -> Option<Incoming> {
        let stream = *session.stream(tag)?;
        session.end(tag);
        let head = HEAD + payload.len();
        let error = frames::number(payload);
        let code = if GRPC { resets::grpc_status(error) } else { resets::code(error) };
        // A server that has begun to answer has processed the request, whatever the error code says.
        if error == frames::REFUSED_STREAM && stream.status == 0 {
            return Some(Incoming::Refused { head, code, tag });
        }
        let (rest, outcome) = (Remainder::EMPTY, Outcome::Error);
        Some(Incoming::Reply { head, rest, outcome, closes: false, code, tag })
    }

    /// Parse the status of a reply. Return the end of its fields, which may fill several frames.
    #[inline]
    fn headers(&self, session: &mut Session, frame: Frame, bytes: &[u8]) -> Result<Option<usize>, Wrong> {
        let mut end = HEAD + frame.length;
        let fields = frame.fields(&bytes[HEAD..end]).ok_or(Wrong)?;
        let found = if frame.has(frames::END_HEADERS) {
            hpack::parse_statuses(fields)
        } else {
            session.block.clear();
            session.block.extend_from_slice(fields);
            loop {
                let Some(rest) = bytes.get(end..).filter(|rest| rest.len() >= HEAD) else { return Ok(None) };
                let next = Frame::parse(rest);
                if next.kind != frames::CONTINUATION
                    || next.stream != frame.stream
                    || next.length > MAX_PAYLOAD
                {
                    return Err(Wrong);
                }
                let Some(more) = rest.get(HEAD..HEAD + next.length) else { return Ok(None) };
                session.block.extend_from_slice(more);
                end += HEAD + next.length;
                if next.has(frames::END_HEADERS) {
                    break hpack::parse_statuses(&session.block);
                }
            }
        }
        .map_err(|hpack::MalformedBlock| Wrong)?;
        // Trailers have no HTTP status. Interim replies are followed by the final one.
        if let (Some(status @ 200..), Some(stream)) = (found.status, session.stream(frame.stream / 2)) {
            stream.status = status;
            stream.messages = self.messages_of(stream.kind, found, status);
        }
        let is_last = frame.has(frames::END_STREAM);
        if let (true, Some(grpc), Some(stream)) =
            (GRPC && is_last, found.grpc, session.stream(frame.stream / 2))
        {
            stream.grpc = Some(grpc);
        }
        Ok(Some(end))
    }

    /// Return the reply that `frame` completes, if any.
    #[inline]
    fn end(&self, session: &mut Session, frame: Frame, head: usize, rest: Remainder) -> Option<Incoming> {
        let tag = frame.stream / 2;
        if !frame.has(frames::END_STREAM) {
            return None;
        }
        let stream = *session.stream(tag)?;
        session.end(tag);
        let (outcome, code) = if GRPC {
            let code = match stream.grpc {
                Some(grpc::OK) if !self.are_whole(&stream) => grpc::INTERNAL,
                Some(code) => code,
                None => grpc::status_from_http(stream.status),
            };
            (status_outcome(code), code)
        } else {
            (self.rules(stream.kind).outcome(stream.status), stream.status)
        };
        Some(Incoming::Reply { head, rest, outcome, closes: false, code, tag })
    }
}

#[cfg(test)]
mod tests;
