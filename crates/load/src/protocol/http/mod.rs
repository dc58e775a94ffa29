//! HTTP/1 (RFC 9112): requests from a list, on connections that stay open as long as the server permits.

mod checks;
mod redirects;
mod requests;

use hindmost_plan::{Codes, HttpRequest, Plan, Workload};
use httparse::{Error, Header, ParserConfig, Response, Status};

pub use self::checks::failed_check;
use self::checks::{Checked, Checks};
use self::redirects::{is_redirect, Redirects, Target};
pub use self::redirects::{NotFollowed, LONGEST_PATH};
use self::requests::CompiledRequest;
use super::chunks::Chunks;
use super::{number, Garbage, Incoming, Outcome, Protocol, Remainder, Reply};
use crate::workload::{Kind, List, Request};

/// Number of header fields parsed without allocation.
const USUAL_HEADERS: usize = 96;

/// Status codes are below this (RFC 9110, 15); others are errors.
pub const CODES: usize = 600;

/// Status code after which the server speaks another protocol.
const SWITCHING: u16 = 101;

/// The HTTP/1 codec. Each request of the list is compiled once.
pub struct Http {
    list: List,
    requests: Vec<CompiledRequest>,
    kinds: Vec<ReplyRules>,
    takes_turns: bool,
    /// Most redirections of one request.
    most_redirects: u8,
}

/// The arriving reply of one connection.
#[derive(Debug, Default)]
pub struct Arriving {
    checked: Checked,
    target: Target,
}

/// How to interpret replies to requests of one kind.
pub struct ReplyRules {
    /// The reply has no body, whatever length its headers state (RFC 9112, 6.3).
    head_only: bool,
    /// The request may be repeated.
    idempotent: bool,
    /// Messages of a reply are counted.
    streamed: bool,
    /// The outcome of each status code.
    outcomes: [Outcome; CODES],
    /// Checks of replies with an accepted status code.
    checks: Checks,
    /// How to follow redirections, if they are followed.
    redirects: Option<Redirects>,
}

impl Protocol for Http {
    const PROTOCOL: hindmost_wire::Protocol = hindmost_wire::Protocol::Http;
    const MAY_CLOSE: bool = true;
    const STREAMS: bool = true;
    /// The header section, with those of the interim replies before it.
    const MAX_HEAD: usize = 64 * 1024;

    const MAY_REDIRECT: bool = true;

    type Session = Arriving;

    fn new(plan: &Plan) -> Self {
        let Workload::Http(http) = &plan.workload else {
            unreachable!("the plan has checked that http gets an http workload")
        };
        let requests: Vec<CompiledRequest> =
            http.all().iter().map(|one| CompiledRequest::new(one, http, plan)).collect();
        Self {
            list: List::new(plan.seed, &http.weighted_kinds(), http.data.as_ref())
                .in_sessions(http.session.is_some()),
            kinds: ReplyRules::all(plan, http),
            // A streamed reply occupies its connection for long.
            takes_turns: plan.stream
                || http.takes_turns()
                || requests.iter().any(|one| !one.tail().is_empty()),
            requests,
            most_redirects: http.follow.unwrap_or(0),
        }
    }

    fn session(&self) -> Arriving {
        let longest = if self.most_redirects > 0 { LONGEST_PATH } else { 0 };
        let target = Target { path: Vec::with_capacity(longest), refused: None };
        Arriving { target, ..Arriving::default() }
    }

    #[inline]
    fn write(&self, _: &mut Arriving, request: Request, _: u32, out: &mut Vec<u8>) {
        let values = self.list.values(request.item);
        self.requests[self.list.index(values)].write(values, out);
    }

    fn write_last(&self, _: &mut Arriving, request: Request, _: u32, out: &mut Vec<u8>) {
        let values = self.list.values(request.item);
        self.requests[self.list.index(values)].write_last(values, out);
    }

