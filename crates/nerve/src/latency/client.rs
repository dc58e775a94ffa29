//! The client of a probe: one request at a time, with the load generator's codecs.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use hindmost_load::protocol::{Answer, Dialogue};
use hindmost_plan::Plan;
use hindmost_sys::socket::is_silent;
use serde::Deserialize;
use serde_json::json;

use crate::NerveError;

/// Longest wait for a reply. After that, the connection is closed and the request counts as failed.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Target and request of a probe.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ProbeRequest {
    /// Address of the server.
    pub address: SocketAddr,
    /// `memcached`, `redis` or `http`.
    pub protocol: String,
    /// Path and query of HTTP requests.
    #[serde(default)]
    pub path: Option<String>,
    /// Host name for HTTP requests; None: the address.
    #[serde(default)]
    pub host: Option<String>,
    /// Requests per second.
    pub rate: f64,
    /// CPU time that the probe may use, in microseconds per second: it sends fewer requests if they would cost more.
    /// None: no limit.
    #[serde(default)]
    pub budget_us: Option<u64>,
}

impl ProbeRequest {
    /// Protocols of a probe.
    const PROTOCOLS: [&'static str; 3] = ["memcached", "redis", "http"];

    pub(crate) fn error(&self, reason: &impl ToString) -> NerveError {
        NerveError::Latency { from: self.address.to_string(), reason: reason.to_string() }
    }

    fn plan(&self) -> Result<Plan, NerveError> {
        let workload = match self.protocol.as_str() {
            // A missing key exercises the whole path except for the value.
            "memcached" | "redis" => {
                json!({"kind": "key-value", "key_names": ["hindmost-probe"], "get_ratio": 1.0})
            }
            "http" => json!({
                "kind": "http", "paths": [self.path.as_deref().unwrap_or("/")], "host": self.host,
                "accept": ["2xx", "3xx", "4xx"],
            }),
            other => {
                let protocols = Self::PROTOCOLS.join(", ");
                return Err(self.error(&format!("a probe supports {protocols}, not {other}")));
            }
        };
        let plan = json!({
            "schema": hindmost_plan::SCHEMA, "seed": 1, "load": {"loop": "closed"}, "workload": workload,
            "target": {"protocol": self.protocol, "address": self.address.to_string()},
        });
        let plan = Plan::from_json(&plan.to_string()).map_err(|error| self.error(&error))?;
        let workload = plan.workload.clone().load_files().map_err(|error| self.error(&error))?;
        Ok(Plan { workload, ..plan })
    }
}

pub(crate) struct Client {
    address: SocketAddr,
    dialogue: Dialogue,
    stream: Option<TcpStream>,
    out: Vec<u8>,
    buffer: Box<[u8]>,
}

impl Client {
    pub(crate) fn new(request: &ProbeRequest) -> Result<Self, NerveError> {
        Ok(Self {
            address: request.address,
            dialogue: Dialogue::new(&request.plan()?),
            stream: None,
            out: Vec::with_capacity(4096),
            buffer: vec![0; 16 * 1024].into_boxed_slice(),
        })
    }

    /// Send a request and read its reply, on the open connection or a new one. Reconnect if the server closed the
    /// connection meanwhile, which it may do at any time.
    pub(crate) fn ask(&mut self) -> io::Result<Answer> {
        if let Some(mut stream) = self.stream.take().filter(is_silent) {
            match self.exchange(&mut stream) {
                Err(error) if is_closed(&error) => {}
                other => return self.keep(stream, other),
            }
        }
        let mut stream = self.connect()?;
        let answer = self.exchange(&mut stream);
        self.keep(stream, answer)
    }

    fn keep(&mut self, stream: TcpStream, answer: io::Result<Answer>) -> io::Result<Answer> {
        self.stream = answer.as_ref().is_ok_and(|answer| !answer.closes).then_some(stream);
        answer
    }

    fn connect(&mut self) -> io::Result<TcpStream> {
        let mut stream = TcpStream::connect_timeout(&self.address, TIMEOUT)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        self.out.clear();
        let mut usable = self.dialogue.begin(&mut self.out);
        loop {
            stream.write_all(&self.out)?;
            self.out.clear();
            if usable {
                return Ok(stream);
            }
            let count = read(&mut stream, &mut self.buffer)?;
            usable = self
                .dialogue
                .receive_opening(&self.buffer[..count], &mut self.out)
                .map_err(io::Error::other)?;
        }
    }

