//! The receiving half of the loop, and what happens when a connection breaks.

use std::io::ErrorKind;

use hindmost_clock::{Clock, Nanos};

use super::connection::{State, Tail};
use super::worker::{Worker, GONE, RETRY};
use crate::protocol::{Garbage, Outcome, Parsed, Protocol};
use crate::record::Status;
use crate::transport::{Ready, Transport};
use crate::LoadError;

/// A server that closes more than one connection for every so many replies cannot be measured over
/// kept-alive connections.
const REPLIES_PER_CLOSING: u64 = 10;
/// ... after this many closings, so that a single mishap is not judged.
const CLOSINGS_AT_LEAST: u64 = 1000;

impl<P: Protocol, T: Transport, C: Clock> Worker<P, T, C> {
    /// Serves one ready connection; returns a fresh reading of the clock.
    #[inline]
    pub(super) fn serve(&mut self, ready: Ready) -> Result<Nanos, LoadError> {
        let slot = ready.slot;
        if self.connections[slot as usize].state == State::Connecting {
            return self.connecting(ready);
        }
        if ready.writable && self.connections[slot as usize].blocked {
            self.connections[slot as usize].blocked = false;
            self.transport.watch_writes(slot, false).map_err(LoadError::system("epoll_ctl failed"))?;
            let now = self.clock.now();
            self.flush(slot, now)?;
        }
        if ready.readable && self.is_open(slot) {
            return self.receive(slot);
        }
        Ok(self.clock.now())
    }

    /// One read, and every whole reply in it. All of them are done when the read returns.
    fn receive(&mut self, slot: u32) -> Result<Nanos, LoadError> {
        let connection = &mut self.connections[slot as usize];
        let held = connection.head.len();
        self.scratch[..held].copy_from_slice(&connection.head);
        connection.head.clear();
        let got = self.transport.read(slot, &mut self.scratch[held..]);
        let now = self.clock.now();
        match got {
            Ok(0) => self.lose(slot, now, "the server closed the connection")?,
            Ok(n) => {
                // The scratch is lent out so that replies can be parsed while records are made.
                let scratch = std::mem::take(&mut self.scratch);
                let result = self.take_replies(slot, &scratch[..held + n], now);
                self.scratch = scratch;
                result?;
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                self.connections[slot as usize].head.extend_from_slice(&self.scratch[..held]);
            }
            Err(e) => self.lose(slot, now, &e.to_string())?,
        }
        Ok(now)
    }

    fn take_replies(&mut self, slot: u32, mut bytes: &[u8], now: Nanos) -> Result<(), LoadError> {
        while !bytes.is_empty() {
            let connection = &mut self.connections[slot as usize];
            let tail = if let Some(tail) = connection.tail.take() {
                tail
            } else {
                let Some(oldest) = connection.pending.front() else {
                    return Err(LoadError::Unasked { bytes: bytes.len() });
                };
                match self.codec.read(oldest.kind, bytes)? {
                    Parsed::Reply { length, outcome, closes } => Tail { bytes: length, outcome, closes },
                    Parsed::More if bytes.len() < P::MAX_HEAD => {
                        connection.head.extend_from_slice(bytes);
                        return Ok(());
                    }
                    Parsed::More => return Err(too_long::<P>(bytes).into()),
                }
            };
            let here = (bytes.len() as u64).min(tail.bytes);
            if here < tail.bytes {
                connection.tail = Some(Tail { bytes: tail.bytes - here, ..tail });
                return Ok(());
            }
            if tail.outcome == Outcome::Error && self.first_error.is_empty() {
                let line = bytes.split(|&b| b == b'\r' || b == b'\n').next().unwrap_or(bytes);
                self.first_error.push_str(&String::from_utf8_lossy(&line[..line.len().min(120)]));
            }
            bytes = &bytes[here as usize..];
            self.reply(slot, tail.outcome, now);
            if tail.closes {
                return self.lose(slot, now, "the server closes the connection after this reply");
            }
        }
        Ok(())
    }

