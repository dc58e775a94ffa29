//! HTTP/1.1: GET on kept-alive connections (RFC 9112).

use hindmost_plan::{Plan, Workload};
use httparse::Status;

use super::chunks::Chunks;
use super::{number, Garbage, Outcome, Parsed, Protocol, Rest};
use crate::workload::{Kind, Request};

/// More header fields than any server sends that one would measure.
const MAX_HEADERS: usize = 96;

/// The codec. The requests are written out once, one for each path.
pub struct Http {
    requests: Vec<Vec<u8>>,
}

impl Protocol for Http {
    const PROTOCOL: hindmost_wire::Protocol = hindmost_wire::Protocol::Http;
    /// The header section, with those of the interim replies before it.
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
            match reply(&bytes[at..]).map_err(|NotHttp| Garbage::new::<Self>(kind, &bytes[at..]))? {
                // An interim reply (RFC 9110, 15.2): the one that counts follows it.
                (100..=199, Parsed::Reply { head, .. }) => at += head,
                (_, Parsed::Reply { head, rest, outcome, closes }) => {
                    return Ok(Parsed::Reply { head: at + head, rest, outcome, closes });
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
    let (mut length, mut coding) = (None, None);
    let (mut close, mut keep) = (false, response.version != Some(0));
    for header in response.headers.iter() {
        if header.name.eq_ignore_ascii_case("content-length") {
            let stated = number(header.value.trim_ascii()).ok_or(NotHttp)?;
            if length.is_some_and(|length| length != stated) {
                return Err(NotHttp);
            }
            length = Some(stated);
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            coding = Some(header.value);
        } else if header.name.eq_ignore_ascii_case("connection") {
            close |= names(header.value, b"close");
            keep |= names(header.value, b"keep-alive");
        }
    }
    // How the length of a body is stated: RFC 9112, 6.3. One that the server ends by closing has none as
    // far as we can tell: its request is lost.
    let bytes = |left| Rest::Bytes { left, end: b"" };
    let rest = match (code, coding, length) {
        (100..=199 | 204 | 304, ..) => Rest::NOTHING,
        (_, Some(coding), _) if is_chunked(coding) => Rest::Chunks(Chunks::new()),
        (_, None, Some(length)) => bytes(length),
        (_, Some(_), _) | (_, None, None) => bytes(u64::MAX),
    };
    let outcome = match code {
        200..=399 => Outcome::Hit,
        404 | 410 => Outcome::Miss,
        _ => Outcome::Error,
    };
    Ok((code, Parsed::Reply { head, rest, outcome, closes: close || !keep }))
}

/// Whether `option` is among the options of a `Connection` header.
fn names(options: &[u8], option: &[u8]) -> bool {
    options.split(|&b| b == b',').any(|one| one.trim_ascii().eq_ignore_ascii_case(option))
}

/// Whether the last of the codings of a `Transfer-Encoding` header is chunked: it ends the body then.
fn is_chunked(codings: &[u8]) -> bool {
    codings
        .rsplit(|&b| b == b',')
        .next()
        .is_some_and(|last| last.trim_ascii().eq_ignore_ascii_case(b"chunked"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check_reply, plan};
    use super::super::{Reader, Reply};
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
            check_reply(&codec, Kind::GET, reply, outcome);
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
            ("HTTP/1.0 200 OK\r\nConnection: upgrade\r\n", true),
            ("HTTP/1.1 200 OK\r\nConnection: close\r\nConnection: upgrade\r\n", true),
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
    fn a_chunked_body_of_megabytes_arrives_in_small_reads() {
        let codec = Http::new(&plan("http"));
        let mut reader = Reader::new::<Http>();
        let mut next = |bytes: &[u8]| {
            let reply = reader.next(&codec, Kind::GET, bytes, |_| ()).unwrap();
            assert_eq!(reader.held(), 0, "nothing of a body is kept");
            reply
        };
        assert_eq!(next(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), None);
        for _ in 0..300 {
            for piece in [&b"2800\r"[..], b"\n", &[b'x'; 10_000], &[b'\n'; 240], b"\r\n"] {
                assert_eq!(next(piece), None);
            }
        }
        assert_eq!(next(b"0\r\nExpires: 0\r\n"), None);
        let last = Reply { taken: 2, outcome: Outcome::Hit, closes: false };
        assert_eq!(next(b"\r\nHTTP/1.1 200 OK\r\n"), Some(last));
    }

    #[test]
    fn a_body_without_length_never_ends_and_nonsense_is_refused() {
        let codec = Http::new(&plan("http"));
        for head in ["HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n"] {
            let reply = codec.read(Kind::GET, head.as_bytes());
            assert!(matches!(reply, Ok(Parsed::Reply { rest: Rest::Bytes { left: u64::MAX, .. }, .. })));
        }
        for bytes in [
            &b"VALUE k 0 1\r\n"[..],
            b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        ] {
            assert!(codec.read(Kind::GET, bytes).is_err());
        }
    }
}