    fn exchange(&mut self, stream: &mut TcpStream) -> io::Result<Answer> {
        self.out.clear();
        self.dialogue.write_request(&mut self.out);
        loop {
            stream.write_all(&self.out)?;
            self.out.clear();
            let count = match read(stream, &mut self.buffer) {
                Ok(count) => count,
                Err(error) => return self.dialogue.end().ok_or(error),
            };
            let answer = self.dialogue.read_reply(&self.buffer[..count], &mut self.out);
            if let Some(answer) = answer.map_err(io::Error::other)? {
                return Ok(answer);
            }
        }
    }
}

fn read(stream: &mut TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
    match stream.read(buffer) {
        Ok(0) => Err(io::Error::new(ErrorKind::UnexpectedEof, "the server closed the connection")),
        Err(error) if error.kind() == ErrorKind::WouldBlock => {
            Err(io::Error::new(ErrorKind::TimedOut, format!("no reply within {TIMEOUT:?}")))
        }
        other => other,
    }
}

fn is_closed(error: &io::Error) -> bool {
    use ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread::JoinHandle;
    use std::time::Instant;

    use hindmost_load::protocol::Outcome;

    use super::*;

    /// Start a server that sends `pieces` for each request and closes if `closes`. The thread returns the requests.
    fn server(pieces: &'static [&'static [u8]], closes: bool) -> (SocketAddr, JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let serve = move || {
            let mut requests = Vec::new();
            while requests.len() < 3 {
                let (mut stream, _) = listener.accept().unwrap();
                let mut bytes = [0; 1024];
                while let Ok(count @ 1..) = stream.read(&mut bytes) {
                    requests.push(String::from_utf8_lossy(&bytes[..count]).into_owned());
                    for piece in pieces {
                        stream.write_all(piece).unwrap();
                        std::thread::sleep(Duration::from_millis(5));
                    }
                    if closes || requests.len() == 3 {
                        break;
                    }
                }
            }
            requests
        };
        (address, std::thread::spawn(serve))
    }

    fn client(address: SocketAddr, protocol: &str) -> Client {
        let (path, host) = (Some("/k?q=1".to_owned()), Some("shop.example".to_owned()));
        Client::new(&ProbeRequest {
            address,
            protocol: protocol.to_owned(),
            path,
            host,
            rate: 1.0,
            budget_us: None,
        })
        .unwrap()
    }

    #[test]
    fn a_reply_ends_with_its_last_piece() {
        let cases: [(&str, &[&[u8]], bool); 6] = [
            (
                "http",
                &[b"HTTP/1.1 103 Early Hints\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na"],
                false,
            ),
            (
                "http",
                &[b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n", b"0\r\nX: y\r\n\r\n"],
                false,
            ),
            ("http", &[b"HTTP/1.1 200 OK\r\n\r\nas long", b" as it takes"], true),
            ("http", &[b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n"], false),
            ("redis", &[b"$2\r\n\r\n", b"\r\n"], false),
            ("memcached", &[b"VALUE hindmost-probe 0 5\r\nEND\r\n", b"\r\nEND\r\n"], false),
        ];
        for (protocol, pieces, closes) in cases {
            let (address, server) = server(pieces, closes);
            let mut client = client(address, protocol);
            for _ in 0..3 {
                let start = Instant::now();
                assert_ne!(client.ask().unwrap().outcome, Outcome::Error, "{pieces:?}");
                // The latency includes the server's pauses before the last piece.
                let pauses = 5 * (pieces.len() as u128 - 1 + u128::from(closes));
                assert!(start.elapsed().as_millis() >= pauses, "{pieces:?}");
            }
            let requests = server.join().unwrap();
            let head = if protocol == "http" { "GET /k?q=1 HTTP/1.1\r\nHost: shop.example\r\n" } else { "" };
            assert!(requests.iter().all(|one| one.starts_with(head)), "{requests:?}");
        }
    }

    #[test]
    fn errors_are_reported_in_the_servers_words() {
        let cases: [(&str, &[&[u8]], &str); 3] = [
            ("http", &[b"HTTP/1.1 503 Sorry\r\nContent-Length: 0\r\n\r\n"], "HTTP/1.1 503 Sorry"),
            ("redis", &[b"-NOAUTH Authentication required.\r\n"], "-NOAUTH"),
            ("memcached", &[b"SERVER_ERROR out of memory\r\n"], "SERVER_ERROR"),
        ];
        for (protocol, reply, words) in cases {
            let (address, _) = server(reply, false);
            let answer = client(address, protocol).ask().unwrap();
            assert!(answer.outcome == Outcome::Error && answer.words.unwrap().starts_with(words), "{words}");
        }
        let (address, _) = server(&[b"SSH-2.0-OpenSSH_9.2\r\n"], false);
        assert!(client(address, "http").ask().unwrap_err().to_string().contains("SSH-2.0"));
    }
}
