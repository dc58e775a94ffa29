//! A single handshake before the measurement, to find problems that every connection would have.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use hindmost_plan::{Protocol, Tls};
use rustls::{ClientConnection, Error};

use super::credentials::Credentials;
use super::problem::TlsProblem;
use super::request;
use crate::transport::Peer;

/// Most bytes kept of the server's first message, to identify the server.
const FIRST_WORDS: usize = 256;

/// Open a TLS connection to `address` with the settings `tls` of a `protocol` server, and close it. Each step
/// may take at most `patience`.
///
/// # Errors
/// Why the handshake failed.
pub fn try_handshake(
    tls: &Tls,
    address: &str,
    protocol: Protocol,
    patience: Duration,
) -> Result<(), TlsProblem> {
    let credentials = Credentials::load(tls, address, protocol)?;
    let unreachable = |e: io::Error| TlsProblem::Session(e.to_string());
    let patient = Some(patience);
    match Peer::resolve(address).map_err(unreachable)? {
        Peer::Tcp(address) => {
            let stream = TcpStream::connect_timeout(&address, patience).map_err(unreachable)?;
            stream.set_read_timeout(patient).map_err(unreachable)?;
            shake_hands(stream, &credentials)
        }
        Peer::Unix(path) => {
            let stream = UnixStream::connect(path).map_err(unreachable)?;
            stream.set_read_timeout(patient).map_err(unreachable)?;
            shake_hands(stream, &credentials)
        }
    }
}

fn shake_hands<S: Read + Write>(mut stream: S, credentials: &Credentials) -> Result<(), TlsProblem> {
    if !credentials.request().is_empty() {
        let mut answer = [0];
        let exchange = stream.write_all(credentials.request()).and_then(|()| stream.read_exact(&mut answer));
        exchange.map_err(|e| cut_short(&e))?;
        request::check_answer(answer[0])?;
    }
    let connection = ClientConnection::new(credentials.config(1), credentials.name().clone());
    let mut connection = connection.map_err(TlsProblem::from_session_error)?;
    let mut recording = RecordingStream { stream, heard: Vec::new() };
    match connection.complete_io(&mut recording) {
        Ok(_) => {
            connection.send_close_notify();
            let _ = connection.write_tls(&mut recording);
            Ok(())
        }
        Err(e) => Err(match e.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
            Some(error) => TlsProblem::from_handshake_error(
                error,
                &recording.heard,
                credentials.name(),
                credentials.trusted_cas(),
            ),
            None => cut_short(&e),
        }),
    }
}

/// Return the problem of a connection that ended or timed out.
fn cut_short(error: &io::Error) -> TlsProblem {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => TlsProblem::Silent,
        _ => TlsProblem::HungUp,
    }
}

/// A stream that records the first bytes read.
struct RecordingStream<S> {
    stream: S,
    heard: Vec<u8>,
}

impl<S: Read> Read for RecordingStream<S> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.stream.read(into)?;
        let room = FIRST_WORDS.saturating_sub(self.heard.len());
        self.heard.extend_from_slice(&into[..n.min(room)]);
        Ok(n)
    }
}

impl<S: Write> Write for RecordingStream<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
