//! HTTP/1.1: GET on kept-alive connections (RFC 9112).

use hindmost_plan::{Plan, Workload};
use httparse::Status;

use super::{line_end, number, Garbage, Outcome, Parsed, Protocol};
use crate::workload::{Kind, Request};

/// More header fields than any server sends that one would measure.
const MAX_HEADERS: usize = 96;

/// The codec. The requests are written out once, one for each path.
pub struct Http {
    requests: Vec<Vec<u8>>,
}

impl Protocol for Http {
    const NAME: &'static str = "http";
    /// The header section; a chunked body has to fit as well, since its length stands at its end.
    const MAX_HEAD: usize = 64 * 1024;

    fn new(plan: &Plan) -> Self {
        let Workload::Http(mix) = &plan.workload else {
            unreachable!("the plan has checked that http gets an http workload")
        };
        let host = mix.host.as_deref().unwrap_or(&plan.target.address);
        let agent = concat!("hindmost/", env!("CARGO_PKG_VERSION"));
        let request = |path: &String| {
            format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: {agent}\r\nAccept: */*\r\n\r\n")
                .into_bytes()
        };
        Self { requests: mix.paths.iter().map(request).collect() }
    }

    #[inline]
    fn write(&self, request: Request, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.requests[request.item as usize]);
    }

    fn read(&self, kind: Kind, bytes: &[u8]) -> Result<Parsed, Garbage> {
        let mut at = 0;
        loop {
            match reply(&bytes[at..]).map_err(|NotHttp| Garbage::new(Self::NAME, kind, &bytes[at..]))? {
                // An interim reply (RFC 9110, 15.2): the one that counts follows it.
                (100..=199, Parsed::Reply { length, .. }) => at += length as usize,
                (_, Parsed::Reply { length, outcome, closes }) => {
                    return Ok(Parsed::Reply { length: length.saturating_add(at as u64), outcome, closes });
                }
                (_, Parsed::More) => return Ok(Parsed::More),
            }
        }
    }
}

/// Not a reply in HTTP/1.
struct NotHttp;

/// The first reply in `bytes`, with its status code.
fn reply(bytes: &[u8]) -> Result<(u16, Parsed), NotHttp> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    let Status::Complete(head) = response.parse(bytes).map_err(|_| NotHttp)? else {
        return Ok((0, Parsed::More));
    };
    let code = response.code.unwrap_or(0);
    let mut body = Body::UntilClose;
    let mut closes = response.version == Some(0);
    for header in response.headers.iter() {
        if header.name.eq_ignore_ascii_case("content-length") && body != Body::Chunked {
            body = Body::Length(number(header.value.trim_ascii()).ok_or(NotHttp)?);
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            // It overrides a length (RFC 9112, 6.3).
            body = Body::Chunked;
        } else if header.name.eq_ignore_ascii_case("connection") {
            closes = says_close(header.value);
        }
    }
    if matches!(code, 100..=199 | 204 | 304) {
        body = Body::Length(0);
    }
    let length = match body {
        Body::Length(length) => head as u64 + length,
        Body::Chunked => match chunked(&bytes[head..]).map_err(|()| NotHttp)? {
            Some(length) => (head + length) as u64,
            None => return Ok((code, Parsed::More)),
        },
        // It never ends as far as we can tell: the request is lost when the server closes.
        Body::UntilClose => u64::MAX,
    };
    let outcome = match code {
        200..=399 => Outcome::Hit,
        404 | 410 => Outcome::Miss,
        _ => Outcome::Error,
    };
    Ok((code, Parsed::Reply { length, outcome, closes }))
}

/// Whether `close` is among the options of a `Connection` header.
fn says_close(options: &[u8]) -> bool {
    options.split(|&b| b == b',').any(|option| option.trim_ascii().eq_ignore_ascii_case(b"close"))
}

/// How the length of a body is told (RFC 9112, 6.3).
#[derive(PartialEq)]
enum Body {
    Length(u64),
    Chunked,
    UntilClose,
}

/// The length of a chunked body (RFC 9112, 7.1), trailers included; `None` while it is not whole.
fn chunked(bytes: &[u8]) -> Result<Option<usize>, ()> {
    let mut at = 0;
    loop {
        let Status::Complete((head, size)) = httparse::parse_chunk_size(&bytes[at..]).map_err(drop)? else {
            return Ok(None);
        };
        at += head;
        if size == 0 {
            break;
        }
        let next =
            u64::try_from(at).map_err(drop)?.checked_add(size).and_then(|n| n.checked_add(2)).ok_or(())?;
        if next > bytes.len() as u64 {
            return Ok(None);
        }
        at = next as usize;
    }
    while let Some(line) = line_end(&bytes[at..]) {
        at += line;
        if line <= 2 {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check_prefixes, plan};
    use super::*;

    #[test]
    fn requests_name_path_and_host() {
        let mut out = Vec::new();
        Http::new(&plan("http")).write(Request { kind: Kind::GET, item: 0, value_bytes: 0 }, &mut out);
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("GET / HTTP/1.1\r\nHost: 127.0.0.1:1\r\n") && text.ends_with("\r\n\r\n"));
    }

    #[test]
    fn replies_are_told_apart_however_they_arrive() {
        let codec = Http::new(&plan("http"));
        for (reply, outcome) in [
            (&b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"[..], Outcome::Hit),
            (b"HTTP/1.1 204 No Content\r\n\r\n", Outcome::Hit),
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
            check_prefixes(&codec, Kind::GET, reply, outcome);
        }
    }

    #[test]
    fn a_server_that_closes_is_noticed() {
        let codec = Http::new(&plan("http"));
        for (head, expected) in [
            ("HTTP/1.1 200 OK\r\nConnection: close\r\n", true),
            ("HTTP/1.1 200 OK\r\nConnection: upgrade, Close\r\n", true),
            ("HTTP/1.0 200 OK\r\n", true),
            ("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n", false),
            ("HTTP/1.1 200 OK\r\n", false),
        ] {
            let reply = format!("{head}Content-Length: 0\r\n\r\n");
            let Ok(Parsed::Reply { closes, .. }) = codec.read(Kind::GET, reply.as_bytes()) else {
                panic!("{head}")
            };
            assert_eq!(closes, expected, "{head}");
        }
    }

    #[test]
    fn a_body_without_length_never_ends_and_nonsense_is_refused() {
        let codec = Http::new(&plan("http"));
        let endless = codec.read(Kind::GET, b"HTTP/1.1 200 OK\r\n\r\nabc");
        assert!(matches!(endless, Ok(Parsed::Reply { length: u64::MAX, .. })));
        for bytes in [&b"VALUE k 0 1\r\n"[..], b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"] {
            assert!(codec.read(Kind::GET, bytes).is_err());
        }
    }
}
