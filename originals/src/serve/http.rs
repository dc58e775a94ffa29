//! The part of HTTP/1.1 (RFC 9112) that load generators use: GET without a body, persistent connections,
//! pipelining.

use std::io::Write as _;

/// Most header fields of a request; more are refused.
const FIELDS: usize = 64;
/// Longest head of a request in bytes.
pub const LONGEST: usize = 16 << 10;

/// A request.
#[derive(Debug, PartialEq)]
pub struct Request {
    /// Length in bytes.
    pub length: usize,
    /// The number after `?i=`: the index of the request in the mix.
    pub number: Option<u64>,
    /// Whether the connection stays open after the reply.
    pub keep: bool,
}

/// Status code and reason phrase of a refusal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Refusal(pub u16, pub &'static str);

/// Parse the first request in `bytes`; `None` if it is incomplete.
pub fn parse(bytes: &[u8]) -> Result<Option<Request>, Refusal> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS];
    let mut head = httparse::Request::new(&mut fields);
    let length = match head.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if bytes.len() < LONGEST => return Ok(None),
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
            return Err(Refusal(431, "Request Header Fields Too Large"));
        }
        Err(_) => return Err(Refusal(400, "Bad Request")),
    };
    if head.method != Some("GET") {
        return Err(Refusal(405, "Method Not Allowed"));
    }
    let mut keep = head.version == Some(1);
    for field in head.headers.iter() {
        let is = |name: &str| field.name.eq_ignore_ascii_case(name);
        if is("connection") {
            let says = |word: &str| {
                field
                    .value
                    .split(|byte| *byte == b',')
                    .any(|one| one.trim_ascii().eq_ignore_ascii_case(word.as_bytes()))
            };
            keep = (keep || says("keep-alive")) && !says("close");
        } else if is("transfer-encoding") || (is("content-length") && field.value.trim_ascii() != b"0") {
            return Err(Refusal(413, "Content Too Large"));
        }
    }
    let query = head.path.and_then(|path| path.split_once('?')).map_or("", |(_, query)| query);
    let number = match query.split('&').find_map(|part| part.strip_prefix("i=")) {
        Some(number) => Some(number.parse().map_err(|_| Refusal(400, "Bad Request"))?),
        None => None,
    };
    Ok(Some(Request { length, number, keep }))
}

/// Return the reply to a served request: its kind and digest as text.
pub fn reply(kind: &str, digest: u64, keep: bool) -> Vec<u8> {
    message(200, "OK", &format!("{kind} {digest:016x}\n"), keep)
}

/// Return the reply to a refused request, which ends the connection.
pub fn refusal(refused: Refusal) -> Vec<u8> {
    message(refused.0, refused.1, &format!("{}\n", refused.1), false)
}

fn message(status: u16, words: &str, body: &str, keep: bool) -> Vec<u8> {
    let mut text = Vec::with_capacity(160);
    let connection = if keep { "" } else { "Connection: close\r\n" };
    // Writing to memory cannot fail.
    let _ = write!(
        text,
        "HTTP/1.1 {status} {words}\r\nServer: originals\r\nContent-Type: text/plain\r\n{connection}\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    type Answer = Result<Option<Request>, u16>;

    fn check(text: &str, expected: &Answer) {
        let found: Answer = parse(text.as_bytes()).map_err(|refused| refused.0);
        assert_eq!(&found, expected, "{text:?}");
    }

    #[test]
    fn valid_requests_are_parsed() {
        let request = |length, number, keep| Ok(Some(Request { length, number, keep }));
        check("GET / HTTP/1.1\r\nHost: x\r\n\r\n", &request(27, None, true));
        check("GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n", &request(18, None, true));
        check("GET /?i=17 HTTP/1.1\r\n\r\n", &request(23, Some(17), true));
        check("GET /x?a=1&i=5 HTTP/1.1\r\nConnection: Close\r\n\r\n", &request(46, Some(5), false));
        check("GET / HTTP/1.0\r\n\r\n", &request(18, None, false));
        check("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", &request(42, None, true));
        check("GET / HTTP/1.1\r\nHost", &Ok(None));
        check("", &Ok(None));
    }

    #[test]
    fn unsupported_requests_are_refused() {
        check("nonsense\r\n\r\n", &Err(400));
        check("GET /?i=-1 HTTP/1.1\r\n\r\n", &Err(400));
        check("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", &Err(405));
        check("GET / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", &Err(413));
        check("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", &Err(413));
        check(&format!("GET /{} HTTP/1.1\r\n", "x".repeat(LONGEST)), &Err(431));
        check(&format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(FIELDS + 1)), &Err(431));
    }
}
