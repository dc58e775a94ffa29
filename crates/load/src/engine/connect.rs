//! Connections: made before the load, lost during it, made again.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;

use hindmost_clock::{Clock, Nanos};

use super::connection::{Ending, Pending, State};
use super::worker::Worker;
use crate::protocol::Protocol;
use crate::record::Status;
use crate::transport::{Ready, Transport};
use crate::LoadError;

/// A server that takes no connection for this long before the load is not one that can be measured.
const PATIENCE: Nanos = Nanos::from_millis(5_000);
/// Attempts to connect under way at once before the load, over all workers and instances: fewer than the
/// backlog of nearly every server (128 in many a language's library, nginx 511, memcached 1024), since a
/// full one drops attempts for a whole second.
pub(super) const AT_ONCE: usize = 64;
/// A connection that could not be made again is tried this much later.
const RETRY: Nanos = Nanos::from_millis(20);
/// No connection for so long during the load: the server is gone.
const GONE: Nanos = Nanos::from_millis(250);
/// A server that closes more than one connection for every so many replies cannot be measured over
/// kept-alive connections ...
const REPLIES_PER_CLOSING: u64 = 10;
/// ... once every connection was closed so often, so that a single mishap, which may close them all,
/// is not judged.
const CLOSINGS_EACH: u64 = 4;

impl<P: Protocol, T: Transport, C: Clock> Worker<P, T, C> {
    /// Opens all connections.
    pub fn connect_all(&mut self, address: SocketAddr) -> Result<(), LoadError> {
        let slots = self.connections.len();
        let mut until = self.clock.now() + PATIENCE;
        let mut started = 0;
        while self.open < slots {
            while started < slots && started - self.open < self.at_once {
                self.transport
                    .connect(started as u32)
                    .map_err(|e| self.not_connected(address, started as u32, e))?;
                self.connections[started].reset(State::Connecting);
                started += 1;
            }
            let now = self.clock.now();
            if now >= until {
                let slot = self.connections.iter().position(|c| c.state != State::Open).unwrap_or(0);
                return Err(self.not_connected(address, slot as u32, ErrorKind::TimedOut.into()));
            }
            if self.control.aborted() {
                return Err(LoadError::Aborted);
            }
            self.transport
                .wait(until.saturating_sub(now).min(Nanos::from_millis(50)), true, &mut self.ready)
                .map_err(LoadError::system("epoll_wait failed"))?;
            for at in 0..self.ready.len() {
                let one = self.ready[at];
                if self.connections[one.slot as usize].state == State::Connecting {
                    self.attempt(one).map_err(|e| self.not_connected(address, one.slot, e))?;
                    until = self.clock.now() + PATIENCE;
                } else if one.readable {
                    // Nothing was asked: it hangs up, or says first that it is full (redis).
                    self.open -= 1;
                    return Err(self.not_connected(address, one.slot, ErrorKind::ConnectionReset.into()));
                }
            }
        }
        // The order in which the kernel was ready is chance; which connection carries a request must
        // follow from the seed alone.
        self.usable.sort_unstable();
        Ok(())
    }

    /// Why not all connections could be opened: our limits, the server's, or it is not there at all.
    #[cold]
    fn not_connected(&self, address: SocketAddr, slot: u32, source: io::Error) -> LoadError {
        let (open, of) = (self.open, self.connections.len());
        match source.kind() {
            ErrorKind::AddrNotAvailable if open > 0 => LoadError::Ports { address, open, of },
            _ if open > 0 => LoadError::Full { address, open, of, source },
            _ => LoadError::Connect { address, slot, of: of as u32, source },
        }
    }

    /// The end of an attempt to connect.
    fn attempt(&mut self, ready: Ready) -> io::Result<()> {
        self.transport.connected(ready.slot)?;
        if !ready.writable {
            // Hung up without an error: whoever was there is gone again.
            return Err(ErrorKind::ConnectionReset.into());
        }
        let connection = &mut self.connections[ready.slot as usize];
        connection.state = State::Open;
        connection.port = self.transport.local_port(ready.slot);
        self.usable.push(ready.slot);
        self.open += 1;
        self.alone_since = None;
        self.refused = false;
        Ok(())
    }