    #[inline]
    fn tail(&self, request: Request) -> &[u8] {
        // Requests with a tail take turns, so pipelined requests have none.
        if !self.takes_turns {
            return &[];
        }
        self.requests[self.list.index(self.list.values(request.item))].tail()
    }

    fn write_farewell(&self, _: &mut Arriving, _: &mut Vec<u8>) -> bool {
        true // the last request announces the close
    }

    fn most_redirects(&self) -> u8 {
        self.most_redirects
    }

    fn write_redirected(&self, arriving: &mut Arriving, request: Request, out: &mut Vec<u8>) {
        let values = self.list.values(request.item);
        self.requests[self.list.index(values)].write_redirected(&arriving.target.path, values, out);
    }

    fn takes_turns(&self) -> bool {
        self.takes_turns
    }

    fn may_repeat(&self, kind: Kind) -> bool {
        self.kinds.get(usize::from(kind.0)).is_none_or(|one| one.idempotent)
    }

    /// Whether `bytes` are empty lines, which some servers send after a body.
    fn is_padding(bytes: &[u8]) -> bool {
        bytes.iter().all(|byte| b"\r\n".contains(byte))
    }

    fn read(&self, arriving: &mut Arriving, kind: Kind, bytes: &[u8]) -> Result<Incoming, Garbage> {
        let rules = self.rules(kind);
        let mut at = 0;
        loop {
            let rest = &bytes[at..];
            match rules.reply(rest, arriving).map_err(|NotHttp| Garbage::new::<Self>(kind, rest))? {
                // An interim reply (RFC 9110, 15.2): the final one follows, unless the server switches
                // protocols.
                Incoming::Reply { head, code: 100 | 102..=199, .. } => at += head,
                Incoming::Reply { head, rest, outcome, closes, code, tag } => {
                    return Ok(Incoming::Reply { head: at + head, rest, outcome, closes, code, tag });
                }
                Incoming::More | Incoming::Aside { .. } | Incoming::Refused { .. } => {
                    return Ok(Incoming::More)
                }
            }
        }
    }

    #[inline]
    fn read_body(&self, arriving: &mut Arriving, kind: Kind, part: &[u8]) {
        self.rules(kind).checks.search(&mut arriving.checked, part);
    }

    #[inline]
    fn finish_reply(&self, arriving: &mut Arriving, kind: Kind, reply: &mut Reply) {
        let rules = self.rules(kind);
        if reply.outcome != Outcome::Hit {
            return;
        }
        let failed = if rules.follows(reply.code) {
            reply.redirects = arriving.target.refused.is_none();
            arriving.target.refused.map(|why| why as u16)
        } else {
            rules.checks.failed_code(&arriving.checked)
        };
        if let Some(code) = failed {
            (reply.outcome, reply.code) = (Outcome::Error, code);
        }
    }
}

/// Return a configuration that accepts frequent header mistakes of servers, as clients do (RFC 9112, 5.1 and
/// 5.2).
fn forgiving() -> ParserConfig {
    let mut config = ParserConfig::default();
    config
        .allow_spaces_after_header_name_in_responses(true)
        .allow_obsolete_multiline_headers_in_responses(true)
        .allow_multiple_spaces_in_response_status_delimiters(true)
        .ignore_invalid_headers_in_responses(true);
    config
}

impl Http {
    #[inline]
    fn rules(&self, kind: Kind) -> &ReplyRules {
        // Tests use kinds that are not in the list.
        &self.kinds[usize::from(kind.0).min(self.kinds.len() - 1)]
    }

    /// Return an upper bound on a request's bytes.
    pub fn largest(&self) -> usize {
        self.requests.iter().map(CompiledRequest::largest).max().unwrap_or(0)
    }
}

/// Return the outcome of a status code. Accepted codes are hits; 404 and 410 are misses; all others,
/// including redirections, are errors.
pub fn outcome(accept: &[Codes], code: u16) -> Outcome {
    match code {
        code if accept.iter().any(|one| one.contains(code)) => Outcome::Hit,
        404 | 410 => Outcome::Miss,
        _ => Outcome::Error,
    }
}

