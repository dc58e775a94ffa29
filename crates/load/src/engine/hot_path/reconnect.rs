//! Connections that break during the load and are reopened.

use std::io::{self, ErrorKind};

use hindmost_clock::{Clock, Nanos};

use super::datagrams::PORT_CLOSED;
use super::opening::Attempt;
use super::worker::Worker;
use crate::engine::state::connection::Connection;
use crate::engine::state::failure::Failure;
use crate::engine::state::request::{Ending, Pending};
use crate::protocol::{Protocol, Refusal};
use crate::record::Status;
use crate::transport::{Ready, StampedTransport};
use crate::workload::Kind;
use crate::LoadError;

impl<P: Protocol, T: StampedTransport + ?Sized, C: Clock> Worker<P, T, C> {
    /// Continue a connection attempt during the load.
    #[cold]
    pub(super) fn connecting(&mut self, ready: Ready) -> Result<Nanos, LoadError> {
        let (slot, now) = (ready.slot, self.clock.now());
        match self.continue_connecting(ready)? {
            Attempt::InProgress => {}
            Attempt::Failed(e) => {
                self.transport.close(slot);
                self.handle_refusal(slot, e, now)?;
            }
            Attempt::Open if self.turns.enabled => self.begin_turn(slot, now)?,
            Attempt::Open => {
                if !self.connections[slot].pending.is_empty() {
                    self.resend_pending(slot, now)?;
                }
                self.make_usable(slot);
                if self.backlog.enabled && self.connections.is_open(slot) {
                    self.fill_places(slot, now)?;
                }
            }
        }
        Ok(now)
    }

    /// Record a failed connection attempt. The worker tries again later.
    #[cold]
    pub(super) fn handle_refusal(
        &mut self,
        slot: u32,
        error: io::Error,
        now: Nanos,
    ) -> Result<(), LoadError> {
        let kind = error.kind();
        if let Some(refusal) = error.get_ref().and_then(|inner| inner.downcast_ref::<Refusal>()) {
            self.tally.note_error(refusal.to_string().as_bytes());
        }
        self.recorder.record_refusal(self.attempt_time(slot));
        self.connections.mark_refused(slot, error, now);
        self.connections.down.push(slot);
        if self.turns.enabled {
            self.refuse_turn(slot, kind);
        }
        self.check_ports(kind, now)?;
        self.check_gone(now)
    }

    /// Return the time that decides whether the attempt of `slot` belongs to the measurement: the scheduled
    /// time of the request that needs the connection, or else the time of the attempt.
    pub(super) fn attempt_time(&self, slot: u32) -> u64 {
        let connection = &self.connections[slot];
        let request = connection.pending.front().filter(|_| self.turns.enabled);
        request.map_or(connection.attempt_started.0, |pending| pending.scheduled_ns)
    }

    /// Fail when no local port is left: the delay would be ours, not the server's.
    fn check_ports(&self, error: ErrorKind, now: Nanos) -> Result<(), LoadError> {
        if error != ErrorKind::AddrNotAvailable || (self.connections.open() > 0 && !self.turns.enabled) {
            return Ok(());
        }
        let made = self.recorder.connects.all;
        Err(LoadError::PortsUsedUp { made, after_s: self.schedule.elapsed_s(now) })
    }

    /// Handle a connection closed by the server. The close completes a reply without a stated length.
    #[cold]
    pub(super) fn handle_close(&mut self, slot: u32, now: Nanos) -> Result<(), LoadError> {
        const REASON: &str = "the server closed the connection";
        let Connection { reader, session, pending, .. } = &mut self.connections[slot];
        let kind = pending.front().map_or(Kind::GET, |oldest| oldest.kind);
        if let Some(reply) = reader.end(&self.codec, session, kind) {
            self.follow_or_record(slot, reply, now, 0);
            self.end_batch(slot, now);
            self.leave_unanswered(slot);
            return self.disconnect(slot, now, REASON.into());
        }
        self.lose(slot, now, REASON.into())
    }

    /// Handle a broken connection: its requests are lost, except those the server said it did not process.
    #[cold]
    pub(super) fn lose(&mut self, slot: u32, now: Nanos, reason: Failure) -> Result<(), LoadError> {
        self.end_batch(slot, now);
        if P::MAY_CLOSE && self.turns.enabled {
            self.repeat_turn(slot);
        }
        self.lose_requests(slot);
        self.disconnect(slot, now, reason)
    }

