//! The sending half of the event loop.

use std::io::ErrorKind;

use hindmost_clock::{Clock, Nanos};

use super::worker::Worker;
use crate::engine::state::request::Pending;
use crate::engine::state::stages::{Ideal, Stage, Stages};
use crate::protocol::Protocol;
use crate::record::{Place, Recorder, Row, Status};
use crate::transport::StampedTransport;
use crate::workload::Request;
use crate::LoadError;

/// Most requests encoded before their write calls. A loop that is on time encodes one; after a stall,
/// requests on the same connection share a write.
const BATCH: usize = 64;

impl<P: Protocol, T: StampedTransport + ?Sized, C: Clock> Worker<P, T, C> {
    /// Send all requests and batches scheduled by `now`. Return whether there were any.
    #[inline]
    pub(super) fn send_scheduled(&mut self, now: Nanos) -> Result<bool, LoadError> {
        if self.schedule.next_scheduled.min(self.batches.next) > now
            || (self.schedule.closed && !self.connections.any_usable())
        {
            return Ok(false);
        }
        self.send_batch(now)
    }

    /// Send at most one batch. If the worker lags, it must read replies between batches, or its lag would
    /// count as the server's latency.
    fn send_batch(&mut self, now: Nanos) -> Result<bool, LoadError> {
        if self.schedule.timeline.measure == Nanos::MAX {
            // A worker interrupted in the middle of an iteration may have missed the start of the
            // measurement.
            self.follow_timeline();
        }
        let mut taken = 0;
        while taken < BATCH && self.schedule.is_due(now) {
            let was_sent = if self.turns.enabled { self.send_in_turn(now)? } else { self.place_request(now) };
            if !was_sent {
                break;
            }
            taken += 1;
        }
        while let Some(slot) = self.batches.pop_due(now) {
            // The batch of a connection just lost is empty.
            if self.connections[slot].fresh > 0 {
                self.connections.unwritten.push(slot);
                taken += 1;
            }
        }
        self.flush_unwritten()?;
        Ok(taken > 0)
    }

    /// Put the scheduled request on a connection. In the closed loop, return `false` if none is free.
    #[inline]
    fn place_request(&mut self, now: Nanos) -> bool {
        let slot = if self.schedule.closed {
            if now >= self.schedule.timeline.end {
                return false;
            }
            let Some(slot) = self.connections.take_free() else { return false };
            // In the closed loop a request is scheduled when its connection is free, so there is no send
            // delay.
            self.schedule.next_scheduled = now;
            Some(slot)
        } else if self.schedule.is_full() {
            None
        } else {
            self.connections.pick(self.schedule.endpoint)
        };
        self.recorder.record_scheduled(self.schedule.next_scheduled.0);
        match slot {
            Some(slot) if self.has_room(slot) => self.put_on(slot, now),
            None if self.connections.is_down(self.schedule.endpoint) => self.record_unserved(),
            _ if self.backlog.enabled => self.put_elsewhere(slot, now),
            _ => self.record_unsent(),
        }
        self.schedule.draw();
        true
    }

    /// Whether `slot` can take one more request.
    #[inline]
    pub(super) fn has_room(&mut self, slot: u32) -> bool {
        let connection = &mut self.connections[slot];
        !(P::BOUNDED && connection.is_full(&self.codec)) && connection.make_room(self.largest_request)
    }

    /// Put the scheduled request on `slot`, which has room.
    #[inline]
    pub(super) fn put_on(&mut self, slot: u32, now: Nanos) {
        let stamped = self.is_stamped(slot);
        let (request, scheduled) = (self.schedule.next, self.schedule.next_scheduled);
        let connection = &mut self.connections[slot];
        let end = connection.write_request(&self.codec, request);
        let Request { kind, item, .. } = request;
        connection.pending.push_back(Pending {
            scheduled_ns: scheduled.0,
            sent_ns: 0,
            end,
            kind,
            stamped,
            resends: 0,
            has_message: false,
            redirects: 0,
            item,
        });
        connection.measured += u32::from(scheduled >= self.schedule.timeline.measure);
        if self.batches.are_enabled() {
            self.connections[slot].fresh += 1;
            self.batches.add(slot, scheduled);
            self.recorder.record_gap(scheduled.0, now.0);
        } else {
            self.connections.add_unwritten(slot);
        }
        self.recorder.record_outstanding(scheduled.0, self.schedule.outstanding);
        self.schedule.outstanding += 1;
    }

