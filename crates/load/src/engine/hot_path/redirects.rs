//! Redirections that are followed (RFC 9110, 15.4).
//!
//! A redirected request is one request with a longer way: it keeps its scheduled and sent times, so that its latency
//! includes all replies. It has no kernel stamps and no position in a packet capture, like one that was resent. If
//! its connection closes before the last reply, it is resent from the beginning, if it may be.

use hindmost_clock::{Clock, Nanos};

use super::worker::Worker;
use crate::engine::state::request::Pending;
use crate::protocol::{NotFollowed, Outcome, Protocol, Reply};
use crate::transport::StampedTransport;
use crate::workload::Request;
use crate::LoadError;

impl<P: Protocol, T: StampedTransport + ?Sized, C: Clock> Worker<P, T, C> {
    /// Follow a redirection, or record the reply. `left` is the number of bytes read but not parsed yet.
    #[inline]
    pub(super) fn follow_or_record(&mut self, slot: u32, reply: Reply, now: Nanos, left: usize) {
        if P::MAY_REDIRECT && reply.redirects {
            return self.follow(slot, reply, now, left);
        }
        self.reply(slot, reply, now, left);
    }

    /// Encode the request that `reply` redirects to. It is written after the read.
    #[cold]
    fn follow(&mut self, slot: u32, reply: Reply, now: Nanos, left: usize) {
        let Some(&pending) = self.connections[slot].pending.front() else { return };
        if now.0 - pending.scheduled_ns > self.schedule.timeout.0 {
            return self.reply(slot, reply, now, left);
        }
        let to = if pending.redirects < self.codec.most_redirects() {
            self.connection_after(slot, reply.closes).ok_or(NotFollowed::NoConnection)
        } else {
            Err(NotFollowed::TooMany)
        };
        let to = match to {
            Ok(to) => to,
            Err(why) => {
                let refused = Reply { outcome: Outcome::Error, code: why as u16, ..reply };
                return self.reply(slot, refused, now, left);
            }
        };
        self.end_batch(to, now);
        let connection = &mut self.connections[slot];
        let Some((pending, serial)) = connection.answer() else { return };
        connection.stamps.remove(serial);
        let measured = u32::from(pending.scheduled_ns >= self.schedule.timeline.measure.0);
        connection.measured -= measured;
        let mut session = std::mem::take(&mut connection.session);
        let Pending { kind, item, .. } = pending;
        let target = &mut self.connections[to];
        let before = target.out.len();
        let request = Request { kind, item, value_bytes: 0 };
        self.codec.write_redirected(&mut session, request, &mut target.out);
        target.request_bytes += (target.out.len() - before) as u64;
        target.measured += measured;
        let (end, redirects) = (target.request_bytes, pending.redirects + 1);
        target.pending.push_back(Pending { end, redirects, resends: pending.resends.max(1), ..pending });
        self.connections[slot].session = session;
        if !self.redirected.contains(&to) {
            self.redirected.push(to);
        }
    }

    /// Return the connection for the next request after a reply on `slot`: `slot`, or another one if it `closes`.
    fn connection_after(&mut self, slot: u32, closes: bool) -> Option<u32> {
        if !closes {
            return self.connections[slot].make_space(self.largest_request).then_some(slot);
        }
        if self.turns.enabled || self.schedule.closed {
            return None;
        }
        self.connections.take(slot);
        let endpoint = self.connections.endpoint(slot);
        let other = self.connections.pick(endpoint)?;
        // Requests that are being written now must stay the last ones of their connection.
        let is_written = self.connections[other].fresh == 0 || self.batches.are_enabled();
        (is_written && self.has_room(other)).then_some(other)
    }

    /// Write the encoded requests.
    #[cold]
    pub(super) fn send_redirected(&mut self, now: Nanos) -> Result<(), LoadError> {
        while let Some(slot) = self.redirected.pop() {
            if self.connections.is_open(slot) && !self.connections[slot].out.is_empty() {
                self.flush(slot, now)?;
                self.submit()?;
            }
        }
        Ok(())
    }
}
