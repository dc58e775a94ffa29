//! The sending half of the loop.

use std::io::ErrorKind;

use hindmost_clock::{Clock, Nanos};

use super::connection::Pending;
use super::stages::Stage;
use super::stamping::Chosen;
use super::worker::Worker;
use crate::protocol::Protocol;
use crate::record::{Place, Row, Status};
use crate::transport::Transport;
use crate::workload::{Request, Requests};
use crate::LoadError;

/// Requests put together before their write calls. When the loop is on time there is one; after a
/// stall, requests that share a connection share a write.
const BATCH: usize = 64;

impl<P: Protocol, T: Transport, C: Clock> Worker<P, T, C> {
    /// Sends everything due at `now`; says whether there was anything.
    #[inline]
    pub(super) fn send_due(&mut self, now: Nanos) -> Result<bool, LoadError> {
        if self.next_due > now || (self.closed && self.usable.is_empty()) {
            return Ok(false);
        }
        self.send_batch(now)
    }

    /// One batch only: when the worker lags, replies have to be taken between batches, or the lag
    /// would be counted as the server's.
    fn send_batch(&mut self, now: Nanos) -> Result<bool, LoadError> {
        let mut taken = 0;
        while taken < BATCH && self.next_due <= now && self.next_due < self.timeline.end && self.take(now) {
            taken += 1;
        }
        self.flush_dirty()?;
        Ok(taken > 0)
    }

    /// Puts the due request on a connection. In the closed loop, `false` when none is free.
    #[inline]
    fn take(&mut self, now: Nanos) -> bool {
        let slot = if self.closed {
            if now >= self.timeline.end {
                return false;
            }
            let Some(slot) = self.usable.pop() else { return false };
            // A closed loop knows no lateness: the request is due when its connection is free.
            self.next_due = now;
            slot
        } else {
            if self.usable.is_empty() || self.outstanding >= self.max_outstanding {
                self.unsent();
                self.draw();
                return true;
            }
            self.usable[Requests::pick(&mut self.routing, self.usable.len() as u32) as usize]
        };
        if !self.connections[slot as usize].make_room(self.largest_request) {
            self.unsent();
            self.draw();
            return true;
        }
        let chosen = self.choose(slot);
        let connection = &mut self.connections[slot as usize];
        let before = connection.out.len();
        self.codec.write(self.next, &mut connection.out);
        connection.asked += (connection.out.len() - before) as u64;
        let (due_ns, end) = (self.next_due.0, connection.asked);
        let Request { kind, item, .. } = self.next;
        let pending = Pending { due_ns, sent_ns: 0, end, kind, chosen, again: false, item };
        connection.pending.push_back(pending);
        if connection.fresh == 0 {
            self.dirty.push(slot);
        }
        connection.fresh += 1;
        connection.carried += u32::from(self.next_due >= self.timeline.measure);
        self.recorder.met(self.next_due.0, self.outstanding);
        self.outstanding += 1;
        self.draw();
        true
    }

    /// Hands over what was put together. In the open loop each connection has a write call of its own and
    /// its own stamp just before it. On a connection whose buffer in the kernel is full, the stamp is that
    /// of the call that would have been made: the server keeps the request waiting from then on, not the
    /// instrument. In the closed loop, which is asked for as many requests as there can be, one call takes
    /// all where the transport can do that.
    fn flush_dirty(&mut self) -> Result<(), LoadError> {
        let mut dirty = std::mem::take(&mut self.dirty);
        if T::QUEUES && self.closed && dirty.len() > 1 {
            self.flush_together(&dirty)?;
        } else {
            for &slot in &dirty {
                let now = self.clock.now();
                self.stages.enter(Stage::Writing, now);
                self.stamp_sent(slot, now);
                self.flush(slot, now)?;
                self.submit()?;
                let after = self.clock.now();
                self.stages.enter(Stage::Waiting, after);
                self.ideal.wrote(after.saturating_sub(now));
            }
        }
        dirty.clear();
        self.dirty = dirty;
        Ok(())
    }

