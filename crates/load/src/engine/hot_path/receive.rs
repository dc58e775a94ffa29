//! The receiving half of the event loop.

use std::io::ErrorKind;

use hindmost_clock::{Clock, Nanos};

use super::worker::Worker;
use crate::engine::state::connection::{Connection, State};
use crate::engine::state::request::Ending;
use crate::engine::state::stamping::Arrival;
use crate::protocol::{Outcome, Protocol, Reply};
use crate::record::{Messages, Status};
use crate::transport::{Ready, Stamp, StampedTransport, DATAGRAM_LENGTH};
use crate::workload::Kind;
use crate::LoadError;

impl<P: Protocol, T: StampedTransport + ?Sized, C: Clock> Worker<P, T, C> {
    /// Serve one ready connection. Return a fresh clock reading.
    #[inline]
    pub(super) fn serve(&mut self, ready: Ready) -> Result<Nanos, LoadError> {
        let slot = ready.slot;
        match self.connections[slot].state {
            State::Open | State::Closing => {}
            State::Connecting | State::Opening => return self.connecting(ready),
            // An earlier event of this iteration lost the connection.
            State::Down => return Ok(self.clock.now()),
        }
        // A socket error other than a stamp is returned by the next read.
        let failed = ready.stamped && !self.take_transmit_stamps(slot);
        if ready.writable {
            let now = self.clock.now();
            self.unblock(slot, now)?;
        }
        if (ready.readable || failed) && self.connections[slot].state != State::Down {
            return self.receive(slot);
        }
        Ok(self.clock.now())
    }