/// The bytes are not an HTTP/1 reply.
struct NotHttp;

impl ReplyRules {
    /// Compile the rules of all kinds.
    pub fn all(plan: &Plan, http: &hindmost_plan::Http) -> Vec<Self> {
        let all = http.all();
        let rules = |name: String| {
            let one = all.iter().find(|one| one.result_name() == name);
            let accept = one.and_then(|one| one.accept.as_ref()).unwrap_or(&http.accept);
            Self {
                idempotent: one.is_none_or(HttpRequest::is_idempotent),
                streamed: plan.stream,
                head_only: one.is_some_and(|one| one.method == "HEAD"),
                outcomes: std::array::from_fn(|code| outcome(accept, code as u16)),
                checks: Checks::new(&http.checks_of(&name)),
                redirects: Redirects::new(one, http, plan),
            }
        };
        plan.workload.kinds().into_iter().map(rules).collect()
    }

    /// Whether the request may be repeated although its bytes may have reached the server.
    pub fn is_idempotent(&self) -> bool {
        self.idempotent
    }

    /// Return the outcome of a status code.
    pub fn outcome(&self, code: u16) -> Outcome {
        self.outcomes.get(usize::from(code)).copied().unwrap_or(Outcome::Error)
    }

    /// Whether replies with this code are redirections that are followed.
    fn follows(&self, code: u16) -> bool {
        self.redirects.is_some() && is_redirect(code) && self.outcome(code) == Outcome::Error
    }

    /// Parse the first reply in `bytes`.
    fn reply(&self, bytes: &[u8], arriving: &mut Arriving) -> Result<Incoming, NotHttp> {
        let mut headers = [httparse::EMPTY_HEADER; USUAL_HEADERS];
        match self.reply_with(bytes, &mut headers, arriving) {
            Err(Error::TooManyHeaders) => self.reply_of_many(bytes, arriving),
            other => other,
        }
        .map_err(|_| NotHttp)
    }

    /// The same for a reply with more headers than usual: at most one per line.
    #[cold]
    fn reply_of_many(&self, bytes: &[u8], arriving: &mut Arriving) -> Result<Incoming, Error> {
        let lines = bytes.split(|&b| b == b'\n').count();
        self.reply_with(bytes, &mut vec![httparse::EMPTY_HEADER; lines], arriving)
    }

    fn reply_with<'a>(
        &self,
        bytes: &'a [u8],
        headers: &mut [Header<'a>],
        arriving: &mut Arriving,
    ) -> Result<Incoming, Error> {
        let mut response = Response::new(headers);
        let Status::Complete(head) = forgiving().parse_response(&mut response, bytes)? else {
            return Ok(Incoming::More);
        };
        let code = response.code.unwrap_or(0);
        let (mut length, mut coding) = (None, None);
        let (mut close, mut keep) = (false, response.version != Some(0));
        let mut events = false;
        for header in response.headers.iter() {
            if header.name.eq_ignore_ascii_case("content-length") {
                // A repeated equal value counts as one (RFC 9110, 8.6).
                for stated in header.value.split(|&b| b == b',') {
                    let stated = number(stated.trim_ascii()).ok_or(Error::HeaderValue)?;
                    if length.replace(stated).is_some_and(|length| length != stated) {
                        return Err(Error::HeaderValue);
                    }
                }
            } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
                coding = Some(header.value);
            } else if header.name.eq_ignore_ascii_case("connection") {
                close |= names(header.value, b"close");
                keep |= names(header.value, b"keep-alive");
            } else if self.streamed && header.name.eq_ignore_ascii_case("content-type") {
                events = is_event_stream(header.value);
            }
        }
        // Body length according to RFC 9112, 6.3. A body without a stated length ends when the server closes.
        let rest = match (code, coding, length) {
            (100..=199 | 204 | 304, ..) => Remainder::EMPTY,
            _ if self.head_only => Remainder::EMPTY,
            (_, Some(coding), _) if is_chunked(coding) => Remainder::Chunks(Chunks::new()),
            (_, None, Some(length)) => Remainder::Bytes { left: length, end: b"" },
            (_, Some(_), _) | (_, None, None) => Remainder::UntilClosed,
        };
        self.checks.begin(&mut arriving.checked, response.headers);
        let mut outcome = self.outcome(code);
        if let Some(redirects) = self.redirects.as_ref().filter(|_| self.follows(code)) {
            redirects.begin(&mut arriving.target, code, response.headers);
            // No error yet: the request may be redirected.
            outcome = Outcome::Hit;
        }
        let closes = close || !keep || rest == Remainder::UntilClosed || code == SWITCHING;
        // An error reply has no latency, and a redirection is no reply to the user, so messages have no times.
        let rest = if self.streamed && self.outcome(code) != Outcome::Error {
            rest.into_streamed(events)
        } else {
            rest
        };
        Ok(Incoming::Reply { head, rest, outcome, closes, code, tag: 0 })
    }
}

