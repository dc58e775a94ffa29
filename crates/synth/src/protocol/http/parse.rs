//! Framing: find the end of a request, and parse it.

use httparse::{Error, Status};

use super::command::Command;
use crate::protocol::frame::{self, skip, Span};

/// Longest accepted head. nginx allows 32 KiB.
pub(super) const MAX_HEAD: usize = 64 << 10;
/// Longest accepted body.
pub(super) const MAX_BODY: usize = 1 << 20;
const MAX_HEADERS: usize = 100;

const BAD: &str = "400 Bad Request";
const LONG_BODY: &str = "413 Content Too Large";
const LONG_HEAD: &str = "431 Request Header Fields Too Large";
const ENCODED: &str = "501 Not Implemented";
const OTHER_VERSION: &str = "505 HTTP Version Not Supported";

type Step = frame::Step<Command>;

/// A parser that splits a byte stream into requests. The caller keeps the bytes; the parser keeps only its position.
#[derive(Default)]
pub(crate) struct Parser(State);

#[derive(Default)]
enum State {
    /// Inside a head.
    #[default]
    Head,
    /// After the head; the request with its body is `length` bytes long.
    Body { command: Command, length: usize },
    /// All further bytes are ignored.
    Closed,
}

impl Parser {
    pub(crate) fn need(&self) -> usize {
        match self.0 {
            State::Body { length, .. } => length,
            _ => 0,
        }
    }

    pub(crate) fn step(&mut self, bytes: &[u8]) -> Step {
        match self.0 {
            State::Head => self.head(bytes),
            State::Body { command, length } => self.body(bytes, command, length),
            State::Closed => skip(bytes.len()),
        }
    }

    fn head(&mut self, bytes: &[u8]) -> Step {
        // Parse only whole lines: replies must not depend on how the stream was split into packets.
        let window = &bytes[..bytes.len().min(MAX_HEAD)];
        let lines = window.iter().rposition(|&byte| byte == b'\n').map_or(0, |feed| feed + 1);
        match parse_head(&window[..lines]) {
            Ok(Some((command, length))) => self.body(bytes, command, length),
            Ok(None) if window.len() < MAX_HEAD => Step::More,
            Ok(None) => self.give_up(LONG_HEAD, window.len()),
            Err(status) => self.give_up(status, lines),
        }
    }

    fn give_up(&mut self, status: &'static str, length: usize) -> Step {
        self.0 = State::Closed;
        Step::Frame(Command::Malformed(status), length)
    }

    fn body(&mut self, bytes: &[u8], command: Command, length: usize) -> Step {
        if bytes.len() < length {
            self.0 = State::Body { command, length };
            return Step::More;
        }
        let close = matches!(command, Command::Page { close: true, .. } | Command::Refuse { close: true });
        self.0 = if close { State::Closed } else { State::Head };
        Step::Frame(command, length)
    }
}

/// Parse a head. Return the command and the length of the request; `None` if the head is incomplete.
fn parse_head(lines: &[u8]) -> Result<Option<(Command, usize)>, &'static str> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let head = match request.parse(lines) {
        Ok(Status::Complete(head)) => head,
        Ok(Status::Partial) => return Ok(None),
        Err(Error::TooManyHeaders) => return Err(LONG_HEAD),
        Err(Error::Version) => return Err(OTHER_VERSION),
        Err(_) => return Err(BAD),
    };
    let mut close = request.version == Some(0);
    let mut body: Option<usize> = None;
    for header in request.headers.iter() {
        if header.name.eq_ignore_ascii_case("content-length") {
            let length = length(header.value).ok_or(BAD)?;
            if body.is_some_and(|earlier| earlier != length) {
                return Err(BAD);
            }
            body = Some(length);
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(ENCODED);
        } else if header.name.eq_ignore_ascii_case("connection") {
            close |= header.value.eq_ignore_ascii_case(b"close");
        }
    }
    let body = body.unwrap_or(0);
    if body > MAX_BODY {
        return Err(LONG_BODY);
    }
    let (method, path) = (request.method.unwrap_or_default(), request.path.unwrap_or_default());
    let command = match method {
        "GET" | "HEAD" | "POST" | "PUT" => {
            Command::Page { kind_name: kind_name(lines, path), head: method == "HEAD", close }
        }
        _ => Command::Refuse { close },
    };
    Ok(Some((command, head + body)))
}

/// Return the span of the first part of `path` in `lines`: `search` in `/search/deep?q=1`.
fn kind_name(lines: &[u8], path: &str) -> Span {
    let at = path.as_ptr() as usize - lines.as_ptr() as usize;
    let name = path.strip_prefix('/').unwrap_or(path);
    let from = at + path.len() - name.len();
    let length = name.find(['/', '?', ':', '#']).unwrap_or(name.len());
    Span::new(from..from + length)
}

fn length(digits: &[u8]) -> Option<usize> {
    let all = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    // A number with too many digits is too large, not malformed.
    all.then(|| std::str::from_utf8(digits).ok()?.parse().ok().or(Some(usize::MAX)))?
}
