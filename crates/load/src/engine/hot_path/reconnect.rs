//! Connections that break during the load, and are made again.

use std::io::{self, ErrorKind};

use hindmost_clock::{Clock, Nanos};

use super::datagrams::NOBODY_LISTENS;
use super::opening::Attempt;
use super::worker::Worker;
use crate::engine::state::connection::Connection;
use crate::engine::state::failure::Failure;
use crate::engine::state::request::{Ending, Pending};
use crate::protocol::{Protocol, Refusal};
use crate::record::Status;
use crate::transport::{Ready, Stamped};
use crate::LoadError;

impl<P: Protocol, T: Stamped + ?Sized, C: Clock> Worker<P, T, C> {
    /// An attempt to connect during the load goes on, or ends.
    #[cold]
    pub(super) fn connecting(&mut self, ready: Ready) -> Result<Nanos, LoadError> {
        let (slot, now) = (ready.slot, self.clock.now());
        match self.go_on_connecting(ready)? {
            Attempt::UnderWay => {}
            Attempt::Failed(e) => {
                self.transport.close(slot);
                self.refused(slot, e, now)?;
            }
            Attempt::Open if self.turns.on => self.begin_turn(slot, now)?,
            Attempt::Open => {
                if !self.connections[slot].pending.is_empty() {
                    self.send_again(slot, now)?;
                }
                self.join(slot);
                if self.backlog.on && self.connections.is_open(slot) {
                    self.fill(slot, now)?;
                }
            }
        }
        Ok(now)
    }

    /// An attempt to connect has failed, and is made again later.
    #[cold]
    pub(super) fn refused(&mut self, slot: u32, error: io::Error, now: Nanos) -> Result<(), LoadError> {
        let kind = error.kind();
        if let Some(refusal) = error.get_ref().and_then(|inner| inner.downcast_ref::<Refusal>()) {
            self.tally.note_error(refusal.to_string().as_bytes());
        }
        self.recorder.refused(self.tried_for(slot));
        self.connections.refused(slot, error, now);
        self.connections.down.push(slot);
        if self.turns.on {
            self.refuse_turn(slot, kind);
        }
        self.check_ports(kind, now)?;
        self.check_gone(now)
    }

    /// What decides whether the attempt of `slot` belongs to the measurement: when the request was due for which it was
    /// made, or else when it was made.
    pub(super) fn tried_for(&self, slot: u32) -> u64 {
        let connection = &self.connections[slot];
        let request = connection.pending.front().filter(|_| self.turns.on);
        request.map_or(connection.tried.0, |pending| pending.due_ns)
    }

    /// Without a local port left, it is not the server that keeps requests waiting.
    fn check_ports(&self, error: ErrorKind, now: Nanos) -> Result<(), LoadError> {
        if error != ErrorKind::AddrNotAvailable || (self.connections.open() > 0 && !self.turns.on) {
            return Ok(());
        }
        let made = self.recorder.connects.all;
        Err(LoadError::PortsUsedUp { made, after_s: self.schedule.elapsed_s(now) })
    }

    /// The server has closed the connection. That makes a reply whole which did not state its length.
    #[cold]
    pub(super) fn ended(&mut self, slot: u32, now: Nanos) -> Result<(), LoadError> {
        const REASON: &str = "the server closed the connection";
        let connection = &mut self.connections[slot];
        if let Some(reply) = connection.reader.end() {
            self.reply(slot, reply, now, 0);
            self.end_batch(slot, now);
            self.leave_unanswered(slot);
            return self.disconnect(slot, now, REASON.into());
        }
        self.lose(slot, now, REASON.into())
    }

    /// A connection broke: its requests are lost, but for those of which the server had said that it leaves them alone.
    #[cold]
    pub(super) fn lose(&mut self, slot: u32, now: Nanos, reason: Failure) -> Result<(), LoadError> {
        self.end_batch(slot, now);
        if P::MAY_CLOSE && self.turns.on {
            self.repeat_turn(slot);
        }
        self.lose_requests(slot);
        self.disconnect(slot, now, reason)
    }

    /// The server sent on `slot` what answers no request, or is no reply in the protocol: what follows means nothing.
    /// The request that it would have answered has failed. The connection is closed and made again.
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
        self.close(slot, now, "the server sent what is no reply".into());
        self.check_gone(now)
    }

    /// What is pending on `slot` is lost, but for what the server said that it leaves alone.
    fn lose_requests(&mut self, slot: u32) {
        let Connection { pending, tags, session, .. } = &self.connections[slot];
        let left_alone = self.codec.leaves(session).map_or(0, |below| tags.at_or_above(below));
        for _ in left_alone..pending.len() {
            let Some(pending) = self.connections[slot].pending.pop_front() else { break };
            self.drop_lost(slot, pending);
        }
        self.leave_unanswered(slot);
    }

    /// A request that will have no answer.
    pub(super) fn drop_lost(&mut self, slot: u32, pending: Pending) {
        self.schedule.outstanding -= 1;
        self.tally.lost += 1;
        self.end(slot, pending, Ending::unanswered(Status::Lost));
    }

    /// Closes a connection, to be made again; what is pending on it stays.
    pub(super) fn disconnect(&mut self, slot: u32, now: Nanos, reason: Failure) -> Result<(), LoadError> {
        self.tally.closings += u64::from(self.turns.carried.is_none());
        let slots = self.connections.all().len();
        // Of several servers, it need not be all that close.
        let one = self.connections.servers() == 1;
        let begins = P::MAY_CLOSE && one && !self.turns.on && self.tally.closes_each(slots);
        self.close(slot, now, reason);
        if begins {
            self.turns.forced = true;
            self.begin_turns();
        }
        self.check_gone(now)
    }

    fn close(&mut self, slot: u32, now: Nanos, reason: Failure) {
        let pause = !self.turns.on && self.connections[slot].answered == 0;
        self.end_waiting(slot);
        self.transport.close(slot);
        self.turns.parted(slot);
        self.connections.closed(slot, now, pause, reason);
    }

    /// Tries all broken connections again.
    #[cold]
    pub(super) fn retry(&mut self, now: Nanos) -> Result<(), LoadError> {
        self.connections.retry_at = Nanos::MAX;
        if self.turns.on {
            return self.retry_turns(now);
        }
        let mut down = std::mem::take(&mut self.connections.down);
        let mut ports = Ok(());
        down.retain(|&slot| {
            self.connections.trying(slot, now);
            let Err(e) = self.transport.connect(slot) else { return false };
            self.recorder.refused(now.0);
            ports = self.check_ports(e.kind(), now);
            self.connections.refused(slot, e, now);
            true
        });
        self.connections.down = down;
        ports?;
        self.check_gone(now)
    }

    /// Without any connection for too long, the server is gone.
    pub(super) fn check_gone(&mut self, now: Nanos) -> Result<(), LoadError> {
        self.connections.gone_since(now, self.turns.on).map_or(Ok(()), |since| Err(self.gone(since)))
    }

    /// At the end of the load, a server that refuses every connection is gone, too.
    pub(super) fn check_refused(&mut self) -> Result<(), LoadError> {
        if let Some(since) = self.tally.refused_since {
            self.connections.note_failure(NOBODY_LISTENS);
            return Err(self.gone(since));
        }
        self.connections.refused_since().map_or(Ok(()), |since| Err(self.gone(since)))
    }

    #[cold]
    pub(super) fn gone(&self, since: Nanos) -> LoadError {
        LoadError::ServerGone {
            after_s: self.schedule.elapsed_s(since),
            lost: self.tally.lost,
            reason: self.connections.last_failure.to_string(),
        }
    }
}
