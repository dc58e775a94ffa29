//! Opens all connections before the load.

use std::io::{self, ErrorKind};

use hindmost_clock::{Clock, Nanos};
use hindmost_plan::Plan;

use crate::engine::hot_path::opening::Attempt;
use crate::engine::hot_path::Worker;
use crate::engine::state::connection::State;
use crate::engine::state::failure::Failure;
use crate::protocol::{quote, Protocol, Refusal};
use crate::transport::{Peers, StampedTransport, TlsProblem};
use crate::LoadError;

/// Give up on a server that accepts no connection for this long.
const PATIENCE: Nanos = Nanos::from_millis(5_000);
/// Concurrent connection attempts, over all workers and clients. This is below the listen backlog of nearly
/// every server (128 in many language libraries, 511 in nginx, 1024 in memcached): a full backlog drops
/// attempts for a whole second.
const AT_ONCE: usize = 64;

impl<P: Protocol, T: StampedTransport + ?Sized, C: Clock> Worker<P, T, C> {
    /// Open all connections to `peers`, with TLS if the plan asks for it.
    pub fn connect_all(&mut self, plan: &Plan, peers: &Peers) -> Result<(), LoadError> {
        let at_once = (AT_ONCE / (plan.threads.len() * plan.client.of as usize)).max(1);
        let slots = self.connections.all().len();
        let mut until = self.clock.now() + PATIENCE;
        let mut started = 0;
        while !self.connections.all_open() {
            while started < slots && started - self.connections.open() < at_once {
                let slot = started as u32;
                self.connections.start_attempt(slot, self.clock.now());
                self.transport.connect(slot).map_err(|e| self.connect_error(peers, slot, e))?;
                started += 1;
            }
            let now = self.clock.now();
            if now >= until {
                let waiting = self.connections.all().iter().position(|c| c.state != State::Open).unwrap_or(0);
                return Err(self.connect_error(peers, waiting as u32, ErrorKind::TimedOut.into()));
            }
            if self.control.is_aborted() {
                return Err(LoadError::Aborted);
            }
            self.transport
                .wait(until.saturating_sub(now).min(Nanos::from_millis(50)), true, &mut self.ready)
                .map_err(LoadError::system("epoll_wait failed"))?;
            for at in 0..self.ready.len() {
                let one = self.ready[at];
                let state = self.connections[one.slot].state;
                if matches!(state, State::Connecting | State::Opening) {
                    match self.continue_connecting(one)? {
                        Attempt::InProgress => {}
                        Attempt::Open => self.make_usable(one.slot),
                        Attempt::Failed(e) => return Err(self.connect_error(peers, one.slot, e)),
                    }
                    self.check_still_open(peers, one.slot)?;
                    until = self.clock.now() + PATIENCE;
                } else if P::HAS_CONTROL && one.readable {
                    self.receive(one.slot)?;
                    self.check_still_open(peers, one.slot)?;
                } else if one.readable {
                    let why = match self.transport.read(one.slot, &mut self.scratch) {
                        // A TLS record without application data, such as a session ticket.
                        Err(e) if e.kind() == ErrorKind::WouldBlock => continue,
                        Ok(0) => ErrorKind::ConnectionReset.into(),
                        // No request was sent, so this text says why the server refuses service (redis,
                        // memcached, HTTP 503).
                        Ok(n) => io::Error::other(quote("the server said", &self.scratch[..n])),
                        Err(e) => e,
                    };
                    self.connections.note_hang_up();
                    return Err(self.connect_error(peers, one.slot, why));
                }
            }
        }
        self.connections.sort_usable();
        Ok(())
    }

    /// Return an error if the server's unsolicited message closed connection `slot`.
    fn check_still_open(&mut self, peers: &Peers, slot: u32) -> Result<(), LoadError> {
        if self.connections[slot].state != State::Down {
            return Ok(());
        }
        let words = &self.tally.first_unreadable;
        let why = if words.is_empty() {
            match std::mem::replace(
                &mut self.connections.last_failure,
                "the server closed a connection".into(),
            ) {
                Failure::Error(error) => error,
                Failure::Text(_) => ErrorKind::ConnectionReset.into(),
            }
        } else {
            io::Error::other(format!("the server said {words:?}"))
        };
        Err(self.connect_error(peers, slot, why))
    }

    /// Explain why not all connections opened: our limits, the server's limits, or no server.
    #[cold]
    fn connect_error(&self, peers: &Peers, slot: u32, source: io::Error) -> LoadError {
        let (open, of) = (self.connections.open(), self.connections.all().len());
        let address = peers.peer(slot).clone();
        let inner = source.get_ref();
        if let Some(refusal) = inner.and_then(|inner| inner.downcast_ref::<Refusal>()) {
            return LoadError::Refused { address, refusal: refusal.clone() };
        }
        if let Some(problem) = inner.and_then(|inner| inner.downcast_ref::<TlsProblem>()) {
            return LoadError::Tls { address: address.to_string(), problem: problem.clone() };
        }
        match source.kind() {
            ErrorKind::AddrNotAvailable if open > 0 => LoadError::Ports { address, open, of },
            _ if open > 0 => LoadError::Full { address, open, of, source },
            _ => LoadError::Connect { address, slot, of: of as u32, source },
        }
    }
}