    /// The oldest request of `slot` is answered.
    #[inline]
    fn reply(&mut self, slot: u32, outcome: Outcome, now: Nanos) {
        let connection = &mut self.connections[slot as usize];
        let Some(pending) = connection.pending.pop_front() else { return };
        self.outstanding -= 1;
        self.replies += 1;
        if self.closed {
            self.usable.push(slot);
        }
        let latency = now.0 - pending.due_ns;
        self.windows.record(latency);
        let due = Nanos(pending.due_ns);
        if due >= self.timeline.calibrate && due < self.timeline.measure {
            self.recorder.calibrate(latency);
        }
        let status = match outcome {
            _ if latency > self.timeout_ns => Status::Timeout,
            Outcome::Hit => Status::Hit,
            Outcome::Miss => Status::Miss,
            Outcome::Error => Status::Error,
        };
        self.end(slot, pending, now.0, status);
    }

    /// A connection broke: its requests are lost, and it is connected again.
    #[cold]
    pub(super) fn lose(&mut self, slot: u32, now: Nanos, reason: &str) -> Result<(), LoadError> {
        reason.clone_into(&mut self.last_failure);
        self.closings += 1;
        if self.closings > CLOSINGS_AT_LEAST && self.closings * REPLIES_PER_CLOSING > self.replies {
            return Err(LoadError::Closing { closed: self.closings, replies: self.replies });
        }
        while let Some(pending) = self.connections[slot as usize].pending.pop_front() {
            self.outstanding -= 1;
            self.lost += 1;
            self.end(slot, pending, 0, Status::Lost);
        }
        self.usable.retain(|&other| other != slot);
        self.try_to_connect(slot, now)
    }

    fn try_to_connect(&mut self, slot: u32, now: Nanos) -> Result<(), LoadError> {
        let connection = &mut self.connections[slot as usize];
        match self.transport.connect(slot) {
            Ok(()) => connection.reset(State::Connecting),
            Err(e) => {
                connection.reset(State::Down);
                self.last_failure = e.to_string();
                self.down.push(slot);
                self.retry_at = self.retry_at.min(now + RETRY);
            }
        }
        self.check_alone(now)
    }

    /// The end of an attempt to connect.
    #[cold]
    fn connecting(&mut self, ready: Ready) -> Result<Nanos, LoadError> {
        let now = self.clock.now();
        let slot = ready.slot;
        match self.transport.connected(slot) {
            Ok(()) if ready.writable => {
                self.connections[slot as usize].state = State::Open;
                self.usable.push(slot);
                self.alone_since = None;
            }
            Ok(()) => {}
            Err(e) => {
                self.last_failure = e.to_string();
                self.transport.close(slot);
                self.connections[slot as usize].reset(State::Down);
                self.down.push(slot);
                self.retry_at = self.retry_at.min(now + RETRY);
                self.check_alone(now)?;
            }
        }
        Ok(now)
    }

    /// Tries all broken connections again.
    #[cold]
    pub(super) fn retry(&mut self, now: Nanos) -> Result<(), LoadError> {
        self.retry_at = Nanos::MAX;
        self.check_alone(now)?;
        for slot in std::mem::take(&mut self.down) {
            self.try_to_connect(slot, now)?;
        }
        Ok(())
    }

    /// Without any connection for too long, the server is gone.
    fn check_alone(&mut self, now: Nanos) -> Result<(), LoadError> {
        if self.connections.iter().any(|c| c.state == State::Open) {
            self.alone_since = None;
            return Ok(());
        }
        let since = *self.alone_since.get_or_insert(now);
        if now.saturating_sub(since) < GONE {
            return Ok(());
        }
        Err(LoadError::ServerGone {
            after_s: self.elapsed_s(since),
            lost: self.lost,
            reason: self.last_failure.clone(),
        })
    }
}

fn too_long<P: Protocol>(bytes: &[u8]) -> Garbage {
    Garbage {
        protocol: P::NAME,
        kind: "request",
        start: String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned(),
    }
}