    /// Handle bytes that answer no request or are no valid reply: nothing after them can be interpreted. The
    /// request they would have answered fails. The connection is closed and reopened.
    #[cold]
    pub(super) fn break_off(&mut self, slot: u32, now: Nanos) -> Result<(), LoadError> {
        self.tally.unreadable += 1;
        self.end_batch(slot, now);
        if P::MAY_CLOSE && !P::TAGGED {
            if let Some(pending) = self.connections[slot].pending.pop_front() {
                self.drop_lost(slot, pending);
            }
            self.leave_unanswered(slot);
        } else {
            self.lose_requests(slot);
        }
        self.close(slot, now, "the server sent something other than a reply".into());
        self.check_gone(now)
    }

    /// Lose the pending requests of `slot`, except those the server said it did not process.
    fn lose_requests(&mut self, slot: u32) {
        let Connection { pending, tags, session, .. } = &self.connections[slot];
        let left_alone = self.codec.closing_tag(session).map_or(0, |below| tags.count_from(below));
        for _ in left_alone..pending.len() {
            let Some(pending) = self.connections[slot].pending.pop_front() else { break };
            self.drop_lost(slot, pending);
        }
        self.leave_unanswered(slot);
    }

    /// Record a request that will get no answer.
    pub(super) fn drop_lost(&mut self, slot: u32, pending: Pending) {
        self.schedule.outstanding -= 1;
        self.tally.lost += 1;
        self.end(slot, pending, Ending::without_answer(Status::Lost));
    }

    /// Close a connection and schedule a new attempt. Its pending requests are kept.
    pub(super) fn disconnect(&mut self, slot: u32, now: Nanos, reason: Failure) -> Result<(), LoadError> {
        self.tally.closings += u64::from(self.turns.carried.is_none());
        let slots = self.connections.all().len();
        // With several servers, others may keep their connections open.
        let one = self.connections.servers() == 1;
        let begins = P::MAY_CLOSE && one && !self.turns.enabled && self.tally.closes_each(slots);
        self.close(slot, now, reason);
        if begins {
            self.turns.forced = true;
            self.begin_turns();
        }
        self.check_gone(now)
    }

    fn close(&mut self, slot: u32, now: Nanos, reason: Failure) {
        let pause = !self.turns.enabled && self.connections[slot].answered == 0;
        self.end_waiting(slot);
        self.transport.close(slot);
        self.turns.forget(slot);
        self.connections.mark_closed(slot, now, pause, reason);
    }

    /// Retry all broken connections.
    #[cold]
    pub(super) fn retry(&mut self, now: Nanos) -> Result<(), LoadError> {
        self.connections.retry_at = Nanos::MAX;
        if self.turns.enabled {
            return self.retry_turns(now);
        }
        let mut down = std::mem::take(&mut self.connections.down);
        let mut ports = Ok(());
        down.retain(|&slot| {
            self.connections.start_attempt(slot, now);
            let Err(e) = self.transport.connect(slot) else { return false };
            self.recorder.record_refusal(now.0);
            ports = self.check_ports(e.kind(), now);
            self.connections.mark_refused(slot, e, now);
            true
        });
        self.connections.down = down;
        ports?;
        self.check_gone(now)
    }

    /// Fail if there has been no connection for too long: the server is gone.
    pub(super) fn check_gone(&mut self, now: Nanos) -> Result<(), LoadError> {
        self.connections
            .gone_since(now, self.turns.enabled)
            .map_or(Ok(()), |since| Err(self.server_gone(since)))
    }

    /// Fail if a server refuses every connection at the end of the load.
    pub(super) fn check_refused(&mut self) -> Result<(), LoadError> {
        if let Some(since) = self.tally.refused_since {
            self.connections.note_failure(PORT_CLOSED);
            return Err(self.server_gone(since));
        }
        self.connections.refused_since().map_or(Ok(()), |since| Err(self.server_gone(since)))
    }

    #[cold]
    pub(super) fn server_gone(&self, since: Nanos) -> LoadError {
        LoadError::ServerGone {
            after_s: self.schedule.elapsed_s(since),
            lost: self.tally.lost,
            reason: self.connections.last_failure.to_string(),
        }
    }
}
