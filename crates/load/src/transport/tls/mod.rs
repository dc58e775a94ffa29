//! TLS over another transport.
//!
//! ```text
//! write   encrypt into the worker's buffer, write(2); the session keeps what the kernel does not accept
//! read    read(2) into the worker's buffer, decrypt in place, copy out; the session keeps an incomplete
//! record
//! ```
//!
//! rustls allocates once per record sent and received, and frees the memory in the same call. Nothing else on
//! a request's path allocates. The kernel stamps records: a request's stamp is that of its last record. A
//! reply's stamp is that of the last record of a read, so it is known only if one reply was awaited, not for
//! replies that arrived together.

mod credentials;
mod problem;
mod request;
mod session;
#[cfg(test)]
mod tests;
mod tickets;
mod trial;
mod verifier;

use std::io::{self, ErrorKind};
use std::os::fd::RawFd;
use std::sync::Arc;

use hindmost_clock::Nanos;
use rustls::client::UnbufferedClientConnection;
use rustls::pki_types::ServerName;
use rustls::ClientConfig;

pub use self::credentials::Credentials;
pub use self::problem::TlsProblem;
use self::session::{Session, Step};
pub use self::trial::try_handshake;
use super::{Handshake, Ready, Stamp, StampedTransport, Stamper, TransmitStamp, Transport};

/// Bytes of records per read. Plaintext is shorter than its records, so a caller's buffer of this size holds
/// everything.
const READ_BYTES: usize = 256 * 1024;
/// Most bytes encrypted for one write, so that little memory is used if the server does not read.
const WRITE_BYTES: usize = 64 * 1024;

/// The connections of `T` with TLS.
pub struct Tls<T> {
    inner: T,
    /// Slot n belongs to server n modulo their number.
    servers: Vec<Server>,
    sessions: Vec<Option<Session>>,
    /// Buffers for received records and for records to send.
    arrived: Vec<u8>,
    sealed: Vec<u8>,
    /// Slots with readable bytes that the kernel does not know of.
    unread: Vec<u32>,
}

/// TLS settings of connections to one server.
struct Server {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    /// Description of the trusted CAs for messages.
    trusted: String,
    /// Bytes that request TLS before the handshake.
    request: Vec<u8>,
}

impl Server {
    fn new(credentials: &Credentials, slots: usize) -> Self {
        Self {
            config: credentials.config(slots),
            name: credentials.name().clone(),
            trusted: credentials.trusted_cas().to_owned(),
            request: credentials.request().to_owned(),
        }
    }
}

impl<T: Transport> Tls<T> {
    /// Wrap up to `slots` connections of `inner`, which are spread round-robin over one server per element of
    /// `credentials`.
    pub fn new(inner: T, credentials: &[Credentials], slots: u32) -> Self {
        let each = (slots as usize).div_ceil(credentials.len());
        Self {
            inner,
            servers: credentials.iter().map(|one| Server::new(one, each)).collect(),
            sessions: (0..slots).map(|_| None).collect(),
            arrived: vec![1; READ_BYTES],
            sealed: vec![1; session::sealed_bytes(WRITE_BYTES)],
            unread: Vec::with_capacity(slots as usize),
        }
    }

    #[inline]
    fn session(&mut self, slot: u32) -> io::Result<&mut Session> {
        self.sessions[slot as usize].as_mut().ok_or_else(|| ErrorKind::NotConnected.into())
    }

