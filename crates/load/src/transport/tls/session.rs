//! One secured connection: what of its records is not whole, what of them the kernel has not taken.

use std::io::{self, ErrorKind};

use rustls::client::UnbufferedClientConnection;
use rustls::unbuffered::{ConnectionState, EncodeError, InsufficientSizeError, UnbufferedStatus};
use rustls::{Error, HandshakeKind};

use crate::transport::{Handshake, Transport};

/// The longest that plaintext of one record is (RFC 8446, 5.1), and what a record adds to it at most (5.2).
const RECORD_BYTES: usize = 1 << 14;
const RECORD_ADDS: usize = 5 + 256;

/// How long `plain` bytes are at most once they are encrypted, with a key update before them.
pub const fn sealed_bytes(plain: usize) -> usize {
    plain + (plain / RECORD_BYTES + 2) * RECORD_ADDS
}

/// How far a handshake is before the server has said a word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The connection is being made.
    Called,
    /// It is there.
    Reached,
    /// We have asked for TLS, and await one byte.
    Asked,
    /// We have said hello.
    Greeted,
}

pub struct Session {
    connection: UnbufferedClientConnection,
    pub step: Step,
    /// The server has said that it sends no more.
    pub closed: bool,
    /// The server has said something behind the handshake. Until then TLS 1.3 leaves open whether it accepts the client.
    pub heard: bool,
    /// The beginning of a record that is not whole.
    incoming: Vec<u8>,
    /// What the server said right behind its part of the handshake.
    early: Vec<u8>,
    /// Records that the kernel has not taken, from `sent` on.
    outgoing: Vec<u8>,
    sent: usize,
    /// The last byte in `outgoing` is one that the writer does not know to be taken.
    holds: bool,
}

impl Session {
    pub fn new(connection: UnbufferedClientConnection) -> Self {
        Self {
            connection,
            step: Step::Called,
            closed: false,
            heard: false,
            incoming: Vec::new(),
            early: Vec::new(),
            outgoing: Vec::new(),
            sent: 0,
            holds: false,
        }
    }

    /// Says `bytes` before any record.
    pub fn ask(&mut self, bytes: &[u8]) {
        self.outgoing.extend_from_slice(bytes);
        self.step = Step::Asked;
    }

    pub fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    pub fn handshake(&self) -> Handshake {
        match self.connection.handshake_kind() {
            Some(HandshakeKind::Resumed) => Handshake::Resumed,
            _ => Handshake::Full,
        }
    }

    pub fn has_early(&self) -> bool {
        !self.early.is_empty()
    }

    /// What the server said right behind its part of the handshake, as far as it fits.
    #[inline]
    pub fn take_early(&mut self, into: &mut [u8]) -> Option<usize> {
        if self.early.is_empty() {
            return None;
        }
        let n = self.early.len().min(into.len());
        into[..n].copy_from_slice(&self.early[..n]);
        self.early.drain(..n);
        Some(n)
    }

    /// Puts the beginning of a record at the start of `arrived`; what comes goes behind it.
    #[inline]
    pub fn unfold(&self, arrived: &mut [u8]) -> usize {
        arrived[..self.incoming.len()].copy_from_slice(&self.incoming);
        self.incoming.len()
    }

    /// Decrypts the records of `arrived`; says how many bytes of `into` they filled.
    #[inline]
    pub fn open(&mut self, arrived: &mut [u8], into: &mut [u8]) -> Result<usize, Error> {
        let mut plain = 0;
        self.process(arrived, |_, payload| {
            into[plain..plain + payload.len()].copy_from_slice(payload);
            plain += payload.len();
        })?;
        Ok(plain)
    }

    /// The same in the handshake, when nobody reads yet.
    pub fn greet(&mut self, arrived: &mut [u8]) -> Result<(), Error> {
        let result = self.process(arrived, Vec::extend_from_slice);
        if result.is_err() {
            // Its alert, for the server's log; the connection ends with the first error.
            let status = self.connection.process_tls_records(arrived);
            if let Ok(ConnectionState::EncodeTlsData(mut data)) = status.state {
                append(&mut self.outgoing, |room| data.encode(room))?;
            }
        }
        result
    }

