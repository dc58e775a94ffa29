//! The TLS state of one connection: incomplete received records, and records that the kernel has not
//! accepted.

use std::io::{self, ErrorKind};

use rustls::client::UnbufferedClientConnection;
use rustls::unbuffered::{ConnectionState, EncodeError, InsufficientSizeError, UnbufferedStatus};
use rustls::{Error, HandshakeKind};

use crate::transport::{Handshake, Transport};

/// Most plaintext bytes of a record (RFC 8446, 5.1), and most bytes that encryption adds to a record (5.2).
const RECORD_BYTES: usize = 1 << 14;
const RECORD_ADDS: usize = 5 + 256;

/// Return an upper bound on the encrypted size of `plain` bytes, with a key update before them.
pub const fn sealed_bytes(plain: usize) -> usize {
    plain + (plain / RECORD_BYTES + 2) * RECORD_ADDS
}

/// Progress of a handshake before the server's first message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// TCP is connecting.
    Connecting,
    /// TCP is connected.
    Connected,
    /// The client has requested TLS and awaits one byte.
    Requested,
    /// The client has sent its hello.
    HelloSent,
}

pub struct Session {
    connection: UnbufferedClientConnection,
    pub step: Step,
    /// Whether the server has closed its side.
    pub closed: bool,
    /// Whether the server has sent data after the handshake. Before that, TLS 1.3 does not tell whether it
    /// accepts the client.
    pub has_answered: bool,
    /// The beginning of an incomplete record.
    incoming: Vec<u8>,
    /// Data that followed the server's part of the handshake.
    early: Vec<u8>,
    /// Records that the kernel has not accepted, starting at `sent`.
    outgoing: Vec<u8>,
    sent: usize,
    /// Whether the caller was told one byte less than `outgoing` holds.
    withholds_byte: bool,
}

impl Session {
    pub fn new(connection: UnbufferedClientConnection) -> Self {
        Self {
            connection,
            step: Step::Connecting,
            closed: false,
            has_answered: false,
            incoming: Vec::new(),
            early: Vec::new(),
            outgoing: Vec::new(),
            sent: 0,
            withholds_byte: false,
        }
    }

    /// Send `bytes` before any record.
    pub fn request_tls(&mut self, bytes: &[u8]) {
        self.outgoing.extend_from_slice(bytes);
        self.step = Step::Requested;
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

    /// Return data that followed the server's part of the handshake, as far as it fits.
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

    /// Copy the incomplete record to the start of `arrived`; new bytes go after it.
    #[inline]
    pub fn restore_partial(&self, arrived: &mut [u8]) -> usize {
        arrived[..self.incoming.len()].copy_from_slice(&self.incoming);
        self.incoming.len()
    }

    /// Decrypt the records of `arrived` into `into`. Return the number of plaintext bytes.
    #[inline]
    pub fn decrypt(&mut self, arrived: &mut [u8], into: &mut [u8]) -> Result<usize, Error> {
        let mut plain = 0;
        self.process(arrived, |_, payload| {
            into[plain..plain + payload.len()].copy_from_slice(payload);
            plain += payload.len();
        })?;
        Ok(plain)
    }

    /// Process records during the handshake, and store any data for later.
    pub fn process_handshake(&mut self, arrived: &mut [u8]) -> Result<(), Error> {
        let result = self.process(arrived, Vec::extend_from_slice);
        if result.is_err() {
            // Encode the alert for the server's log. The first error ends the connection.
            let status = self.connection.process_tls_records(arrived);
            if let Ok(ConnectionState::EncodeTlsData(mut data)) = status.state {
                append(&mut self.outgoing, |room| data.encode(room))?;
            }
        }
        result
    }

    /// Pass the records' data to `deliver`, keep an incomplete record, and queue messages to send.
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

    /// Encrypt `plain` into `sealed`. Return the length of the records.
    #[inline]
    pub fn encrypt(&mut self, plain: &[u8], sealed: &mut [u8]) -> Result<usize, Error> {
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

    /// Return how many of the `offered` bytes are already encrypted.
    #[inline]
    pub fn take_withheld(&mut self, offered: usize) -> usize {
        usize::from(std::mem::take(&mut self.withholds_byte)).min(offered)
    }

    /// Keep `records` until the kernel accepts them.
    #[cold]
    pub fn withhold(&mut self, records: &[u8]) {
        self.outgoing.extend_from_slice(records);
        self.withholds_byte = true;
    }

    /// Write pending records. Return whether none is left.
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

/// Append the output of `encode`, which reports the space it needs.
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

#[allow(clippy::needless_pass_by_value)] // required by map_err
fn general(error: EncodeError) -> Error {
    Error::General(error.to_string())
}