    /// Write the encoded requests. In the open loop each connection has its own write call and its own send
    /// time, read just before the call. If a connection's socket buffer is full, the send time is that of the
    /// call that would have been made: from then on the server delays the request, not the instrument. In the
    /// closed loop, which maximises throughput, one call writes for all connections if the transport supports
    /// it.
    fn flush_unwritten(&mut self) -> Result<(), LoadError> {
        let mut unwritten = std::mem::take(&mut self.connections.unwritten);
        if self.transport.queues() && self.schedule.closed && unwritten.len() > 1 {
            self.flush_together(&unwritten)?;
        } else {
            for &slot in &unwritten {
                let now = self.clock.now();
                self.stages.enter(Stage::Writing, now);
                self.away.record_call(now);
                self.stamp_sent(slot, now);
                self.flush(slot, now)?;
                self.submit()?;
                let after = self.clock.now();
                self.stages.enter(Stage::Waiting, after);
                self.away.record_call(after);
                self.ideal.add_write(after.saturating_sub(now));
            }
        }
        unwritten.clear();
        self.connections.unwritten = unwritten;
        Ok(())
    }

    /// Write for all of `slots` in one call, except for connections with a request to be stamped, which have
    /// their own calls. The kernel handles connections one after another in about equal time, so the send
    /// times are spread evenly over the call.
    fn flush_together(&mut self, slots: &[u32]) -> Result<(), LoadError> {
        let mut left = slots.len() as u64;
        for &slot in slots {
            if self.connections[slot].stamps.wants_stamp() {
                let now = self.clock.now();
                self.stamp_sent(slot, now);
                self.flush(slot, now)?;
                left -= 1;
            }
        }
        let before = self.clock.now();
        for &slot in slots {
            if self.connections[slot].fresh > 0 {
                self.flush(slot, before)?;
            }
        }
        self.submit()?;
        let each = self.clock.now().saturating_sub(before).0 / left.max(1);
        let mut at = before.0;
        for &slot in slots {
            if self.connections[slot].fresh > 0 {
                self.stamp_sent(slot, Nanos(at));
                at += each;
            }
        }
        Ok(())
    }

    /// Record that the fresh requests of `slot` were handed over at `now`.
    #[inline]
    fn stamp_sent(&mut self, slot: u32, now: Nanos) {
        let connection = &mut self.connections[slot];
        let fresh = std::mem::take(&mut connection.fresh);
        // A connection that was just lost has no fresh requests.
        let from = connection.pending.len().saturating_sub(fresh);
        self.tally.sent += fresh as u64;
        if let Some(first) = connection.pending.get(from) {
            self.recorder.record_write(first.scheduled_ns, fresh as u64);
        }
        let paced = self.batches.are_enabled();
        for pending in connection.pending.range_mut(from..) {
            let closed = self.schedule.closed;
            let ready = self.batches.held_until(slot, Nanos(pending.scheduled_ns), now);
            if paced {
                self.recorder.record_hold(pending.scheduled_ns, ready.0);
            } else {
                self.recorder.record_gap(pending.scheduled_ns, now.0);
            }
            stamp(pending, ready, now, closed, &mut self.recorder, &mut self.stages, &mut self.ideal);
        }
    }

    /// Record the requests of `slot` that wait for their batch as handed over, when its connection ends or
    /// they are resent on another one.
    #[inline]
    pub(super) fn end_batch(&mut self, slot: u32, now: Nanos) {
        if self.batches.are_enabled() && self.connections[slot].fresh > 0 {
            self.stamp_sent(slot, now);
        }
    }

    /// Record a request as handed over that has no connection yet.
    pub(super) fn stamp_alone(&mut self, pending: &mut Pending, now: Nanos) {
        self.tally.sent += 1;
        let (closed, scheduled) = (self.schedule.closed, Nanos(pending.scheduled_ns));
        self.recorder.record_gap(scheduled.0, now.0);
        stamp(pending, scheduled, now, closed, &mut self.recorder, &mut self.stages, &mut self.ideal);
    }