    /// Advance the handshake of `slot`: read what arrived and write what is pending.
    fn shake_hands(&mut self, slot: u32) -> io::Result<()> {
        let Self { inner, sessions, arrived, servers, .. } = self;
        let Server { name, trusted, request, .. } = &servers[slot as usize % servers.len()];
        let Some(session) = &mut sessions[slot as usize] else { return Err(ErrorKind::NotConnected.into()) };
        if session.step == Step::Connected && !request.is_empty() {
            session.request_tls(request);
        }
        if session.step == Step::Requested {
            if !session.flush(inner, slot)? {
                inner.watch_writes(slot, true)?;
                return Err(ErrorKind::WouldBlock.into());
            }
            // Read exactly one byte, never any that follow.
            if inner.read(slot, &mut arrived[..1])? == 0 {
                return Err(TlsProblem::HungUp.into());
            }
            request::check_answer(arrived[0])?;
        }
        let length = if session.step == Step::HelloSent {
            let partial = session.restore_partial(arrived);
            match inner.read(slot, &mut arrived[partial..]) {
                Ok(0) => return Err(TlsProblem::HungUp.into()),
                Ok(n) => partial + n,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return session.flush(inner, slot).and(Err(e)),
                Err(e) => return Err(e),
            }
        } else {
            session.step = Step::HelloSent;
            0
        };
        let handshake = session.process_handshake(&mut arrived[..length]);
        // On an error, the flush sends the alert that explains it.
        let flushed = session.flush(inner, slot);
        handshake.map_err(|e| TlsProblem::from_handshake_error(&e, &arrived[..length], name, trusted))?;
        if !flushed? {
            inner.watch_writes(slot, true)?;
            return Err(ErrorKind::WouldBlock.into());
        }
        if session.is_handshaking() {
            return Err(ErrorKind::WouldBlock.into());
        }
        inner.watch_writes(slot, false)
    }

    /// Same as [`Transport::write`], with the extra result of the inner transport's `write`.
    #[inline]
    fn write_with<S: Default>(
        &mut self,
        slot: u32,
        bytes: &[u8],
        write: impl Fn(&mut T, u32, &[u8]) -> io::Result<(usize, S)>,
    ) -> io::Result<(usize, S)> {
        let Self { inner, sessions, sealed, .. } = self;
        let Some(session) = &mut sessions[slot as usize] else { return Err(ErrorKind::NotConnected.into()) };
        if !session.flush(inner, slot)? {
            return Err(ErrorKind::WouldBlock.into());
        }
        let known = session.take_withheld(bytes.len());
        let fresh = &bytes[known..bytes.len().min(known + WRITE_BYTES)];
        if fresh.is_empty() {
            return Ok((known, S::default()));
        }
        let records = session.encrypt(fresh, sealed).map_err(TlsProblem::from_session_error)?;
        let (written, said) = match write(inner, slot, &sealed[..records]) {
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => (0, S::default()),
            other => {
                other.map_err(|e| if session.has_answered { e } else { TlsProblem::from_io_error(e) })?
            }
        };
        let all = known + fresh.len();
        if written == records {
            return Ok((all, said));
        }
        // Report one byte less until the records are written, so that the caller writes again.
        session.withhold(&sealed[written..records]);
        if all == 1 {
            return Err(ErrorKind::WouldBlock.into());
        }
        Ok((all - 1, said))
    }

    /// Same as [`Transport::read`], with the extra result of the inner transport's `read`.
    #[inline]
    fn read_with<S: Default>(
        &mut self,
        slot: u32,
        into: &mut [u8],
        read: impl Fn(&mut T, u32, &mut [u8]) -> io::Result<(usize, S)>,
    ) -> io::Result<(usize, S)> {
        let Self { inner, sessions, arrived, unread, .. } = self;
        let Some(session) = &mut sessions[slot as usize] else { return Err(ErrorKind::NotConnected.into()) };
        if let Some(early) = session.take_early(into) {
            session.has_answered = true;
            if session.has_early() {
                unread.push(slot);
            }
            return Ok((early, S::default()));
        }
        if session.closed {
            return Ok((0, S::default()));
        }
        let most = arrived.len().min(into.len());
        let partial = session.restore_partial(arrived);
        if partial >= most {
            return Err(TlsProblem::TooLong.into());
        }
        let (n, said) = read(inner, slot, &mut arrived[partial..most]).map_err(|e| {
            if session.has_answered {
                e
            } else {
                TlsProblem::from_io_error(e)
            }
        })?;
        if n == 0 {
            return Ok((0, said));
        }
        let plain =
            session.decrypt(&mut arrived[..partial + n], into).map_err(TlsProblem::from_session_error)?;
        session.flush(inner, slot)?;
        if plain > 0 {
            session.has_answered = true;
            if session.closed {
                unread.push(slot);
            }
            return Ok((plain, said));
        }
        if session.closed {
            return Ok((0, said));
        }
        Err(ErrorKind::WouldBlock.into())
    }
}

