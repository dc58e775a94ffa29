//! HTTP/1.1 (RFC 9112). A body that ends with the connection never counts as complete.

use httparse::{Header, Status};

use super::{line_end, number, Grammar, Outcome, ReplyKind, Step};

/// More header fields than any message under measurement has.
const FIELDS: usize = 96;

/// Position within a message.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Progress {
    #[default]
    Head,
    Chunks,
    Trailers,
}

/// How the length of a body is given.
enum Body {
    Length(u64),
    Chunked,
    /// Not given: a request has no body; the body of a reply ends with its connection.
    Unspecified,
}

/// State of one connection: position in, and kind of, the message in each direction.
#[derive(Default)]
pub struct Http {
    asking: Progress,
    answering: Progress,
    asked: Option<ReplyKind>,
    outcome: Option<Outcome>,
}

impl Grammar for Http {
    fn request(&mut self, bytes: &[u8]) -> Step<ReplyKind> {
        if self.asking != Progress::Head {
            return parse_chunk(&mut self.asking, bytes, self.asked.unwrap_or(ReplyKind::One));
        }
        let mut fields = [httparse::EMPTY_HEADER; FIELDS];
        let mut request = httparse::Request::new(&mut fields);
        let head = match request.parse(bytes) {
            Ok(Status::Complete(head)) => head as u64,
            Ok(Status::Partial) => return Step::More,
            Err(_) => return Step::Garbage,
        };
        let asked = if request.method == Some("HEAD") { ReplyKind::HeadOnly } else { ReplyKind::One };
        match body(request.headers) {
            Some(Body::Length(length)) => Step::Last(head + length, asked),
            Some(Body::Unspecified) => Step::Last(head, asked),
            Some(Body::Chunked) => {
                (self.asking, self.asked) = (Progress::Chunks, Some(asked));
                Step::Piece(head)
            }
            None => Step::Garbage,
        }
    }

    fn reply(&mut self, asked: ReplyKind, bytes: &[u8]) -> Step<Outcome> {
        if self.answering != Progress::Head {
            return parse_chunk(&mut self.answering, bytes, self.outcome.unwrap_or(Outcome::Hit));
        }
        let mut fields = [httparse::EMPTY_HEADER; FIELDS];
        let mut response = httparse::Response::new(&mut fields);
        let head = match response.parse(bytes) {
            Ok(Status::Complete(head)) => head as u64,
            Ok(Status::Partial) => return Step::More,
            Err(_) => return Step::Garbage,
        };
        let code = response.code.unwrap_or(0);
        let outcome = match code {
            // An interim reply; the final reply follows (RFC 9110, 15.2).
            100..=199 => return Step::Piece(head),
            200..=299 => Outcome::Hit,
            404 | 410 => Outcome::Miss,
            // This includes redirections, which return no content. The workload's `accept` list is not
            // known here.
            _ => Outcome::Error,
        };
        if asked == ReplyKind::HeadOnly || matches!(code, 204 | 304) {
            return Step::Last(head, outcome);
        }
        match body(response.headers) {
            Some(Body::Length(length)) => Step::Last(head + length, outcome),
            Some(Body::Chunked) => {
                (self.answering, self.outcome) = (Progress::Chunks, Some(outcome));
                Step::Piece(head)
            }
            Some(Body::Unspecified) => Step::Last(u64::MAX, outcome),
            None => Step::Garbage,
        }
    }
}

fn body(fields: &[Header<'_>]) -> Option<Body> {
    let mut length = Body::Unspecified;
    for field in fields {
        if field.name.eq_ignore_ascii_case("transfer-encoding") {
            // It overrides Content-Length (RFC 9112, 6.3).
            return Some(Body::Chunked);
        }
        if field.name.eq_ignore_ascii_case("content-length") {
            length = Body::Length(number(field.value.trim_ascii())?);
        }
    }
    Some(length)
}

/// Parse a piece of a chunked body (RFC 9112, 7.1).
fn parse_chunk<T>(at: &mut Progress, bytes: &[u8], message: T) -> Step<T> {
    let Some(end) = line_end(bytes) else { return Step::More };
    if *at == Progress::Trailers {
        if bytes[..end].trim_ascii_end().is_empty() {
            *at = Progress::Head;
            return Step::Last(end as u64, message);
        }
        return Step::Piece(end as u64);
    }
    match httparse::parse_chunk_size(bytes) {
        Ok(Status::Complete((head, 0))) => {
            *at = Progress::Trailers;
            Step::Piece(head as u64)
        }
        Ok(Status::Complete((head, size))) => match size.checked_add(head as u64 + 2) {
            Some(length) => Step::Piece(length),
            None => Step::Garbage,
        },
        Ok(Status::Partial) => Step::More,
        Err(_) => Step::Garbage,
    }
}
