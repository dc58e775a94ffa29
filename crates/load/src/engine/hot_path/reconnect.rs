//! Connections that break during the load, and are made again.

use std::io::{self, ErrorKind};

use hindmost_clock::{Clock, Nanos};

use super::worker::Worker;
use crate::engine::state::connection::State;
use crate::engine::state::request::{Ending, Pending};
use crate::protocol::Protocol;
use crate::record::Status;
use crate::transport::{Ready, Stamped};
use crate::LoadError;

impl<P: Protocol, T: Stamped, C: Clock> Worker<P, T, C> {
    /// The end of an attempt to connect.
    pub fn finish_connecting(&mut self, ready: Ready) -> io::Result<()> {
        self.transport.connected(ready.slot)?;
        if !ready.writable {
            // Hung up without an error: whoever was there is gone again.
            return Err(ErrorKind::ConnectionReset.into());
        }
        self.connections.opened(ready.slot, self.transport.local_port(ready.slot));
        Ok(())
    }

    /// The end of an attempt to connect during the load.
    #[cold]
    pub(super) fn connecting(&mut self, ready: Ready) -> Result<Nanos, LoadError> {
        let now = self.clock.now();
        if let Err(e) = self.finish_connecting(ready) {
            self.transport.close(ready.slot);
            self.connections.refused(ready.slot, &e, now);
            self.connections.down.push(ready.slot);
            self.check_gone(now)?;
        } else if !self.connections[ready.slot].pending.is_empty() {
            self.send_again(ready.slot, now)?;
        }
        Ok(now)
    }

    /// A connection broke: its requests are lost.
    #[cold]
    pub(super) fn lose(&mut self, slot: u32, now: Nanos, reason: &str) -> Result<(), LoadError> {
        while let Some(pending) = self.connections[slot].pending.pop_front() {
            self.drop_lost(slot, pending);
        }
        self.disconnect(slot, now, reason)
    }

    /// A request that will have no answer.
    pub(super) fn drop_lost(&mut self, slot: u32, pending: Pending) {
        self.schedule.outstanding -= 1;
        self.tally.lost += 1;
        self.end(slot, pending, Ending::unanswered(Status::Lost));
    }

    /// Closes a connection, to be made again; what is pending on it stays.
    pub(super) fn disconnect(&mut self, slot: u32, now: Nanos, reason: &str) -> Result<(), LoadError> {
        self.tally.closings += 1;
        if self.tally.closes_too_often(self.connections.all().len()) {
            return Err(LoadError::Closing { closed: self.tally.closings, replies: self.tally.replies });
        }
        self.end_waiting(slot);
        self.transport.close(slot);
        self.connections.closed(slot, now, reason);
        self.check_gone(now)
    }

    /// Tries all broken connections again.
    #[cold]
    pub(super) fn retry(&mut self, now: Nanos) -> Result<(), LoadError> {
        self.connections.retry_at = Nanos::MAX;
        let mut down = std::mem::take(&mut self.connections.down);
        down.retain(|&slot| match self.transport.connect(slot) {
            Ok(()) => {
                self.connections[slot].reset(State::Connecting);
                false
            }
            Err(e) => {
                self.connections.refused(slot, &e, now);
                true
            }
        });
        self.connections.down = down;
        self.check_gone(now)
    }

    /// Without any connection for too long, the server is gone.
    pub(super) fn check_gone(&mut self, now: Nanos) -> Result<(), LoadError> {
        self.connections.gone_since(now).map_or(Ok(()), |since| Err(self.gone(since)))
    }

    /// At the end of the load, a server that refuses every connection is gone, too.
    pub(super) fn check_refused(&self) -> Result<(), LoadError> {
        self.connections.refused_since().map_or(Ok(()), |since| Err(self.gone(since)))
    }

    #[cold]
    fn gone(&self, since: Nanos) -> LoadError {
        LoadError::ServerGone {
            after_s: self.schedule.elapsed_s(since),
            lost: self.tally.lost,
            reason: self.connections.last_failure.clone(),
        }
    }
}
