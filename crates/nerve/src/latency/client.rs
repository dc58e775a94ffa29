//! A probe's client: one request at a time, in the words of the load generator's codecs.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use hindmost_load::protocol::{Answer, Dialogue};
use hindmost_plan::Plan;
use serde::Deserialize;
use serde_json::json;

use crate::NerveError;

/// How long an answer may take before the connection is given up, and the request counted as failed.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a probe asks, and where.
#[derive(Clone, Debug, Deserialize)]
pub struct ProbeRequest {
    /// The server.
    pub address: SocketAddr,
    /// `memcached`, `redis` or `http`.
    pub protocol: String,
    /// Of HTTP: path and query.
    #[serde(default)]
    pub path: Option<String>,
    /// Of HTTP: the name of the server; absent: its address.
    #[serde(default)]
    pub host: Option<String>,
    /// Requests a second.
    pub rate: f64,
}

impl ProbeRequest {
    /// The protocols that a probe can speak.
    const PROTOCOLS: [&'static str; 3] = ["memcached", "redis", "http"];

    pub(crate) fn refused(&self, why: &impl ToString) -> NerveError {
        NerveError::Latency { from: self.address.to_string(), why: why.to_string() }
    }

    fn plan(&self) -> Result<Plan, NerveError> {
        let workload = match self.protocol.as_str() {
            // A key that nobody has: the whole path but for the value.
            "memcached" | "redis" => {
                json!({"kind": "key-value", "key_names": ["hindmost-probe"], "get_ratio": 1.0})
            }
            "http" => json!({
                "kind": "http", "paths": [self.path.as_deref().unwrap_or("/")], "host": self.host,
                "accept": ["2xx", "3xx", "4xx"],
            }),
            other => {
                let known = Self::PROTOCOLS.join(", ");
                return Err(self.refused(&format!("a probe speaks {known}, not {other}")));
            }
        };
        let plan = json!({
            "schema": hindmost_plan::SCHEMA, "seed": 1, "load": {"loop": "closed"}, "workload": workload,
            "target": {"protocol": self.protocol, "address": self.address.to_string()},
        });
        let plan = Plan::from_json(&plan.to_string()).map_err(|error| self.refused(&error))?;
        let workload = plan.workload.clone().opened().map_err(|error| self.refused(&error))?;
        Ok(Plan { workload, ..plan })
    }
}

pub(crate) struct Client {
    address: SocketAddr,
    dialogue: Dialogue,
    stream: Option<TcpStream>,
    out: Vec<u8>,
    room: Box<[u8]>,
}

impl Client {
    pub(crate) fn new(asked: &ProbeRequest) -> Result<Self, NerveError> {
        Ok(Self {
            address: asked.address,
            dialogue: Dialogue::new(&asked.plan()?),
            stream: None,
            out: Vec::with_capacity(4096),
            room: vec![0; 16 * 1024].into_boxed_slice(),
        })
    }

    /// One request and its reply, on the connection that is open or a new one. A connection that the server has closed
    /// meanwhile, as it may at any time, is made again.
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
        let mut stream = TcpStream::connect_timeout(&self.address, PATIENCE)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        self.out.clear();
        let mut usable = self.dialogue.begin(&mut self.out);
        loop {
            stream.write_all(&self.out)?;
            self.out.clear();
            if usable {
                return Ok(stream);
            }
            let count = read(&mut stream, &mut self.room)?;
            usable = self.dialogue.hear(&self.room[..count], &mut self.out).map_err(io::Error::other)?;
        }
    }

    fn exchange(&mut self, stream: &mut TcpStream) -> io::Result<Answer> {
        self.out.clear();
        self.dialogue.ask(&mut self.out);
        loop {
            stream.write_all(&self.out)?;
            self.out.clear();
            let count = match read(stream, &mut self.room) {
                Ok(count) => count,
                Err(error) => return self.dialogue.end().ok_or(error),
            };
            let heard = self.dialogue.answer(&self.room[..count], &mut self.out);
            if let Some(answer) = heard.map_err(io::Error::other)? {
                return Ok(answer);
            }
        }
    }
}

fn read(stream: &mut TcpStream, room: &mut [u8]) -> io::Result<usize> {
    match stream.read(room) {
        Ok(0) => Err(io::Error::new(ErrorKind::UnexpectedEof, "the server closed the connection")),
        Err(error) if error.kind() == ErrorKind::WouldBlock => {
            Err(io::Error::new(ErrorKind::TimedOut, format!("no reply within {PATIENCE:?}")))
        }
        other => other,
    }
}

/// Whether nothing has come on a connection on which nothing was asked, not even its end.
fn is_silent(stream: &TcpStream) -> bool {
    let peeked = stream.set_nonblocking(true).and_then(|()| stream.peek(&mut [0]));
    stream.set_nonblocking(false).is_ok() && peeked.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
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

    /// A server that says these pieces to each request, and closes where it is told to; with what it was asked.
    fn server(pieces: &'static [&'static [u8]], closes: bool) -> (SocketAddr, JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let serve = move || {
            let mut asked = Vec::new();
            while asked.len() < 3 {
                let (mut stream, _) = listener.accept().unwrap();
                let mut bytes = [0; 1024];
                while let Ok(count @ 1..) = stream.read(&mut bytes) {
                    asked.push(String::from_utf8_lossy(&bytes[..count]).into_owned());
                    for piece in pieces {
                        stream.write_all(piece).unwrap();
                        std::thread::sleep(Duration::from_millis(5));
                    }
                    if closes || asked.len() == 3 {
                        break;
                    }
                }
            }
            asked
        };
        (address, std::thread::spawn(serve))
    }

    fn client(address: SocketAddr, protocol: &str) -> Client {
        let (path, host) = (Some("/k?q=1".to_owned()), Some("shop.example".to_owned()));
        Client::new(&ProbeRequest { address, protocol: protocol.to_owned(), path, host, rate: 1.0 }).unwrap()
    }

    #[test]
    fn a_reply_is_whole_with_its_last_piece() {
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
                let begun = Instant::now();
                assert_ne!(client.ask().unwrap().outcome, Outcome::Error, "{pieces:?}");
                // Each pause of the server's before the last piece is in it.
                let pauses = 5 * (pieces.len() as u128 - 1 + u128::from(closes));
                assert!(begun.elapsed().as_millis() >= pauses, "{pieces:?}");
            }
            let asked = server.join().unwrap();
            let what = if protocol == "http" { "GET /k?q=1 HTTP/1.1\r\nHost: shop.example\r\n" } else { "" };
            assert!(asked.iter().all(|one| one.starts_with(what)), "{asked:?}");
        }
    }

    #[test]
    fn an_error_is_told_in_the_servers_words() {
        let cases: [(&str, &[&[u8]], &str); 3] = [
            ("http", &[b"HTTP/1.1 503 Sorry\r\nContent-Length: 0\r\n\r\n"], "HTTP/1.1 503 Sorry"),
            ("redis", &[b"-NOAUTH Authentication required.\r\n"], "-NOAUTH"),
            ("memcached", &[b"SERVER_ERROR out of memory\r\n"], "SERVER_ERROR"),
        ];
        for (protocol, said, words) in cases {
            let (address, _) = server(said, false);
            let answer = client(address, protocol).ask().unwrap();
            assert!(answer.outcome == Outcome::Error && answer.words.unwrap().starts_with(words), "{words}");
        }
        let (address, _) = server(&[b"SSH-2.0-OpenSSH_9.2\r\n"], false);
        assert!(client(address, "http").ask().unwrap_err().to_string().contains("SSH-2.0"));
    }
}