impl<T: Transport> Transport for Tls<T> {
    fn queues(&self) -> bool {
        self.inner.queues()
    }

    fn connect(&mut self, slot: u32) -> io::Result<()> {
        self.close(slot);
        self.inner.connect(slot)?;
        let Server { config, name, .. } = &self.servers[slot as usize % self.servers.len()];
        let connection = UnbufferedClientConnection::new(config.clone(), name.clone());
        self.sessions[slot as usize] =
            Some(Session::new(connection.map_err(TlsProblem::from_session_error)?));
        Ok(())
    }

    fn finish_connect(&mut self, slot: u32) -> io::Result<()> {
        if self.session(slot)?.step == Step::Connecting {
            self.inner.finish_connect(slot)?;
            self.session(slot)?.step = Step::Connected;
        }
        self.shake_hands(slot).map_err(TlsProblem::from_io_error)?;
        if self.session(slot)?.has_early() {
            self.unread.push(slot);
        }
        Ok(())
    }

    fn handshake(&self, slot: u32) -> Option<Handshake> {
        self.sessions[slot as usize].as_ref().map(Session::handshake)
    }

    fn local_port(&self, slot: u32) -> u16 {
        self.inner.local_port(slot)
    }

    #[inline]
    fn write(&mut self, slot: u32, bytes: &[u8]) -> io::Result<usize> {
        let write = |inner: &mut T, slot, bytes: &[u8]| Ok((inner.write(slot, bytes)?, ()));
        self.write_with(slot, bytes, write).map(|(n, ())| n)
    }

    fn submit(&mut self) -> io::Result<()> {
        self.inner.submit()
    }

    #[inline]
    fn read(&mut self, slot: u32, into: &mut [u8]) -> io::Result<usize> {
        let read = |inner: &mut T, slot, into: &mut [u8]| Ok((inner.read(slot, into)?, ()));
        self.read_with(slot, into, read).map(|(n, ())| n)
    }

    fn watch_writes(&mut self, slot: u32, on: bool) -> io::Result<()> {
        self.inner.watch_writes(slot, on)
    }

    fn descriptor(&self, slot: u32) -> Option<RawFd> {
        self.inner.descriptor(slot)
    }

    fn close(&mut self, slot: u32) {
        self.sessions[slot as usize] = None;
        self.unread.retain(|&other| other != slot);
        self.inner.close(slot);
    }

    #[inline]
    fn wait(&mut self, timeout: Nanos, expected: bool, ready: &mut Vec<Ready>) -> io::Result<()> {
        if self.unread.is_empty() {
            return self.inner.wait(timeout, expected, ready);
        }
        self.inner.wait(Nanos::ZERO, true, ready)?;
        for slot in self.unread.drain(..) {
            ready.push(Ready { slot, readable: true, writable: false, stamped: false });
        }
        Ok(())
    }
}

impl<T: StampedTransport> StampedTransport for Tls<T> {
    fn stamps(&self) -> &Stamper {
        self.inner.stamps()
    }

    fn write_stamped(&mut self, slot: u32, bytes: &[u8]) -> io::Result<(usize, u32)> {
        self.write_with(slot, bytes, T::write_stamped)
    }

    fn next_transmit_stamp(&mut self, slot: u32) -> Option<TransmitStamp> {
        self.inner.next_transmit_stamp(slot)
    }

    fn read_stamped(&mut self, slot: u32, into: &mut [u8]) -> io::Result<(usize, Stamp)> {
        self.read_with(slot, into, T::read_stamped)
    }
}
