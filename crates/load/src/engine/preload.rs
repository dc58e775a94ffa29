//! Before the load: keys are stored. Nothing here is timed.

use std::io::{self, ErrorKind};

use hindmost_clock::{Clock, Nanos};
use hindmost_plan::KeyValue;

use super::worker::Worker;
use crate::protocol::{Outcome, Parsed, Protocol};
use crate::random::{mix, unit};
use crate::transport::Transport;
use crate::workload::{Kind, Request, SizeLaw};
use crate::LoadError;

/// A server that does not answer a batch of sets within this time is not one that can be measured.
const PATIENCE: Nanos = Nanos::from_millis(5_000);
/// Sets in flight while the keys are stored: so many, or so many bytes, whatever is less.
const AT_ONCE: u32 = 128;
const BYTES_AT_ONCE: usize = 1 << 20;

impl<P: Protocol, T: Transport, C: Clock> Worker<P, T, C> {
    /// Stores every key of `mix_of` over the first connection, some at a time.
    pub fn store_all(&mut self, mix_of: &KeyValue) -> Result<(), LoadError> {
        let sizes = SizeLaw::new(&mix_of.value_bytes);
        let mut bytes = Vec::new();
        let mut stored = 0;
        while stored < mix_of.keys {
            bytes.clear();
            let mut upto = stored;
            while upto < mix_of.keys && upto - stored < AT_ONCE && bytes.len() < BYTES_AT_ONCE {
                let value_bytes = sizes.at(unit(mix(!u64::from(upto))));
                self.codec.write(Request { kind: Kind::SET, item: upto, value_bytes }, &mut bytes);
                upto += 1;
            }
            let failed = |reason| LoadError::Preload { stored, keys: mix_of.keys, reason };
            self.exchange(&bytes, upto - stored, failed)?;
            stored = upto;
        }
        Ok(())
    }

    /// Writes `bytes` and reads `replies` answers to sets.
    fn exchange(
        &mut self,
        bytes: &[u8],
        replies: u32,
        failed: impl Fn(String) -> LoadError,
    ) -> Result<(), LoadError> {
        let until = self.clock.now() + PATIENCE;
        let (mut written, mut held, mut answered) = (0, Vec::new(), 0);
        let blocked = |e: &io::Error| matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted);
        while answered < replies {
            if self.control.aborted() {
                return Err(LoadError::Aborted);
            }
            if self.clock.now() >= until {
                return Err(failed(format!("no answer for {PATIENCE}")));
            }
            if written < bytes.len() {
                match self.transport.write(0, &bytes[written..]) {
                    Ok(n) => written += n,
                    Err(e) if blocked(&e) => {}
                    Err(e) => return Err(failed(e.to_string())),
                }
            }
            match self.transport.read(0, &mut self.scratch) {
                Ok(0) => return Err(failed("the server closed the connection".to_owned())),
                Ok(n) => held.extend_from_slice(&self.scratch[..n]),
                Err(e) if blocked(&e) => self
                    .transport
                    .wait(Nanos::from_millis(1), true, &mut self.ready)
                    .map_err(LoadError::system("epoll_wait failed"))?,
                Err(e) => return Err(failed(e.to_string())),
            }
            answered += self.stored(&mut held, &failed)?;
        }
        Ok(())
    }

    /// Takes the whole answers out of `held` and counts them.
    fn stored(&self, held: &mut Vec<u8>, failed: impl Fn(String) -> LoadError) -> Result<u32, LoadError> {
        let (mut at, mut answered) = (0, 0);
        while at < held.len() {
            match self.codec.read(Kind::SET, &held[at..])? {
                Parsed::Reply { length, outcome, .. } if length <= (held.len() - at) as u64 => {
                    let reply = &held[at..at + length as usize];
                    if outcome == Outcome::Error {
                        let text = String::from_utf8_lossy(reply);
                        return Err(failed(format!("the server answered {:?}", text.trim_end())));
                    }
                    at += reply.len();
                    answered += 1;
                }
                Parsed::More if held.len() - at >= P::MAX_HEAD => {
                    return Err(failed("the server's answer has no end".to_owned()));
                }
                _ => break,
            }
        }
        held.drain(..at);
        Ok(answered)
    }
}