    /// Hands what records hold to `deliver`, keeps what is not whole, and queues what is to be said.
    #[inline]
    fn process(
        &mut self,
        arrived: &mut [u8],
        mut deliver: impl FnMut(&mut Vec<u8>, &[u8]),
    ) -> Result<(), Error> {
        let mut at = 0;
        loop {
            let UnbufferedStatus { mut discard, state } =
                self.connection.process_tls_records(&mut arrived[at..]);
            let mut more = true;
            match state? {
                ConnectionState::ReadTraffic(mut traffic) => {
                    while let Some(record) = traffic.next_record() {
                        let record = record?;
                        discard += record.discard;
                        deliver(&mut self.early, record.payload);
                    }
                }
                ConnectionState::EncodeTlsData(mut data) => {
                    append(&mut self.outgoing, |room| data.encode(room))?;
                }
                ConnectionState::TransmitTlsData(data) => data.done(),
                ConnectionState::PeerClosed => self.closed = true,
                _ => more = false,
            }
            at += discard;
            if !more {
                break;
            }
        }
        self.incoming.clear();
        self.incoming.extend_from_slice(&arrived[at..]);
        Ok(())
    }

    /// Encrypts `plain` into `sealed`; returns how long its records are.
    #[inline]
    pub fn seal(&mut self, plain: &[u8], sealed: &mut [u8]) -> Result<usize, Error> {
        let mut length = 0;
        loop {
            let UnbufferedStatus { discard, state } = self.connection.process_tls_records(&mut self.incoming);
            match state? {
                ConnectionState::WriteTraffic(mut traffic) => {
                    let n = traffic.encrypt(plain, &mut sealed[length..]);
                    return n.map(|n| length + n).map_err(|e| Error::General(e.to_string()));
                }
                ConnectionState::EncodeTlsData(mut data) => {
                    length += data.encode(&mut sealed[length..]).map_err(general)?;
                }
                ConnectionState::TransmitTlsData(data) => data.done(),
                ConnectionState::PeerClosed => self.closed = true,
                _ => return Err(Error::General("the server has closed the session".to_owned())),
            }
            self.incoming.drain(..discard);
        }
    }

    /// How many of `offered` bytes are away already.
    #[inline]
    pub fn held(&mut self, offered: usize) -> usize {
        usize::from(std::mem::take(&mut self.holds)).min(offered)
    }

    /// Keeps `records` for later.
    #[cold]
    pub fn hold(&mut self, records: &[u8]) {
        self.outgoing.extend_from_slice(records);
        self.holds = true;
    }

    /// Writes what waits; says whether nothing is left.
    #[inline]
    pub fn flush<T: Transport>(&mut self, inner: &mut T, slot: u32) -> io::Result<bool> {
        while self.sent < self.outgoing.len() {
            match inner.write(slot, &self.outgoing[self.sent..]) {
                Ok(n) => self.sent += n,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        self.outgoing.clear();
        self.sent = 0;
        Ok(true)
    }
}

/// Appends what `encode` makes, which says how much room it needs.
fn append(
    to: &mut Vec<u8>,
    mut encode: impl FnMut(&mut [u8]) -> Result<usize, EncodeError>,
) -> Result<(), Error> {
    let before = to.len();
    loop {
        match encode(&mut to[before..]) {
            Ok(n) => {
                to.truncate(before + n);
                return Ok(());
            }
            Err(EncodeError::InsufficientSize(InsufficientSizeError { required_size })) => {
                to.resize(before + required_size, 0);
            }
            Err(e) => return Err(general(e)),
        }
    }
}

#[allow(clippy::needless_pass_by_value)] // as map_err hands it over
fn general(error: EncodeError) -> Error {
    Error::General(error.to_string())
}
