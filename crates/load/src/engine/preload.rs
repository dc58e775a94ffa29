//! Before the load: connections are made, keys are stored. Nothing here is timed.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;

use hindmost_clock::{Clock, Nanos};
use hindmost_plan::KeyValue;

use super::connection::State;
use super::worker::Worker;
use crate::protocol::{Outcome, Parsed, Protocol};
use crate::random::{mix, unit};
use crate::transport::Transport;
use crate::workload::{Kind, Request, SizeLaw};
use crate::LoadError;

/// A server that does not take a connection, or does not answer a set, within this time is not one
/// that can be measured.
const PATIENCE: Nanos = Nanos::from_millis(5_000);
/// Sets in flight while the keys are stored.
const AT_ONCE: u32 = 128;

impl<P: Protocol, T: Transport, C: Clock> Worker<P, T, C> {
    /// Opens all connections.
    pub fn connect_all(&mut self, address: SocketAddr) -> Result<(), LoadError> {
        let of = self.connections.len() as u32;
        let failed = |slot, source| LoadError::Connect { address, slot, of, source };
        let until = self.clock.now() + PATIENCE;
        let mut ready = Vec::with_capacity(64);
        for slot in 0..of {
            self.transport.connect(slot).map_err(|e| failed(slot, e))?;
            self.connections[slot as usize].reset(State::Connecting);
        }
        while self.usable.len() < of as usize {
            let left = until.saturating_sub(self.clock.now());
            if left == Nanos::ZERO || self.control.aborted() {
                let slot = self.connections.iter().position(|c| c.state != State::Open).unwrap_or(0);
                return Err(failed(slot as u32, ErrorKind::TimedOut.into()));
            }
            self.transport
                .wait(left.min(Nanos::from_millis(50)), &mut ready)
                .map_err(LoadError::system("epoll_wait failed"))?;
            for one in &ready {
                if self.is_open(one.slot) {
                    continue;
                }
                self.transport.connected(one.slot).map_err(|e| failed(one.slot, e))?;
                if one.writable {
                    self.connections[one.slot as usize].state = State::Open;
                    self.usable.push(one.slot);
                }
            }
        }
        Ok(())
    }

    /// Stores every key of `mix` over the first connection, some at a time.
    pub fn store_all(&mut self, mix_of: &KeyValue) -> Result<(), LoadError> {
        let sizes = SizeLaw::new(&mix_of.value_bytes);
        let mut stored = 0;
        while stored < mix_of.keys {
            let upto = (stored + AT_ONCE).min(mix_of.keys);
            let mut bytes = Vec::new();
            for item in stored..upto {
                let value_bytes = sizes.at(unit(mix(!u64::from(item))));
                self.codec.write(Request { kind: Kind::SET, item, value_bytes }, &mut bytes);
            }
            let batch = self.exchange(&bytes, upto - stored);
            batch.map_err(|reason| LoadError::Preload { stored, keys: mix_of.keys, reason })?;
            stored = upto;
            if self.control.aborted() {
                return Err(LoadError::Aborted);
            }
        }
        Ok(())
    }

    /// Writes `bytes` and reads `replies` answers to sets.
    fn exchange(&mut self, bytes: &[u8], replies: u32) -> Result<(), String> {
        let until = self.clock.now() + PATIENCE;
        let (mut written, mut held, mut answered) = (0, Vec::new(), 0);
        let mut ready = Vec::with_capacity(64);
        let blocked = |e: &io::Error| matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted);
        while answered < replies {
            if self.clock.now() >= until {
                return Err(format!("no answer for {PATIENCE}"));
            }
            if written < bytes.len() {
                match self.transport.write(0, &bytes[written..]) {
                    Ok(n) => written += n,
                    Err(e) if blocked(&e) => {}
                    Err(e) => return Err(e.to_string()),
                }
            }
            match self.transport.read(0, &mut self.scratch) {
                Ok(0) => return Err("the server closed the connection".to_owned()),
                Ok(n) => held.extend_from_slice(&self.scratch[..n]),
                Err(e) if blocked(&e) => {
                    self.transport.wait(Nanos::from_millis(1), &mut ready).map_err(|e| e.to_string())?;
                }
                Err(e) => return Err(e.to_string()),
            }
            let mut at = 0;
            while at < held.len() {
                match self.codec.read(Kind::SET, &held[at..]).map_err(|e| e.to_string())? {
                    Parsed::Reply { length, outcome, .. } if at as u64 + length <= held.len() as u64 => {
                        let reply = &held[at..at + length as usize];
                        if outcome == Outcome::Error {
                            return Err(format!(
                                "the server answered {:?}",
                                String::from_utf8_lossy(reply).trim_end()
                            ));
                        }
                        at += reply.len();
                        answered += 1;
                    }
                    _ => break,
                }
            }
            held.drain(..at);
        }
        Ok(())
    }
}
