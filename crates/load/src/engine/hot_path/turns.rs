//! A server that closes after each reply, or nearly so: requests take turns on its connections.
//!
//! ```text
//! due ──► a connection is free? ──► connect ──► write ──► the reply ──► the server closes ──► free
//!           no: wait, the first come first          `── it may also keep the connection for the next one
//! ```
//!
//! A request counts as sent when all that we could do for it was done: its connection was asked for, or all were in
//! use. The server keeps it waiting from then on, not the instrument. So latency and service latency hold the time to
//! connect, as its user's would; that time is kept by itself, too.

use std::io::ErrorKind;

use hindmost_clock::{Clock, Nanos};

use super::resend::MOST_RESENDS;
use super::worker::Worker;
use crate::engine::state::backlog::Waiting;
use crate::engine::state::connection::{Connection, State};
use crate::engine::state::connections::is_absence;
use crate::engine::state::request::{Ending, Pending};
use crate::engine::state::stages::Stage;
use crate::engine::state::turns::Turns;
use crate::protocol::Protocol;
use crate::record::{Place, Row, Status};
use crate::transport::Stamped;
use crate::workload::Request;
use crate::LoadError;

impl<P: Protocol, T: Stamped + ?Sized, C: Clock> Worker<P, T, C> {
    /// From now on requests take turns. What waits for an answer on an open connection gets it there, or comes back.
    #[cold]
    pub(super) fn begin_turns(&mut self) {
        self.turns.on = true;
        for slot in self.connections.slots() {
            match self.connections[slot].state {
                // Open without need, it might keep the server from looking at others.
                State::Open if self.connections[slot].is_idle() => {
                    self.end_waiting(slot);
                    self.transport.close(slot);
                    self.connections.take(slot);
                    self.connections.rests(slot);
                    self.connections.release(slot);
                }
                State::Open => self.connections.take(slot),
                State::Connecting | State::Opening | State::Down => self.lose_turn(slot),
                State::Parting => {}
            }
        }
        while let Some(Waiting { request, due_ns, sent_ns, resends, stamped }) = self.backlog.next() {
            let Request { kind, item, .. } = request;
            // One that waits for a place does so at the only server.
            self.turns.wait(0, Pending { due_ns, sent_ns, kind, stamped, resends, item, ..Pending::BLANK });
        }
        self.turns.sort();
    }

    /// The due request gets a connection, or waits for one. In the closed loop, `false` when none is free.
    #[cold]
    pub(super) fn send_by_turns(&mut self, now: Nanos) -> Result<bool, LoadError> {
        if self.schedule.closed {
            if now >= self.schedule.timeline.end || !self.connections.any_usable() {
                return Ok(false);
            }
            self.schedule.next_due = now;
        } else if self.schedule.is_full() {
            self.unsent();
            self.schedule.draw();
            return Ok(true);
        }
        let endpoint = self.schedule.endpoint;
        if self.connections.refuses(endpoint) {
            self.unserved();
            self.schedule.draw();
            return Ok(true);
        }
        let (Request { kind, item, value_bytes }, due_ns) = (self.schedule.next, self.schedule.next_due.0);
        let mut pending = Pending { due_ns, kind, item, end: u64::from(value_bytes), ..Pending::BLANK };
        self.recorder.found_outstanding(due_ns, self.schedule.outstanding);
        self.schedule.outstanding += 1;
        self.schedule.draw();
        if let Some(slot) = self.connections.take_any(endpoint) {
            self.take_turn(slot, pending)?;
        } else {
            self.stamp_alone(&mut pending, now);
            self.turns.wait(endpoint, pending);
        }
        Ok(true)
    }

    /// `slot` is free: for whoever waits.
    #[cold]
    pub(super) fn give_turn(&mut self, slot: u32) -> Result<(), LoadError> {
        if let Some(pending) = self.turns.next(self.connections.endpoint(slot)) {
            return self.take_turn(slot, pending);
        }
        self.connections.release(slot);
        Ok(())
    }

    /// Nothing is asked on `slot`, which is open: it carries the next request, or has carried its last.
    #[cold]
    pub(super) fn end_turn(&mut self, slot: u32, now: Nanos) -> Result<(), LoadError> {
        let Connection { answered, carries, session, out, request_bytes, .. } = &mut self.connections[slot];
        if *answered < *carries {
            return self.give_turn(slot);
        }
        if !self.codec.farewell(session, out) {
            return self.disconnect(slot, now, "it has carried its last request".into());
        }
        let said = out.len() as u64;
        *request_bytes += said;
        self.part(slot, now)?;
        if said == 0 {
            return Ok(());
        }
        self.flush(slot, now)?;
        self.submit()
    }

    /// Puts a request on a connection that nobody else uses.
    fn take_turn(&mut self, slot: u32, mut pending: Pending) -> Result<(), LoadError> {
        let now = self.clock.now();
        self.stages.enter(Stage::Writing, now);
        self.away.called(now);
        if pending.sent_ns == 0 {
            self.stamp_alone(&mut pending, now);
        }
        let measured = pending.due_ns >= self.schedule.timeline.measure.0;
        let connection = &mut self.connections[slot];
        connection.pending.push_back(pending);
        connection.measured += u32::from(measured);
        if connection.state == State::Open {
            self.ask(slot, now)?;
        } else {
            self.connections.trying(slot, now);
            if let Err(e) = self.transport.connect(slot) {
                self.refused(slot, e, now)?;
            }
        }
        let after = self.clock.now();
        self.stages.enter(Stage::Waiting, after);
        self.away.called(after);
        self.ideal.wrote(after.saturating_sub(now));
        Ok(())
    }