    /// The end of an attempt to connect during the load.
    #[cold]
    pub(super) fn connecting(&mut self, ready: Ready) -> Result<Nanos, LoadError> {
        let now = self.clock.now();
        if let Err(e) = self.attempt(ready) {
            self.transport.close(ready.slot);
            self.refused(ready.slot, &e);
            self.down.push(ready.slot);
            self.retry_at = self.retry_at.min(now + RETRY);
            self.check_alone(now)?;
        } else if !self.connections[ready.slot as usize].pending.is_empty() {
            self.send_again(ready.slot, now)?;
        }
        Ok(now)
    }

    fn refused(&mut self, slot: u32, error: &io::Error) {
        self.refused = true;
        self.last_failure = error.to_string();
        self.connections[slot as usize].reset(State::Down);
    }

    /// A connection broke: its requests are lost. It is connected again in the next round and not
    /// here, because this round may still hold an event of the old connection under the same slot.
    #[cold]
    pub(super) fn lose(&mut self, slot: u32, now: Nanos, reason: &str) -> Result<(), LoadError> {
        while let Some(pending) = self.connections[slot as usize].pending.pop_front() {
            self.drop_lost(slot, pending);
        }
        self.disconnect(slot, now, reason)
    }

    /// A request that will have no answer.
    pub(super) fn drop_lost(&mut self, slot: u32, pending: Pending) {
        self.outstanding -= 1;
        self.lost += 1;
        self.end(slot, pending, Ending::unanswered(Status::Lost));
    }

    /// Closes a connection, to be made again; what is pending on it stays.
    pub(super) fn disconnect(&mut self, slot: u32, now: Nanos, reason: &str) -> Result<(), LoadError> {
        reason.clone_into(&mut self.last_failure);
        self.closings += 1;
        let mishaps = CLOSINGS_EACH * self.connections.len() as u64;
        if self.closings > mishaps && self.closings * REPLIES_PER_CLOSING > self.replies {
            return Err(LoadError::Closing { closed: self.closings, replies: self.replies });
        }
        self.end_waiting(slot);
        if let Some(at) = self.usable.iter().position(|&other| other == slot) {
            self.usable.swap_remove(at);
        }
        self.open -= 1;
        self.transport.close(slot);
        self.connections[slot as usize].reset(State::Down);
        self.down.push(slot);
        self.retry_at = now;
        self.check_alone(now)
    }

    /// Tries all broken connections again.
    #[cold]
    pub(super) fn retry(&mut self, now: Nanos) -> Result<(), LoadError> {
        self.retry_at = Nanos::MAX;
        let mut down = std::mem::take(&mut self.down);
        down.retain(|&slot| match self.transport.connect(slot) {
            Ok(()) => {
                self.connections[slot as usize].reset(State::Connecting);
                false
            }
            Err(e) => {
                self.refused(slot, &e);
                self.retry_at = now + RETRY;
                true
            }
        });
        self.down = down;
        self.check_alone(now)
    }

    /// Without any connection for too long, the server is gone.
    pub(super) fn check_alone(&mut self, now: Nanos) -> Result<(), LoadError> {
        if self.open > 0 {
            self.alone_since = None;
            return Ok(());
        }
        let since = *self.alone_since.get_or_insert(now);
        if now.saturating_sub(since) < GONE {
            return Ok(());
        }
        Err(self.gone(since))
    }

    /// At the end of the load: a server that refuses every connection has died, even if it did so too
    /// late for [`Worker::check_alone`].
    pub(super) fn check_refused(&mut self) -> Result<(), LoadError> {
        match self.alone_since {
            Some(since) if self.open == 0 && self.refused => Err(self.gone(since)),
            _ => Ok(()),
        }
    }

    fn gone(&self, since: Nanos) -> LoadError {
        LoadError::ServerGone {
            after_s: self.elapsed_s(since),
            lost: self.lost,
            reason: self.last_failure.clone(),
        }
    }
}
