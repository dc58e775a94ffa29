//! What a probe says, and when an answer is whole.

use std::io::{self, Read, Write};
use std::net::TcpStream;

/// Whether the bytes so far are a whole answer (`None`: not yet), and a good one.
type Whole = fn(&[u8]) -> Option<bool>;

/// A probe's request in one protocol.
#[derive(Clone, Debug)]
pub(crate) struct Talk {
    request: Vec<u8>,
    whole: Whole,
}

impl Talk {
    /// The protocols that a probe can speak.
    pub(crate) const PROTOCOLS: [&'static str; 3] = ["memcached", "redis", "http"];

    pub(crate) fn of(protocol: &str, host: &str) -> Option<Self> {
        let (request, whole): (String, Whole) = match protocol {
            // A key that nobody has: the whole path but for the value.
            "memcached" => ("get hindmost-probe\r\n".into(), |bytes| line(bytes, b"END\r\n", b"VALUE")),
            "redis" => ("GET hindmost-probe\r\n".into(), |bytes| line(bytes, b"\r\n", b"$")),
            "http" => (format!("GET / HTTP/1.1\r\nHost: {host}\r\nUser-Agent: hindmost\r\n\r\n"), http),
            _ => return None,
        };
        Some(Self { request: request.into_bytes(), whole })
    }

    /// One request and its answer; `false` where the server answers with an error.
    pub(crate) fn ask(&self, stream: &mut TcpStream, room: &mut Vec<u8>) -> io::Result<bool> {
        stream.write_all(&self.request)?;
        room.clear();
        let mut bytes = [0; 16 * 1024];
        loop {
            let count = stream.read(&mut bytes)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            room.extend_from_slice(&bytes[..count]);
            if let Some(good) = (self.whole)(room) {
                return Ok(good);
            }
            if room.len() > 1 << 22 {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
        }
    }
}

fn line(bytes: &[u8], end: &[u8], good: &[u8]) -> Option<bool> {
    let refused =
        bytes.starts_with(b"ERROR") || bytes.starts_with(b"SERVER_ERROR") || bytes.starts_with(b"-");
    if refused {
        return bytes.ends_with(b"\r\n").then_some(false);
    }
    bytes.ends_with(end).then(|| bytes.starts_with(good) || bytes.starts_with(end))
}

/// A length, or chunks; an answer that ends with the connection is none that a probe can time.
fn http(bytes: &[u8]) -> Option<bool> {
    let head = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let text = String::from_utf8_lossy(&bytes[..head]).to_ascii_lowercase();
    let good = text.split_ascii_whitespace().nth(1).is_some_and(|code| code.as_bytes() < b"500".as_slice());
    let field = |name: &str| text.lines().find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()));
    if let Some(length) = field("content-length:").and_then(|length| length.parse::<usize>().ok()) {
        return (bytes.len() >= head + 4 + length).then_some(good);
    }
    if field("transfer-encoding:").is_some_and(|coding| coding.contains("chunked")) {
        return bytes.ends_with(b"0\r\n\r\n").then_some(good);
    }
    Some(good)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_when_its_last_byte_is_there() {
        let check = |protocol: &str, bytes: &[u8], expected: Option<bool>| {
            let talk = Talk::of(protocol, "x").unwrap();
            assert_eq!((talk.whole)(bytes), expected, "{protocol} {:?}", String::from_utf8_lossy(bytes));
        };
        check("memcached", b"EN", None);
        check("memcached", b"END\r\n", Some(true));
        check("memcached", b"VALUE hindmost-probe 0 1\r\n7\r\nEND\r\n", Some(true));
        check("memcached", b"SERVER_ERROR out of memory\r\n", Some(false));
        check("redis", b"$-1\r\n", Some(true));
        check("redis", b"-NOAUTH Authentication required.\r\n", Some(false));
        check("http", b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", None);
        check("http", b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", Some(true));
        check("http", b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", Some(true));
        check("http", b"HTTP/1.1 503 Sorry\r\nContent-Length: 0\r\n\r\n", Some(false));
        check("http", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", None);
        check(
            "http",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
            Some(true),
        );
        assert!(Talk::of("gopher", "x").is_none());
    }
}
