//! Requests that take turns on connections, for servers that close after each reply or after a few.
//!
//! ```text
//! due ──► a connection is free? ──► connect ──► write ──► reply ──► the server closes ──► free
//!           no: wait in FIFO order                     `── it may also keep the connection for the next request
//! ```
//!
//! A request counts as sent once the client has done all it can: it has started a connection, or all
//! connections are in use. From then on the server delays the request, not the instrument. Latency and
//! service latency therefore include the time to connect, as they would for a user. The time to connect is
//! also recorded separately.

use std::io::ErrorKind;

use hindmost_clock::{Clock, Nanos};

use super::resend::MAX_RESENDS;
use super::worker::Worker;
use crate::engine::state::backlog::Waiting;
use crate::engine::state::connection::{Connection, State};
use crate::engine::state::connections::is_absence;
use crate::engine::state::request::{Ending, Pending};
use crate::engine::state::stages::Stage;
use crate::engine::state::turns::Turns;
use crate::protocol::Protocol;
use crate::record::{Place, Row, Status};
use crate::transport::StampedTransport;
use crate::workload::Request;
use crate::LoadError;

impl<P: Protocol, T: StampedTransport + ?Sized, C: Clock> Worker<P, T, C> {
    /// Start taking turns. Requests pending on an open connection are answered there or come back to the
    /// queue.
    #[cold]
    pub(super) fn begin_turns(&mut self) {
        self.turns.enabled = true;
        for slot in self.connections.slots() {
            match self.connections[slot].state {
                // An unneeded open connection might keep the server from serving others.
                State::Open if self.connections[slot].is_idle() => {
                    self.end_waiting(slot);
                    self.transport.close(slot);
                    self.connections.take(slot);
                    self.connections.mark_idle_closed(slot);
                    self.connections.release(slot);
                }
                State::Open => self.connections.take(slot),
                State::Connecting | State::Opening | State::Down => self.lose_turn(slot),
                State::Closing => {}
            }
        }
        while let Some(Waiting { request, scheduled_ns, sent_ns, resends, stamped }) = self.backlog.pop() {
            let Request { kind, item, .. } = request;
            // Requests wait for a place only with a single server.
            self.turns
                .push(0, Pending { scheduled_ns, sent_ns, kind, stamped, resends, item, ..Pending::BLANK });
        }
        self.turns.sort();
    }

    /// Give the scheduled request a connection, or queue it. In the closed loop, return `false` if none is
    /// free.
    #[cold]
    pub(super) fn send_in_turn(&mut self, now: Nanos) -> Result<bool, LoadError> {
        if self.schedule.closed {
            if now >= self.schedule.timeline.end || !self.connections.any_usable() {
                return Ok(false);
            }
            self.schedule.next_scheduled = now;
        } else if self.schedule.is_full() {
            self.record_unsent();
            self.schedule.draw();
            return Ok(true);
        }
        let endpoint = self.schedule.endpoint;
        if self.connections.refuses(endpoint) {
            self.record_unserved();
            self.schedule.draw();
            return Ok(true);
        }
        let (Request { kind, item, value_bytes }, scheduled_ns) =
            (self.schedule.next, self.schedule.next_scheduled.0);
        let mut pending = Pending { scheduled_ns, kind, item, end: u64::from(value_bytes), ..Pending::BLANK };
        self.recorder.record_outstanding(scheduled_ns, self.schedule.outstanding);
        self.schedule.outstanding += 1;
        self.schedule.draw();
        if let Some(slot) = self.connections.take_any(endpoint) {
            self.take_turn(slot, pending)?;
        } else {
            self.stamp_alone(&mut pending, now);
            self.turns.push(endpoint, pending);
        }
        Ok(true)
    }

    /// Give the free connection `slot` to the next waiting request.
    #[cold]
    pub(super) fn give_turn(&mut self, slot: u32) -> Result<(), LoadError> {
        if let Some(pending) = self.turns.pop(self.connections.endpoint(slot)) {
            return self.take_turn(slot, pending);
        }
        self.connections.release(slot);
        Ok(())
    }

    /// Handle an open `slot` without requests: reuse it for the next request, or close it after its last one.
    #[cold]
    pub(super) fn end_turn(&mut self, slot: u32, now: Nanos) -> Result<(), LoadError> {
        let Connection { answered, request_limit, session, out, request_bytes, .. } =
            &mut self.connections[slot];
        if *answered < *request_limit {
            return self.give_turn(slot);
        }
        if !self.codec.write_farewell(session, out) {
            return self.disconnect(slot, now, "the connection has carried its last request".into());
        }
        let farewell_bytes = out.len() as u64;
        *request_bytes += farewell_bytes;
        self.expect_close(slot, now)?;
        if farewell_bytes == 0 {
            return Ok(());
        }
        self.flush(slot, now)?;
        self.submit()
    }

    /// Put a request on a connection that no other request uses.
    fn take_turn(&mut self, slot: u32, mut pending: Pending) -> Result<(), LoadError> {
        let now = self.clock.now();
        self.stages.enter(Stage::Writing, now);
        self.away.record_call(now);
        if pending.sent_ns == 0 {
            self.stamp_alone(&mut pending, now);
        }
        let measured = pending.scheduled_ns >= self.schedule.timeline.measure.0;
        let connection = &mut self.connections[slot];
        connection.pending.push_back(pending);
        connection.measured += u32::from(measured);
        if connection.state == State::Open {
            self.send_request(slot, now)?;
        } else {
            self.connections.start_attempt(slot, now);
            if let Err(e) = self.transport.connect(slot) {
                self.handle_refusal(slot, e, now)?;
            }
        }
        let after = self.clock.now();
        self.stages.enter(Stage::Waiting, after);
        self.away.record_call(after);
        self.ideal.add_write(after.saturating_sub(now));
        Ok(())
    }