    /// One call for all of `slots` but those with a request that is to be stamped, which have one each. The
    /// kernel takes them one after another and as long over each, so the stamps are spread evenly over the
    /// call.
    fn flush_together(&mut self, slots: &[u32]) -> Result<(), LoadError> {
        let mut left = slots.len() as u64;
        for &slot in slots {
            if self.connections[slot as usize].chosen.back().is_some_and(Chosen::is_unwritten) {
                let now = self.clock.now();
                self.stamp_sent(slot, now);
                self.flush(slot, now)?;
                left -= 1;
            }
        }
        let before = self.clock.now();
        for &slot in slots {
            if self.connections[slot as usize].fresh > 0 {
                self.flush(slot, before)?;
            }
        }
        self.submit()?;
        let each = self.clock.now().saturating_sub(before).0 / left.max(1);
        let mut at = before.0;
        for &slot in slots {
            if self.connections[slot as usize].fresh > 0 {
                self.stamp_sent(slot, Nanos(at));
                at += each;
            }
        }
        Ok(())
    }

    /// The fresh requests of `slot` were handed over at `now`.
    #[inline]
    fn stamp_sent(&mut self, slot: u32, now: Nanos) {
        let connection = &mut self.connections[slot as usize];
        let fresh = std::mem::take(&mut connection.fresh);
        self.sent += fresh as u64;
        // None are left of a connection that has just been lost.
        let from = connection.pending.len().saturating_sub(fresh);
        for pending in connection.pending.range_mut(from..) {
            pending.sent_ns = now.0;
            // A closed loop knows no lateness.
            let ideal = (!self.closed).then(|| self.ideal.due(Nanos(pending.due_ns)));
            if self.recorder.sent(pending.kind, pending.due_ns, now.0, ideal) && !self.closed {
                self.stages.sent(now.0 - pending.due_ns);
            }
        }
    }

    pub(super) fn submit(&mut self) -> Result<(), LoadError> {
        self.transport.submit().map_err(LoadError::system("io_uring_enter failed"))
    }

    /// Writes what `slot` has to write, as far as the kernel takes it. A connection that is blocked is
    /// written to when the kernel says that it has room again.
    pub(super) fn flush(&mut self, slot: u32, now: Nanos) -> Result<(), LoadError> {
        if self.connections[slot as usize].blocked || self.write_out(slot, now)? {
            return Ok(());
        }
        self.connections[slot as usize].blocked = true;
        self.sockets.blocked += 1;
        self.transport.watch_writes(slot, true).map_err(LoadError::system("epoll_ctl failed"))
    }

    /// The kernel has room again for the bytes of `slot`.
    #[cold]
    pub(super) fn unblock(&mut self, slot: u32, now: Nanos) -> Result<(), LoadError> {
        if !self.connections[slot as usize].blocked || !self.write_out(slot, now)? || !self.is_open(slot) {
            return Ok(());
        }
        self.connections[slot as usize].blocked = false;
        self.submit()?;
        self.transport.watch_writes(slot, false).map_err(LoadError::system("epoll_ctl failed"))
    }

    /// One write call; says whether nothing is left to write.
    fn write_out(&mut self, slot: u32, now: Nanos) -> Result<bool, LoadError> {
        let connection = &mut self.connections[slot as usize];
        let bytes = &connection.out[connection.written..];
        let stamped = connection.chosen.back().is_some_and(Chosen::is_unwritten);
        let result = if stamped {
            self.transport.write_stamped(slot, bytes)
        } else {
            self.transport.write(slot, bytes).map(|n| (n, 0))
        };
        let mut key = 0;
        match result {
            Ok((n, last)) => {
                connection.written += n;
                key = last;
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(e) => {
                // Replies that came before it broke count, and may have announced it.
                self.stamp_sent(slot, now);
                self.receive(slot)?;
                if self.is_open(slot) {
                    self.lose(slot, now, &e.to_string())?;
                }
                return Ok(true);
            }
        }
        let all = connection.written == connection.out.len();
        if all {
            connection.out.clear();
            connection.written = 0;
        }
        if all && stamped {
            self.written(slot, key);
        }
        Ok(all)
    }

    /// The due request cannot be sent: no connection, or no room to keep track of it.
    pub(super) fn unsent(&mut self) {
        self.recorder.ended(Row {
            due_ns: self.next_due.0,
            sent_ns: 0,
            wire_out_ns: 0,
            wire_in_ns: 0,
            card_wire_ns: 0,
            done_ns: 0,
            place: Place::default(),
            kind: self.next.kind,
            status: Status::Unsent,
            connection: u32::MAX,
            thread: self.index,
        });
    }
}
