//! The steps from a connection attempt to a usable connection: TCP and TLS handshakes and the protocol's
//! opening.

use std::io::{self, ErrorKind};

use hindmost_clock::{Clock, Nanos};

use super::worker::Worker;
use crate::engine::state::connection::{Connection, State};
use crate::protocol::Protocol;
use crate::transport::{Ready, StampedTransport};
use crate::LoadError;

/// State of a connection attempt.
#[derive(Debug)]
pub enum Attempt {
    /// The attempt continues.
    InProgress,
    /// The connection is open but not yet marked as usable.
    Open,
    /// The attempt failed. A `Refusal` inside the error carries the server's message.
    Failed(io::Error),
}

impl<P: Protocol, T: StampedTransport + ?Sized, C: Clock> Worker<P, T, C> {
    /// Continue the connection attempt of `ready.slot` after an event.
    pub fn continue_connecting(&mut self, ready: Ready) -> Result<Attempt, LoadError> {
        let slot = ready.slot;
        let opened = match self.connections[slot].state {
            State::Connecting => self.finish_connecting(ready),
            _ => self.continue_opening(ready),
        };
        let Some(left) = (match opened {
            Ok(opened) => opened,
            Err(e) => return Ok(Attempt::Failed(e)),
        }) else {
            return Ok(Attempt::InProgress);
        };
        self.connections.mark_open(slot, self.transport.local_port(slot));
        let Connection { attempt_started, handshake_time, .. } = self.connections[slot];
        let took = self.clock.now().saturating_sub(attempt_started).saturating_sub(handshake_time);
        self.recorder.record_connect(self.attempt_time(slot), took.0);
        if !left.is_empty() {
            let scratch = std::mem::take(&mut self.scratch);
            let result = self.take_replies(slot, &scratch[left], self.clock.now());
            self.scratch = scratch;
            result?;
            if !self.connections.is_open(slot) {
                return Ok(Attempt::InProgress);
            }
        }
        Ok(Attempt::Open)
    }

    /// Mark an open connection as usable. In the closed loop, mark it once for each request it can carry.
    pub fn make_usable(&mut self, slot: u32) {
        let connection = &self.connections[slot];
        let most = connection.most.min(self.codec.in_flight(&connection.session));
        let places = if self.schedule.closed { most.saturating_sub(connection.pending.len()) } else { 1 };
        for _ in 0..places {
            self.connections.release(slot);
        }
    }

    /// Handle a completed TCP connect or the next step of the TLS handshake. If the connection is now open,
    /// return the range of `scratch` that holds replies.
    fn finish_connecting(&mut self, ready: Ready) -> io::Result<Option<std::ops::Range<usize>>> {
        let slot = ready.slot;
        let result = self.transport.finish_connect(slot);
        let now = self.clock.now();
        let Connection { connected_at, handshake_time, .. } = &mut self.connections[slot];
        let first = *connected_at == Nanos::ZERO;
        if first {
            *connected_at = now;
        }
        match result {
            Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(None),
            other => other?,
        }
        if first && !ready.writable {
            // The peer hung up without an error.
            return Err(ErrorKind::ConnectionReset.into());
        }
        if let Some(handshake) = self.transport.handshake(slot) {
            *handshake_time = now.saturating_sub(*connected_at);
            let took = handshake_time.0;
            self.recorder.record_handshake(self.attempt_time(slot), took, handshake);
        }
        let Connection { state, session, out, request_bytes, .. } = &mut self.connections[slot];
        let usable = self.codec.begin(session, out);
        *request_bytes += out.len() as u64;
        *state = State::Opening;
        self.flush_opening(slot)?;
        Ok(usable.then_some(0..0))
    }

    /// Continue the protocol's opening with the bytes that arrived. Returns the same as
    /// [`Worker::finish_connecting`].
    fn continue_opening(&mut self, ready: Ready) -> io::Result<Option<std::ops::Range<usize>>> {
        let slot = ready.slot;
        if ready.writable {
            self.flush_opening(slot)?;
        }
        if !ready.readable {
            return Ok(None);
        }
        let n = match self.transport.read(slot, &mut self.scratch) {
            Ok(0) => return Err(ErrorKind::ConnectionReset.into()),
            Ok(n) => n,
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => return Ok(None),
            Err(e) => return Err(e),
        };
        let Connection { reader, session, out, request_bytes, reply_bytes, .. } = &mut self.connections[slot];
        *reply_bytes += n as u64;
        let before = out.len();
        let taken =
            reader.opening(&self.codec, session, &self.scratch[..n], out).map_err(io::Error::other)?;
        *request_bytes += (out.len() - before) as u64;
        self.flush_opening(slot)?;
        Ok(taken.map(|taken| taken..n))
    }

    /// Write pending bytes of the opening, as far as the kernel accepts them.
    fn flush_opening(&mut self, slot: u32) -> io::Result<()> {
        let connection = &mut self.connections[slot];
        while connection.written < connection.out.len() {
            match self.transport.write(slot, &connection.out[connection.written..]) {
                Ok(n) => connection.written += n,
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => break,
                Err(e) => return Err(e),
            }
        }
        let blocked = connection.written < connection.out.len();
        if !blocked {
            connection.out.clear();
            connection.written = 0;
        }
        if blocked != std::mem::replace(&mut connection.blocked, blocked) {
            self.transport.watch_writes(slot, blocked)?;
        }
        self.transport.submit()
    }
}