    /// `slot` is connected: asks what it was opened for.
    pub(super) fn begin_turn(&mut self, slot: u32, now: Nanos) -> Result<(), LoadError> {
        if self.connections[slot].pending.is_empty() {
            return self.give_turn(slot);
        }
        self.ask(slot, now)
    }

    /// Writes the only request of `slot`.
    fn ask(&mut self, slot: u32, now: Nanos) -> Result<(), LoadError> {
        let Some(mut pending) = self.connections[slot].pending.pop_front() else { return Ok(()) };
        if pending.resends == 0 {
            pending.stamped = self.is_stamped(slot);
        }
        let connection = &mut self.connections[slot];
        // One that is asked again is of a protocol whose requests follow from their number, and has no value.
        let value_bytes = if pending.resends == 0 { pending.end as u32 } else { 0 };
        let request = Request { kind: pending.kind, item: pending.item, value_bytes };
        pending.end = connection.ask(&self.codec, request);
        connection.pending.push_back(pending);
        self.flush(slot, now)?;
        self.submit()
    }

    /// What is pending on `slot` waits for another connection to the same server.
    pub(super) fn lose_turn(&mut self, slot: u32) {
        let endpoint = self.connections.endpoint(slot);
        while let Some(pending) = self.connections[slot].pending.pop_back() {
            self.turns.wait_again(endpoint, pending);
        }
    }

    /// `slot` could not be opened. Where one server of several is not there, what it was tried for is lost, and so is all
    /// that waits when none of its connections is left: it goes to no other. Else it is tried again: the only server
    /// may come back, until it counts as gone.
    pub(super) fn refuse_turn(&mut self, slot: u32, error: ErrorKind) {
        if self.connections.servers() == 1 || !is_absence(error) {
            return self.lose_turn(slot);
        }
        while let Some(pending) = self.connections[slot].pending.pop_front() {
            self.drop_lost(slot, pending);
        }
        let endpoint = self.connections.endpoint(slot);
        while self.connections.refuses(endpoint) {
            let Some(pending) = self.turns.next(endpoint) else { break };
            self.drop_lost(slot, pending);
        }
    }

    /// A connection that had served before was closed before a byte of the next reply: the server had closed it when
    /// it was asked, as it may at any time, and the request is asked again (RFC 9110, 9.2.2) - if that does no harm, or
    /// else is lost: whether the server has worked on it is unknown.
    pub(super) fn repeat_turn(&mut self, slot: u32) {
        let connection = &mut self.connections[slot];
        let may = connection
            .pending
            .front()
            .is_some_and(|one| one.resends < MOST_RESENDS && self.codec.may_repeat(one.kind));
        if connection.answered == 0 || !connection.reader.is_fresh() || !may {
            return;
        }
        let Some(mut pending) = connection.pending.pop_front() else { return };
        pending.resends += 1;
        self.tally.resent += 1;
        self.turns.wait_again(self.connections.endpoint(slot), pending);
    }

    /// All that are closed, or could not be opened a while ago, are free.
    pub(super) fn retry_turns(&mut self, now: Nanos) -> Result<(), LoadError> {
        for _ in 0..self.connections.down.len() {
            let slot = self.connections.down.remove(0);
            self.give_turn(slot)?;
        }
        self.check_gone(now)
    }

    /// Closes what the server should have closed by `now`.
    #[cold]
    pub(super) fn hang_up(&mut self, now: Nanos) -> Result<(), LoadError> {
        while let Some(slot) = self.turns.overdue(now) {
            self.disconnect(slot, now, "the server said that it closes the connection".into())?;
        }
        Ok(())
    }

    /// The load is over for those that still wait for a connection, or a place on one.
    pub(super) fn end_turns(&mut self) {
        let from_backlog = |Waiting { request, due_ns, sent_ns, .. }| (due_ns, sent_ns, request.kind);
        let servers = self.connections.servers() as u16;
        let from_turns = |turns: &mut Turns, endpoint| {
            turns.next(endpoint).map(|one| (endpoint, (one.due_ns, one.sent_ns, one.kind)))
        };
        while let Some((endpoint, (due_ns, sent_ns, kind))) = (0..servers)
            .find_map(|endpoint| from_turns(&mut self.turns, endpoint))
            .or_else(|| self.backlog.next().map(|one| (0, from_backlog(one))))
        {
            let Ending { done_ns, status, .. } = Ending::unanswered(Status::Timeout);
            self.recorder.ended(Row {
                due_ns,
                sent_ns,
                wire_out_ns: 0,
                wire_in_ns: 0,
                card_wire_ns: 0,
                done_ns,
                place: Place::default(),
                kind,
                status,
                connection: u32::MAX,
                endpoint,
                thread: self.index,
            });
        }
    }
}