    /// Read once and handle every complete reply. All of them complete when the read returns.
    pub fn receive(&mut self, slot: u32) -> Result<Nanos, LoadError> {
        let (mut last, mut peeked) = (Stamp::default(), false);
        let got = match self.awaits_stamp(slot) {
            None => self.transport.read(slot, &mut self.scratch),
            Some(others) => {
                peeked = others;
                let read = if peeked {
                    self.transport.peek_stamped(slot, &mut self.scratch)
                } else {
                    self.transport.read_stamped(slot, &mut self.scratch)
                };
                read.map(|(n, stamp)| {
                    last = stamp;
                    n
                })
            }
        };
        let now = self.clock.now();
        self.away.record_call(now);
        match got {
            Ok(0) => self.handle_close(slot, now)?,
            // Bytes on a closing connection answer no request.
            Ok(_) if self.connections[slot].state == State::Closing => {}
            Ok(n) => {
                self.stamping.arrival = Arrival { last, untaken: if peeked { n } else { 0 } };
                self.connections[slot].reply_bytes += n as u64;
                self.sockets.largest_read = self.sockets.largest_read.max(n);
                // The scratch buffer is moved out so that replies can be parsed while requests are recorded.
                let scratch = std::mem::take(&mut self.scratch);
                let result = self.take_replies(slot, &scratch[..n], now);
                self.scratch = scratch;
                result?;
                if P::HAS_CONTROL && self.connections.is_open(slot) {
                    self.finish_read(slot, now)?;
                }
                if self.backlog.enabled {
                    self.fill_places(slot, now)?;
                }
                if self.turns.enabled && self.connections[slot].is_idle() {
                    self.end_turn(slot, now)?;
                }
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(e) if P::LOSSY && e.kind() == ErrorKind::ConnectionRefused => self.refuse(slot, now)?,
            Err(e) => self.lose(slot, now, e.into())?,
        }
        if P::MAY_REDIRECT && !self.redirected.is_empty() {
            self.send_redirected(now)?;
        }
        Ok(now)
    }

    pub(super) fn take_replies(&mut self, slot: u32, mut bytes: &[u8], now: Nanos) -> Result<(), LoadError> {
        while !bytes.is_empty() {
            let connection = &mut self.connections[slot];
            let kind = match connection.pending.front() {
                Some(oldest) => oldest.kind,
                None if P::HAS_CONTROL || P::TAGGED => Kind::GET,
                None if P::is_padding(bytes) => break,
                None => {
                    self.tally.note_unreadable(bytes);
                    return self.break_off(slot, now);
                }
            };
            let (tally, recorder, timeout) = (&mut self.tally, &mut self.recorder, self.schedule.timeout);
            let Connection { reader, session, tags, pending, last_messages, .. } = connection;
            let idle = !P::TAGGED && pending.is_empty();
            let error = |head: &[u8]| tally.note_reply::<P>(head, idle);
            let messages = |tag, count| {
                let at = if P::TAGGED { tags.position(tag) } else { Some(0) };
                let Some(pending) = at.and_then(|at| pending.get_mut(at)) else { return };
                pending.has_message = true;
                let before_ns = last_messages.replace(tag, now);
                let in_time = now.0 - pending.scheduled_ns <= timeout.0;
                let messages = Messages { at_ns: now.0, before_ns, count, in_time };
                recorder.record_messages(pending.kind, pending.scheduled_ns, messages);
            };
            let piece = if P::LOSSY { datagram(bytes) } else { bytes };
            let reply = match reader.next_with_messages(&self.codec, session, kind, piece, error, messages) {
                Ok(Some(reply)) => reply,
                // The server may send nothing but an error before it closes the connection.
                Ok(None) if idle && reader.is_in_reply() => return self.break_off(slot, now),
                Ok(None) if piece.len() < bytes.len() => {
                    bytes = &bytes[piece.len()..];
                    continue;
                }
                Ok(None) => break,
                Err(garbage) => {
                    self.tally.note_unreadable(garbage.to_string().as_bytes());
                    if !P::LOSSY {
                        return self.break_off(slot, now);
                    }
                    self.tally.unreadable += 1;
                    reader.reset();
                    bytes = &bytes[piece.len()..];
                    continue;
                }
            };
            let unasked = if P::TAGGED { !tags.was_issued(reply.tag) } else { pending.is_empty() };
            if P::LOSSY && unasked {
                // A datagram for a previous owner of this local port.
                self.tally.late += 1;
                bytes = &bytes[reply.taken..];
                continue;
            }
            if (P::HAS_CONTROL || P::TAGGED) && unasked {
                self.tally.note_unreadable(bytes);
                return self.break_off(slot, now);
            }
            bytes = &bytes[reply.taken..];
            if P::REFUSAL.is_some() && reply.refused && self.resend_refused(slot, reply.tag) {
                continue;
            }
            self.follow_or_record(slot, reply, now, bytes.len());
            if reply.closes {
                return self.expect_close(slot, now);
            }
        }
        self.take_peeked(slot);
        Ok(())
    }

    /// Record the answer to the oldest request of `slot`, or to the request with the reply's tag. `left` is
    /// the number of bytes read but not parsed yet.
    #[inline]
    pub(super) fn reply(&mut self, slot: u32, reply: Reply, now: Nanos, left: usize) {
        let connection = &mut self.connections[slot];
        let answered = if P::TAGGED { connection.answer_tagged(reply.tag) } else { connection.answer() };
        let Some((pending, serial)) = answered else {
            self.tally.late += u64::from(P::LOSSY);
            return;
        };
        if P::LOSSY {
            self.tally.refused_since = None;
        }
        if P::STREAMS {
            connection.last_messages.remove(reply.tag);
        }
        let reply_end = connection.reply_bytes - left as u64;
        self.schedule.outstanding -= 1;
        if self.schedule.closed && !self.turns.enabled {
            self.connections.release(slot);
        }
        let latency = now.0 - pending.scheduled_ns;
        self.tally.count_reply(latency);
        if self.schedule.timeline.calibrates(Nanos(pending.scheduled_ns)) {
            self.recorder.record_calibration(latency);
        }
        let status = match reply.outcome {
            _ if latency > self.schedule.timeout.0 => Status::Timeout,
            Outcome::Hit => Status::Hit,
            Outcome::Miss => Status::Miss,
            Outcome::Error => Status::Error,
        };
        if P::LOSSY && status == Status::Timeout {
            self.tally.late += 1;
        }
        if (P::MAY_CLOSE || P::CODES) && status != Status::Timeout {
            self.recorder.record_code(pending.kind, pending.scheduled_ns, reply.code);
        }
        if self.schedule.has_sessions() && matches!(status, Status::Hit | Status::Miss) {
            self.schedule.follow_answer(pending.item, now);
        }
        let ending = Ending { completed_ns: now.0, status, reply_end };
        if pending.stamped && pending.resends == 0 {
            let last = self.reply_segment(slot, left);
            self.end_answered(slot, serial, pending, ending, last);
        } else {
            self.end(slot, pending, ending);
        }
    }
}

/// Return the first datagram of `bytes`, including its length prefix.
fn datagram(bytes: &[u8]) -> &[u8] {
    let Some(length) = bytes.first_chunk::<DATAGRAM_LENGTH>() else { return bytes };
    bytes.get(..DATAGRAM_LENGTH + usize::from(u16::from_be_bytes(*length))).unwrap_or(bytes)
}