/// Whether `option` is among the options of a `Connection` header.
fn names(options: &[u8], option: &[u8]) -> bool {
    options.split(|&b| b == b',').any(|one| one.trim_ascii().eq_ignore_ascii_case(option))
}

/// Whether chunked is the last coding of a `Transfer-Encoding` header; only then does it end the body.
fn is_chunked(codings: &[u8]) -> bool {
    codings
        .rsplit(|&b| b == b',')
        .next()
        .is_some_and(|last| last.trim_ascii().eq_ignore_ascii_case(b"chunked"))
}

/// Whether a `Content-Type` header announces server-sent events.
pub fn is_event_stream(value: &[u8]) -> bool {
    let kind = value.split(|&b| b == b';').next().unwrap_or_default();
    kind.trim_ascii().eq_ignore_ascii_case(b"text/event-stream")
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check_reply, plan};
    use super::super::Reader;
    use super::*;

    #[test]
    fn requests_name_path_and_host() {
        let mut out = Vec::new();
        Http::new(&plan("http")).write(
            &mut Arriving::default(),
            Request { kind: Kind::GET, item: 0, value_bytes: 0 },
            0,
            &mut out,
        );
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("GET / HTTP/1.1\r\nHost: 127.0.0.1:1\r\n") && text.ends_with("\r\n\r\n"));
    }

    #[test]
    fn replies_are_recognised_however_they_are_split() {
        let codec = Http::new(&plan("http"));
        for (reply, outcome) in [
            (&b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"[..], Outcome::Hit),
            (b"HTTP/1.1 204 No Content\r\n\r\n", Outcome::Hit),
            (b"HTTP/1.1 304 Not Modified\r\n\r\n", Outcome::Error),
            (b"HTTP/1.1 301 Moved Permanently\r\nContent-Length: 0\r\n\r\n", Outcome::Error),
            (b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", Outcome::Miss),
            (b"HTTP/1.1 503 Busy\r\nContent-Length: 1\r\n\r\nx", Outcome::Error),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", Outcome::Hit),
            (
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX: y\r\n\r\n",
                Outcome::Hit,
            ),
            (b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", Outcome::Miss),
            (
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 9\r\n\r\n0\r\n\r\n",
                Outcome::Hit,
            ),
        ] {
            check_reply(&codec, Kind::GET, reply, outcome);
        }
    }

    /// Return how many messages the streamed reply `reply` has, and whether it is complete.
    fn count_messages(reply: &[u8]) -> (u32, bool) {
        let codec = Http::new(&Plan { stream: true, ..plan("http") });
        let halves = (0..reply.len()).map(|cut| vec![&reply[..cut], &reply[cut..]]);
        let mut found = halves.chain([reply.chunks(1).collect()]).map(|pieces| {
            let (mut reader, mut messages, mut complete) = (Reader::new::<Http>(), 0, false);
            for piece in pieces {
                let count = |_, count| messages += count;
                let next = reader.next_with_messages(
                    &codec,
                    &mut Arriving::default(),
                    Kind::GET,
                    piece,
                    |_| (),
                    count,
                );
                complete |= next.unwrap().is_some();
            }
            (messages, complete || end(&codec, &mut reader).is_some())
        });
        let first = found.next().unwrap();
        assert!(found.all(|one| one == first), "{}", reply.escape_ascii());
        first
    }

    #[test]
    fn messages_are_events_or_else_chunks_of_a_successful_reply() {
        const CHUNKS: &str = "Transfer-Encoding: chunked\r\n\r\n\
            9\r\ndata: a\n\n\r\n4\r\ndata\r\n2\r\n\n\n\r\n0\r\n\r\n";
        for (reply, messages) in [
            (format!("200 OK\r\nContent-Type: text/event-stream\r\n{CHUNKS}"), 2),
            (format!("200 OK\r\ncontent-type: Text/Event-Stream ; charset=utf-8\r\n{CHUNKS}"), 2),
            (format!("200 OK\r\nContent-Type: application/x-ndjson\r\n{CHUNKS}"), 3),
            (format!("200 OK\r\n{CHUNKS}"), 3),
            (format!("500 Broken\r\nContent-Type: text/event-stream\r\n{CHUNKS}"), 0),
            ("200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 9\r\n\r\ndata: a\n\n".into(), 1),
            ("200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: a\n\ndata: b\n\n".into(), 2),
            ("200 OK\r\nContent-Length: 2\r\n\r\nhi".into(), 0),
            ("200 OK\r\n\r\nhi".into(), 0),
        ] {
            assert_eq!(count_messages(format!("HTTP/1.1 {reply}").as_bytes()), (messages, true), "{reply}");
        }
    }

    #[test]
    fn unambiguous_header_mistakes_are_accepted() {
        let codec = Http::new(&plan("http"));
        let many = (0..2_000).fold(String::new(), |lines, n| lines + &format!("X-{n}: v\r\n"));
        for headers in [
            &*many,
            "Content-Length: 2, 2\r\n",
            "Content-Length: 2\r\n",
            "X-Long: a\r\n b\r\n",
            "Server : old\r\n",
            ": no name\r\n",
            "X-Name: caf\u{e9}\r\n",
        ] {
            let reply = format!("HTTP/1.1 200 OK\r\n{headers}Content-Length: 2\r\n\r\nhi");
            let cut = [&reply.as_bytes()[..20], &reply.as_bytes()[20..]];
            let mut reader = Reader::new::<Http>();
            assert_eq!(
                reader.next(&codec, &mut Arriving::default(), Kind::GET, cut[0], |_| ()).unwrap(),
                None
            );
            let found =
                reader.next(&codec, &mut Arriving::default(), Kind::GET, cut[1], |_| ()).unwrap().unwrap();
            assert_eq!((found.taken, found.code), (cut[1].len(), 200), "{headers:.40}");
        }
        for headers in ["Content-Length: 2, 3\r\n", "Content-Length: 3\r\n", "Content-Length: +2\r\n"] {
            let reply = format!("HTTP/1.1 200 OK\r\n{headers}Content-Length: 2\r\n\r\nhi");
            assert!(codec.read(&mut Arriving::default(), Kind::GET, reply.as_bytes()).is_err(), "{headers}");
        }
    }

    #[test]
    fn a_server_that_changes_the_protocol_has_answered_and_closes() {
        let codec = Http::new(&plan("http"));
        let reply = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n";
        let Ok(Incoming::Reply { code, closes, outcome, .. }) =
            codec.read(&mut Arriving::default(), Kind::GET, reply)
        else {
            panic!()
        };
        assert_eq!((code, closes, outcome), (101, true, Outcome::Error));
    }

    #[test]
    fn a_closing_server_is_recognised() {
        let codec = Http::new(&plan("http"));
        for (head, expected) in [
            ("HTTP/1.1 200 OK\r\nConnection: close\r\n", true),
            ("HTTP/1.1 200 OK\r\nConnection: upgrade, Close\r\n", true),
            ("HTTP/1.0 200 OK\r\n", true),
            ("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n", false),
            ("HTTP/1.0 200 OK\r\nConnection: upgrade\r\n", true),
            ("HTTP/1.1 200 OK\r\nConnection: close\r\nConnection: upgrade\r\n", true),
            ("HTTP/1.1 200 OK\r\n", false),
        ] {
            let reply = format!("{head}Content-Length: 0\r\n\r\n");
            let Ok(Incoming::Reply { closes, .. }) =
                codec.read(&mut Arriving::default(), Kind::GET, reply.as_bytes())
            else {
                panic!("{head}")
            };
            assert_eq!(closes, expected, "{head}");
        }
    }

    #[test]
    fn a_chunked_body_of_megabytes_arrives_in_small_reads() {
        let codec = Http::new(&plan("http"));
        let mut reader = Reader::new::<Http>();
        let mut next = |bytes: &[u8]| {
            let reply = reader.next(&codec, &mut Arriving::default(), Kind::GET, bytes, |_| ()).unwrap();
            assert_eq!(reader.buffered(), 0, "no part of a body is stored");
            reply
        };
        assert_eq!(next(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), None);
        for _ in 0..300 {
            for piece in [&b"2800\r"[..], b"\n", &[b'x'; 10_000], &[b'\n'; 240], b"\r\n"] {
                assert_eq!(next(piece), None);
            }
        }
        assert_eq!(next(b"0\r\nExpires: 0\r\n"), None);
        let last = Reply {
            taken: 2,
            outcome: Outcome::Hit,
            closes: false,
            code: 200,
            tag: 0,
            refused: false,
            redirects: false,
        };
        assert_eq!(next(b"\r\nHTTP/1.1 200 OK\r\n"), Some(last));
    }

    fn end(codec: &Http, reader: &mut Reader) -> Option<Reply> {
        reader.end(codec, &mut Arriving::default(), Kind::GET)
    }

    #[test]
    fn a_body_without_length_ends_with_the_connection() {
        let codec = Http::new(&plan("http"));
        for head in ["HTTP/1.0 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n"] {
            let mut reader = Reader::new::<Http>();
            for piece in [&head.as_bytes()[..9], &head.as_bytes()[9..], b"any", b"", b"bytes"] {
                assert_eq!(
                    reader.next(&codec, &mut Arriving::default(), Kind::GET, piece, |_| ()).unwrap(),
                    None
                );
            }
            assert!(!reader.is_fresh());
            let whole = Reply {
                taken: 0,
                outcome: Outcome::Hit,
                closes: true,
                code: 200,
                tag: 0,
                refused: false,
                redirects: false,
            };
            assert_eq!(
                (end(&codec, &mut reader), end(&codec, &mut reader), reader.is_fresh()),
                (Some(whole), None, true)
            );
        }
        let mut reader = Reader::new::<Http>();
        let cut = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc";
        assert_eq!(reader.next(&codec, &mut Arriving::default(), Kind::GET, cut, |_| ()).unwrap(), None);
        assert_eq!(end(&codec, &mut reader), None, "a reply with a stated length is incomplete");
    }

    #[test]
    fn codes_that_the_workload_accepts_are_hits() {
        let mut plan = plan("http");
        plan.workload =
            serde_json::from_value(serde_json::json!({"kind": "http", "accept": ["2xx", 304, 404]})).unwrap();
        let codec = Http::new(&plan);
        for (code, expected) in [
            (200, Outcome::Hit),
            (299, Outcome::Hit),
            (304, Outcome::Hit),
            (301, Outcome::Error),
            (404, Outcome::Hit),
            (410, Outcome::Miss),
            (500, Outcome::Error),
            (999, Outcome::Error),
        ] {
            let head = format!("HTTP/1.1 {code} Word\r\nContent-Length: 0\r\n\r\n");
            let Ok(Incoming::Reply { outcome, code: seen, .. }) =
                codec.read(&mut Arriving::default(), Kind::GET, head.as_bytes())
            else {
                panic!("{code}")
            };
            assert_eq!((outcome, seen), (expected, code));
        }
    }

    fn codec(workload: serde_json::Value) -> Http {
        let mut plan = plan("http");
        plan.workload = serde_json::from_value(workload).unwrap();
        Http::new(&plan)
    }

    #[test]
    fn requests_have_method_headers_and_a_body_of_the_stated_length() {
        let codec = codec(serde_json::json!({
            "kind": "http", "headers": {"X-All": "1", "Accept": "text/plain"},
            "requests": [{
                "method": "POST", "path": "/o/{{sequence}}", "headers": {"x-all": "{{sequence}}"},
                "body": "{\"id\": {{sequence:95}}}",
            }],
        }));
        for (item, id, length) in [(3, 98, 10), (7, 102, 11)] {
            let mut out = Vec::new();
            codec.write(
                &mut Arriving::default(),
                Request { kind: Kind::GET, item, value_bytes: 0 },
                0,
                &mut out,
            );
            let text = String::from_utf8(out).unwrap();
            let agent = concat!("hindmost/", env!("CARGO_PKG_VERSION"));
            let expected = format!(
                "POST /o/{item} HTTP/1.1\r\nHost: 127.0.0.1:1\r\nUser-Agent: {agent}\r\nAccept: text/plain\r\n\
                 x-all: {item}\r\nContent-Length: {length}\r\n\r\n{{\"id\": {id}}}"
            );
            assert_eq!(text, expected);
            assert!(text.len() <= codec.largest());
        }
    }

    #[test]
    fn a_request_without_a_usual_body_states_length_zero() {
        for (method, takes_body) in [("POST", true), ("GET", false), ("DELETE", false)] {
            let codec = codec(
                serde_json::json!({"kind": "http", "version": "1.0", "requests": [{"method": method}]}),
            );
            let mut out = Vec::new();
            codec.write(
                &mut Arriving::default(),
                Request { kind: Kind::GET, item: 0, value_bytes: 0 },
                0,
                &mut out,
            );
            let text = String::from_utf8(out).unwrap();
            assert!(
                text.starts_with(&format!("{method} / HTTP/1.0\r\n")) && text.ends_with("\r\n\r\n"),
                "{text}"
            );
            assert_eq!(text.contains("Content-Length: 0\r\n"), takes_body, "{text}");
        }
    }

    #[test]
    fn a_reply_to_head_has_no_body_and_kinds_accept_their_own_codes() {
        let codec = codec(serde_json::json!({"kind": "http", "requests": [
            {"method": "HEAD"}, {"accept": [409], "name": "conflict"},
        ]}));
        let reply = b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n";
        check_reply(&codec, Kind(0), reply, Outcome::Hit);
        check_reply(&codec, Kind(1), b"HTTP/1.1 409 Conflict\r\nContent-Length: 0\r\n\r\n", Outcome::Hit);
        check_reply(&codec, Kind(1), b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", Outcome::Error);
    }

    #[test]
    fn a_reply_that_fails_a_check_is_an_error_with_the_code_of_the_check() {
        let codec = codec(serde_json::json!({"kind": "http", "accept": ["2xx", 404], "requests": [
            {"checks": ["header x-served-by: Us", "body contains stock\": 3", "size>=12"]},
            {"name": "small", "checks": ["size<=3"]},
        ]}));
        let fixed = |header: &str, body: &str| {
            format!("HTTP/1.1 200 OK\r\n{header}Content-Length: {}\r\n\r\n{body}", body.len())
        };
        let chunked = "HTTP/1.1 404 No\r\nX-Served-By: Us\r\nTransfer-Encoding: chunked\r\n\r\n\
                       8\r\n{\"stock\"\r\n6\r\n: 30 }\r\n0\r\n\r\n";
        let failed = |check| (Outcome::Error, checks::code(check));
        for (kind, reply, expected) in [
            (0, fixed("X-Served-By: Us\r\n", "{\"stock\": 3 }"), (Outcome::Hit, 200)),
            (0, chunked.to_owned(), (Outcome::Hit, 404)),
            (0, fixed("X-Served-By: us\r\n", "{\"stock\": 3 }"), failed(0)),
            (0, fixed("X-Served-By: Us\r\n", "{\"stock\": 4 }"), failed(1)),
            (0, fixed("X-Served-By: Us\r\n", "stock\": 3"), failed(2)),
            (0, "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n".to_owned(), (Outcome::Error, 503)),
            (1, fixed("", "abc"), (Outcome::Hit, 200)),
            (1, fixed("", "abcd"), failed(0)),
        ] {
            for piece in [1, 2, 7, reply.len()] {
                let (mut reader, mut checked) = (Reader::new::<Http>(), Arriving::default());
                let next =
                    |bytes: &[u8]| reader.next(&codec, &mut checked, Kind(kind), bytes, |_| ()).unwrap();
                let found = reply.as_bytes().chunks(piece).find_map(next).unwrap();
                assert_eq!((found.outcome, found.code), expected, "{reply} in pieces of {piece}");
            }
        }
    }

    #[test]
    fn a_redirection_is_followed_by_a_request_without_body() {
        let codec = codec(
            serde_json::json!({"kind": "http", "follow": 1, "accept": ["2xx", 308], "requests": [
                {"method": "POST", "path": "/old", "headers": {"X-Id": "{{sequence}}"}, "body": "{}"}, {"method": "HEAD"},
            ]}),
        );
        let reply = |code: u16, location: &str| {
            format!("HTTP/1.1 {code} Moved\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n")
        };
        let next = |arriving: &mut Arriving, kind, reply: &str| {
            let found =
                Reader::new::<Http>().next(&codec, arriving, Kind(kind), reply.as_bytes(), |_| panic!());
            let found = found.unwrap().unwrap();
            (found.outcome, found.code, found.redirects)
        };
        let mut arriving = codec.session();
        let other = NotFollowed::OtherHost as u16;
        let (kind, post) =
            (0, (0..100).find(|&item| codec.list.index(codec.list.values(item)) == 0).unwrap());
        assert_eq!(next(&mut arriving, kind, &reply(301, "//else/")), (Outcome::Error, other, false));
        assert_eq!(
            next(&mut arriving, kind, &reply(308, "/")),
            (Outcome::Hit, 308, false),
            "an accepted code"
        );
        assert_eq!(next(&mut arriving, kind, &reply(303, "/new?a")), (Outcome::Hit, 303, true));
        let mut out = Vec::new();
        codec.write_redirected(
            &mut arriving,
            Request { kind: Kind(0), item: post, value_bytes: 0 },
            &mut out,
        );
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("GET /new?a HTTP/1.1\r\nHost: 127.0.0.1:1\r\n"), "{text}");
        assert!(text.ends_with(&format!("X-Id: {post}\r\n\r\n")), "{text}");
        assert!(codec.largest() > LONGEST_PATH);
    }

    #[test]
    fn a_body_that_ends_with_its_connection_is_checked() {
        let codec = codec(serde_json::json!({"kind": "http", "checks": ["body contains end"]}));
        for (body, outcome) in [("the end", Outcome::Hit), ("the en", Outcome::Error)] {
            let (mut reader, mut checked) = (Reader::new::<Http>(), Arriving::default());
            let reply = format!("HTTP/1.0 200 OK\r\n\r\n{body}");
            assert_eq!(reader.next(&codec, &mut checked, Kind::GET, reply.as_bytes(), |_| ()).unwrap(), None);
            assert_eq!(reader.end(&codec, &mut checked, Kind::GET).unwrap().outcome, outcome);
        }
    }

    #[test]
    fn nonsense_is_refused() {
        let codec = Http::new(&plan("http"));
        for bytes in [
            &b"VALUE k 0 1\r\n"[..],
            b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        ] {
            assert!(codec.read(&mut Arriving::default(), Kind::GET, bytes).is_err());
        }
    }
}
