//! The receiving half of the loop.

use std::io::ErrorKind;

use hindmost_clock::{Clock, Nanos};

use super::connection::{Ending, State};
use super::stamping::Arrived;
use super::worker::Worker;
use crate::protocol::{Outcome, Protocol};
use crate::record::Status;
use crate::transport::{Ready, Stamp, Transport};
use crate::LoadError;

impl<P: Protocol, T: Transport, C: Clock> Worker<P, T, C> {
    /// Serves one ready connection; returns a fresh reading of the clock.
    #[inline]
    pub(super) fn serve(&mut self, ready: Ready) -> Result<Nanos, LoadError> {
        let slot = ready.slot;
        match self.connections[slot as usize].state {
            State::Open => {}
            State::Connecting => return self.connecting(ready),
            // Lost to an earlier event of this round.
            State::Down => return Ok(self.clock.now()),
        }
        // An error that is no stamp is told by the next read.
        let failed = ready.stamped && !self.take_sent(slot);
        if ready.writable {
            let now = self.clock.now();
            self.unblock(slot, now)?;
        }
        if (ready.readable || failed) && self.is_open(slot) {
            return self.receive(slot);
        }
        Ok(self.clock.now())
    }

    /// One read, and every whole reply in it. All of them are done when the read returns.
    pub(super) fn receive(&mut self, slot: u32) -> Result<Nanos, LoadError> {
        let (mut last, mut peeked) = (Stamp::default(), false);
        let got = match self.awaits_stamp(slot) {
            None => self.transport.read(slot, &mut self.scratch),
            Some(others) => {
                peeked = others;
                let read = if peeked { T::peek_stamped } else { T::read_stamped };
                read(&mut self.transport, slot, &mut self.scratch).map(|(n, stamp)| {
                    last = stamp;
                    n
                })
            }
        };
        let now = self.clock.now();
        match got {
            Ok(0) => self.lose(slot, now, "the server closed the connection")?,
            Ok(n) => {
                self.arrived = Arrived { last, untaken: if peeked { n } else { 0 } };
                self.connections[slot as usize].heard += n as u64;
                self.sockets.largest_read = self.sockets.largest_read.max(n);
                // The scratch is lent out so that replies can be parsed while records are made.
                let scratch = std::mem::take(&mut self.scratch);
                let result = self.take_replies(slot, &scratch[..n], now);
                self.scratch = scratch;
                result?;
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(e) => self.lose(slot, now, &e.to_string())?,
        }
        Ok(now)
    }

    fn take_replies(&mut self, slot: u32, mut bytes: &[u8], now: Nanos) -> Result<(), LoadError> {
        while !bytes.is_empty() {
            let connection = &mut self.connections[slot as usize];
            let Some(oldest) = connection.pending.front() else {
                return Err(LoadError::Unasked { bytes: bytes.len() });
            };
            let first_error = &mut self.first_error;
            let error = |head: &[u8]| note(first_error, head);
            let Some(reply) = connection.reader.next(&self.codec, oldest.kind, bytes, error)? else {
                break;
            };
            bytes = &bytes[reply.taken..];
            self.reply(slot, reply.outcome, now, bytes.len());
            if reply.closes {
                return self.part(slot, now);
            }
        }
        self.take_rest(slot);
        Ok(())
    }

    /// The oldest request of `slot` is answered; `left` bytes read so far lie behind its reply.
    #[inline]
    fn reply(&mut self, slot: u32, outcome: Outcome, now: Nanos, left: usize) {
        let connection = &mut self.connections[slot as usize];
        let Some(pending) = connection.pending.pop_front() else { return };
        if connection.pending.is_empty() {
            // Back to the start of the ring: its first lines stay in the cache, where a ring that
            // goes round and round would pull all its memory through it.
            connection.pending.clear();
        }
        let serial = connection.answered;
        connection.answered += 1;
        let reply_end = connection.heard - left as u64;
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
        let ending = Ending { done_ns: now.0, status, reply_end };
        if pending.chosen && !pending.again {
            let last = self.arrived_with(slot, left);
            self.end_chosen(slot, serial, pending, ending, last);
        } else {
            self.end(slot, pending, ending);
        }
    }
}

/// Keeps the first line of the first error.
#[cold]
fn note(first_error: &mut String, bytes: &[u8]) {
    if !first_error.is_empty() {
        return;
    }
    let line = bytes.split(|&b| b == b'\r' || b == b'\n').next().unwrap_or(bytes);
    first_error.push_str(&String::from_utf8_lossy(&line[..line.len().min(120)]));
}