    pub(super) fn submit(&mut self) -> Result<(), LoadError> {
        self.transport.submit().map_err(LoadError::system("io_uring_enter failed"))
    }

    /// Write pending bytes of `slot`, as far as the kernel accepts them. A blocked connection continues when
    /// the kernel reports free space.
    pub(super) fn flush(&mut self, slot: u32, now: Nanos) -> Result<(), LoadError> {
        if self.connections[slot].blocked || self.write_out(slot, now)? {
            return Ok(());
        }
        self.connections[slot].blocked = true;
        self.sockets.blocked += 1;
        self.transport.watch_writes(slot, true).map_err(LoadError::system("epoll_ctl failed"))
    }

    /// Continue writing on `slot` after the kernel reported free space.
    #[cold]
    pub(super) fn unblock(&mut self, slot: u32, now: Nanos) -> Result<(), LoadError> {
        if !self.connections[slot].blocked || !self.write_out(slot, now)? || !self.connections.is_open(slot) {
            return Ok(());
        }
        self.connections[slot].blocked = false;
        self.submit()?;
        self.transport.watch_writes(slot, false).map_err(LoadError::system("epoll_ctl failed"))
    }

    /// Write until nothing is left or the kernel accepts no more. Return whether nothing is left.
    fn write_out(&mut self, slot: u32, now: Nanos) -> Result<bool, LoadError> {
        while self.write_once(slot, now)? {
            if self.connections[slot].tail == 0 || !self.connections[slot].refill(&self.codec) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Make one write call. Return whether all encoded bytes are written.
    fn write_once(&mut self, slot: u32, now: Nanos) -> Result<bool, LoadError> {
        let connection = &mut self.connections[slot];
        let bytes = &connection.out[connection.written..];
        let stamped = connection.stamps.wants_stamp();
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
            Err(e) if P::LOSSY && e.kind() == ErrorKind::ConnectionRefused => {
                // The error concerns earlier datagrams. This one was not sent, and is tried again.
                self.refuse(slot, now)?;
                return Ok(false);
            }
            Err(e) => {
                // Replies received before the break count, and may have announced it.
                self.stamp_sent(slot, now);
                self.receive(slot)?;
                if self.connections.is_open(slot) {
                    self.lose(slot, now, e.into())?;
                }
                return Ok(true);
            }
        }
        let all = connection.written == connection.out.len();
        if all {
            connection.out.clear();
            connection.written = 0;
            if stamped && connection.tail == 0 {
                connection.stamps.assign_key(key);
            }
        }
        Ok(all)
    }

    /// Record that the scheduled request cannot be sent: no connection is open, or the request table is full.
    pub(super) fn record_unsent(&mut self) {
        self.end_scheduled(Status::Unsent);
    }

    /// Record the scheduled request as lost because its server is down. It is not sent to another server.
    #[cold]
    pub(super) fn record_unserved(&mut self) {
        self.tally.lost += 1;
        self.end_scheduled(Status::Lost);
    }

    fn end_scheduled(&mut self, status: Status) {
        self.recorder.record(Row {
            scheduled_ns: self.schedule.next_scheduled.0,
            sent_ns: 0,
            wire_out_ns: 0,
            wire_in_ns: 0,
            card_wire_ns: 0,
            completed_ns: 0,
            place: Place::default(),
            kind: self.schedule.next.kind,
            status,
            has_message: false,
            connection: u32::MAX,
            endpoint: self.schedule.endpoint,
            thread: self.index,
        });
    }
}

/// Record that a request that was ready at `ready` was handed over at `now`.
#[inline]
fn stamp(
    pending: &mut Pending,
    ready: Nanos,
    now: Nanos,
    closed: bool,
    recorder: &mut Recorder,
    stages: &mut Stages,
    ideal: &mut Ideal,
) {
    pending.sent_ns = now.0;
    // Send delay is defined in the open loop only.
    let ideal = (!closed).then(|| ideal.schedule(ready));
    let send_delay_ns = now.0 - ready.0;
    if recorder.record_send(pending.kind, pending.scheduled_ns, send_delay_ns, ideal) && !closed {
        stages.record_send(send_delay_ns);
    }
}
