//! Before the load: keys are stored. Nothing here is timed.

use std::io::{self, ErrorKind};

use hindmost_clock::{Clock, Nanos};
use hindmost_plan::KeyValue;

use crate::engine::hot_path::{Worker, READ_BYTES};
use crate::engine::state::connection::Connection;
use crate::protocol::{Protocol, Reader};
use crate::random::{mix, unit};
use crate::transport::Stamped;
use crate::workload::{Kind, Request, SizeLaw};
use crate::LoadError;

/// A server that does not answer a batch of sets within this time is not one that can be measured.
const PATIENCE: Nanos = Nanos::from_millis(5_000);
/// Sets in flight while the keys are stored: so many, or so many bytes, whatever is less.
const AT_ONCE: u32 = 128;
const BYTES_AT_ONCE: usize = 1 << 20;
/// The same over TLS: one record. memcached (1.6.18, `-Z`) leaves what it has decrypted and not read until the next
/// record comes, so that the last of several records would wait for ever.
const BYTES_OF_A_RECORD: usize = 8 * 1024;

impl<P: Protocol, T: Stamped, C: Clock> Worker<P, T, C> {
    /// Stores every key of `mix_of` over the first connection, some at a time.
    pub fn store_all(&mut self, mix_of: &KeyValue) -> Result<(), LoadError> {
        let sizes = SizeLaw::new(&mix_of.value_bytes);
        let mut bytes = Vec::new();
        let mut stored = 0;
        let bytes_at_once =
            if self.transport.secured(0).is_some() { BYTES_OF_A_RECORD } else { BYTES_AT_ONCE };
        while stored < mix_of.keys {
            bytes.clear();
            let mut upto = stored;
            let Connection { session, tags, most, .. } = &mut self.connections[0];
            let at_once = AT_ONCE.min((*most).min(self.codec.in_flight(session)).max(1) as u32);
            while upto < mix_of.keys && upto - stored < at_once && bytes.len() < bytes_at_once {
                let value_bytes = sizes.at(unit(mix(!u64::from(upto))));
                let request = Request { kind: Kind::SET, item: upto, value_bytes };
                let tag = if P::TAGGED { tags.push() } else { 0 };
                self.codec.write(session, request, tag, &mut bytes);
                upto += 1;
            }
            let failed = |reason| LoadError::Preload { stored, keys: mix_of.keys, reason };
            self.exchange(&mut bytes, upto - stored, failed)?;
            stored = upto;
        }
        Ok(())
    }

    /// Writes `bytes`, and what the codec adds to them, and reads `replies` answers to sets.
    fn exchange(
        &mut self,
        bytes: &mut Vec<u8>,
        replies: u32,
        failed: impl Fn(String) -> LoadError,
    ) -> Result<(), LoadError> {
        let until = self.clock.now() + PATIENCE;
        let (mut written, mut answered, mut reader) = (0, 0, Reader::new::<P>());
        let blocked = |e: &io::Error| matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted);
        while answered < replies || written < bytes.len() {
            if self.control.aborted() {
                return Err(LoadError::Aborted);
            }
            if self.clock.now() >= until {
                return Err(failed(format!("no answer for {PATIENCE}")));
            }
            if written < bytes.len() {
                match self.transport.write(0, &bytes[written..]) {
                    Ok(n) => {
                        written += n;
                        self.connections[0].request_bytes += n as u64;
                    }
                    Err(e) if blocked(&e) => {}
                    Err(e) => return Err(failed(e.to_string())),
                }
            }
            match self.transport.read(0, &mut self.scratch) {
                Ok(0) => return Err(failed("the server closed the connection".to_owned())),
                Ok(n) => {
                    self.connections[0].reply_bytes += n as u64;
                    let scratch = std::mem::take(&mut self.scratch);
                    answered += self.stored(&mut reader, &scratch[..n], &failed)?;
                    self.scratch = scratch;
                    bytes.reserve(if P::ANSWERS { READ_BYTES } else { 0 });
                    self.codec.answer(&mut self.connections[0].session, bytes);
                }
                Err(e) if blocked(&e) => self
                    .transport
                    .wait(Nanos::from_millis(1), true, &mut self.ready)
                    .map_err(LoadError::system("epoll_wait failed"))?,
                Err(e) => return Err(failed(e.to_string())),
            }
        }
        Ok(())
    }

    /// Counts the answers that end in `bytes`.
    fn stored(
        &mut self,
        reader: &mut Reader,
        mut bytes: &[u8],
        failed: impl Fn(String) -> LoadError,
    ) -> Result<u32, LoadError> {
        let mut answered = 0;
        while !bytes.is_empty() {
            let mut refused = None;
            let error = |head: &[u8]| refused = Some(String::from_utf8_lossy(head).into_owned());
            let Connection { session, tags, .. } = &mut self.connections[0];
            let reply = reader.next(&self.codec, session, Kind::SET, bytes, error)?;
            if let Some(text) = refused {
                return Err(failed(format!("the server answered {:?}", text.trim_end())));
            }
            let Some(reply) = reply else { break };
            bytes = &bytes[reply.taken..];
            answered += u32::from(!P::TAGGED || tags.take(reply.tag).is_some());
        }
        Ok(answered)
    }
}