    /// Send the request that the newly connected `slot` was opened for.
    pub(super) fn begin_turn(&mut self, slot: u32, now: Nanos) -> Result<(), LoadError> {
        if self.connections[slot].pending.is_empty() {
            return self.give_turn(slot);
        }
        self.send_request(slot, now)
    }

    /// Write the only request of `slot`.
    fn send_request(&mut self, slot: u32, now: Nanos) -> Result<(), LoadError> {
        let Some(mut pending) = self.connections[slot].pending.pop_front() else { return Ok(()) };
        if pending.resends == 0 {
            pending.stamped = self.is_stamped(slot);
        }
        let connection = &mut self.connections[slot];
        // Only requests whose bytes follow from their number are resent. They have no value.
        let value_bytes = if pending.resends == 0 { pending.end as u32 } else { 0 };
        let request = Request { kind: pending.kind, item: pending.item, value_bytes };
        pending.end = connection.write_request(&self.codec, request);
        connection.pending.push_back(pending);
        self.flush(slot, now)?;
        self.submit()
    }

    /// Queue the pending requests of `slot` for another connection to the same server.
    pub(super) fn lose_turn(&mut self, slot: u32) {
        let endpoint = self.connections.endpoint(slot);
        while let Some(pending) = self.connections[slot].pending.pop_back() {
            self.turns.push_front(endpoint, pending);
        }
    }

    /// Handle a failed connection attempt. If one of several servers is down, the request of this attempt is
    /// lost, and so are all waiting requests once none of its connections is left: requests do not move to
    /// other servers. A single server is tried again until it counts as gone.
    pub(super) fn refuse_turn(&mut self, slot: u32, error: ErrorKind) {
        if self.connections.servers() == 1 || !is_absence(error) {
            return self.lose_turn(slot);
        }
        while let Some(pending) = self.connections[slot].pending.pop_front() {
            self.drop_lost(slot, pending);
        }
        let endpoint = self.connections.endpoint(slot);
        while self.connections.refuses(endpoint) {
            let Some(pending) = self.turns.pop(endpoint) else { break };
            self.drop_lost(slot, pending);
        }
    }

    /// Resend the request of a reused connection that was closed before the first byte of the reply. The
    /// server may close an idle connection at any time, so the request is resent (RFC 9110, 9.2.2) if
    /// repeating it is harmless. Otherwise it is lost: the server may have processed it.
    pub(super) fn repeat_turn(&mut self, slot: u32) {
        let connection = &mut self.connections[slot];
        let may = connection
            .pending
            .front()
            .is_some_and(|one| one.resends < MAX_RESENDS && self.codec.may_repeat(one.kind));
        if connection.answered == 0 || !connection.reader.is_fresh() || !may {
            return;
        }
        let Some(mut pending) = connection.pending.pop_front() else { return };
        (pending.resends, pending.redirects) = (pending.resends + 1, 0);
        self.tally.resent += 1;
        self.turns.push_front(self.connections.endpoint(slot), pending);
    }

    /// Reuse all closed connections, and those that failed to open a while ago.
    pub(super) fn retry_turns(&mut self, now: Nanos) -> Result<(), LoadError> {
        for _ in 0..self.connections.down.len() {
            let slot = self.connections.down.remove(0);
            self.give_turn(slot)?;
        }
        self.check_gone(now)
    }

    /// Close connections that the server should have closed by `now`.
    #[cold]
    pub(super) fn hang_up(&mut self, now: Nanos) -> Result<(), LoadError> {
        while let Some(slot) = self.turns.overdue(now) {
            self.disconnect(slot, now, "the server announced that it would close the connection".into())?;
        }
        Ok(())
    }

    /// Record requests still waiting for a connection or a place as timeouts at the end of the load.
    pub(super) fn end_turns(&mut self) {
        let from_backlog =
            |Waiting { request, scheduled_ns, sent_ns, .. }| (scheduled_ns, sent_ns, request.kind);
        let servers = self.connections.servers() as u16;
        let from_turns = |turns: &mut Turns, endpoint| {
            turns.pop(endpoint).map(|one| (endpoint, (one.scheduled_ns, one.sent_ns, one.kind)))
        };
        while let Some((endpoint, (scheduled_ns, sent_ns, kind))) = (0..servers)
            .find_map(|endpoint| from_turns(&mut self.turns, endpoint))
            .or_else(|| self.backlog.pop().map(|one| (0, from_backlog(one))))
        {
            let Ending { completed_ns, status, .. } = Ending::without_answer(Status::Timeout);
            self.recorder.record(Row {
                scheduled_ns,
                sent_ns,
                wire_out_ns: 0,
                wire_in_ns: 0,
                card_wire_ns: 0,
                completed_ns,
                place: Place::default(),
                kind,
                status,
                has_message: false,
                connection: u32::MAX,
                endpoint,
                thread: self.index,
            });
        }
    }
}
