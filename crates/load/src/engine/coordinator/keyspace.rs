//! Stores all keys before the load and removes them afterwards. Nothing here is timed.

use std::io::{self, ErrorKind};

use hindmost_clock::{Clock, Nanos};
use hindmost_plan::KeyValue;

use crate::arrivals::Part;
use crate::engine::hot_path::{Worker, READ_BYTES};
use crate::engine::state::connection::Connection;
use crate::protocol::{Outcome, Protocol, Reader};
use crate::random::{mix, unit};
use crate::transport::StampedTransport;
use crate::workload::{Kind, Request, SizeLaw};
use crate::LoadError;

/// Give up on a server that sends no answer for this long.
const PATIENCE: Nanos = Nanos::from_millis(5_000);
/// Limits on the requests in flight on a connection, in requests and in bytes.
const AT_ONCE: u32 = 128;
const BYTES_AT_ONCE: usize = 1 << 20;
/// The limit in bytes over TLS: one record. memcached (1.6.18, `-Z`) does not process decrypted data it has
/// not read until the next record arrives, so the last of several records would wait forever.
const BYTES_OF_A_RECORD: usize = 8 * 1024;
/// The limits for datagrams, which must fit into the socket buffer of a slow server.
const DATAGRAMS_AT_ONCE: u32 = 16;
const DATAGRAM_BYTES_AT_ONCE: usize = 1 << 16;
/// Resend unanswered datagrams after this time. The server may process a request twice; the second answer is
/// ignored.
const RESEND_AFTER: Nanos = Nanos::from_millis(100);
/// Most connections that a worker uses at once: servers have fewer threads, and this bounds buffers to 64
/// MiB.
const LANES: usize = 64;

/// The operation to apply to every key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KeyOperation {
    Store,
    Remove,
}

impl KeyOperation {
    const fn kind(self) -> Kind {
        match self {
            Self::Store => Kind::SET,
            Self::Remove => Kind::REMOVED,
        }
    }

    fn error(self, done: u32, keys: u32, reason: String) -> LoadError {
        match self {
            Self::Store => LoadError::Preload { stored: done, keys, reason },
            Self::Remove => LoadError::CleanUp { removed: done, keys, reason },
        }
    }
}

/// The requests in flight on one connection.
struct Lane {
    slot: u32,
    out: Vec<u8>,
    written: usize,
    awaited: u32,
    reader: Reader,
    /// When to resend the batch, if datagrams may be lost.
    resend_at: Nanos,
}

/// Answers to a worker's share of the keys.
#[derive(Clone, Copy, Default)]
struct Totals {
    answered: u32,
    hits: u32,
}

impl<P: Protocol, T: StampedTransport + ?Sized, C: Clock> Worker<P, T, C> {
    /// Store this worker's share of the keys over all its connections.
    pub fn store_all(&mut self, keys: &KeyValue, part: Part) -> Result<(), LoadError> {
        self.with_all_keys(keys, part, KeyOperation::Store).map(|_| ())
    }

    /// Remove this worker's share of the keys over all its connections. Return how many existed.
    pub fn remove_all(&mut self, keys: &KeyValue, part: Part) -> Result<u32, LoadError> {
        self.with_all_keys(keys, part, KeyOperation::Remove)
    }

    fn with_all_keys(
        &mut self,
        of: &KeyValue,
        part: Part,
        operation: KeyOperation,
    ) -> Result<u32, LoadError> {
        let sizes = SizeLaw::new(&of.value_bytes);
        let (servers, shards) = (self.connections.servers(), self.schedule.shards.clone());
        // Worker i of n handles keys i, i + n, ..., and each server gets the keys in its shard.
        let at = |server| {
            let share = (part.index..of.keys).step_by(part.of.max(1) as usize);
            let shards = &shards;
            share.filter(move |&item| shards.keeps(server as u16, item))
        };
        let mut items: Vec<_> = (0..servers).map(at).collect();
        let share = (0..servers).map(|server| at(server).count() as u32).sum::<u32>();
        let lanes =
            self.connections.all().len().min(share.div_ceil(AT_ONCE) as usize).min(LANES).max(servers);
        let lane = |slot| Lane {
            slot,
            out: Vec::new(),
            written: 0,
            awaited: 0,
            reader: Reader::new::<P>(),
            resend_at: Nanos::MAX,
        };
        let mut lanes: Vec<Lane> = (0..lanes as u32).map(lane).collect();
        let mut totals = Totals::default();
        let mut until = self.clock.now() + PATIENCE;
        while totals.answered < share {
            if self.control.is_aborted() {
                return Err(LoadError::Aborted);
            }
            let mut moved = false;
            for lane in &mut lanes {
                if lane.awaited == 0 && lane.written == lane.out.len() {
                    self.next_batch(lane, &mut items[lane.slot as usize % servers], &sizes, operation);
                }
                if P::LOSSY && lane.awaited > 0 && self.clock.now() >= lane.resend_at {
                    lane.written = 0;
                    lane.resend_at = self.clock.now() + RESEND_AFTER;
                }
                let error = |reason| operation.error(totals.answered, share, reason);
                moved |= self.write_some(lane).map_err(|e| error(e.to_string()))?;
                let (came, hits) = self.read_some(lane, operation, error)?;
                totals.answered += came;
                totals.hits += hits;
                moved |= came > 0;
            }
            if moved {
                until = self.clock.now() + PATIENCE;
            } else if self.clock.now() >= until {
                return Err(operation.error(totals.answered, share, format!("no answer for {PATIENCE}")));
            } else {
                self.transport
                    .wait(Nanos::from_millis(1), true, &mut self.ready)
                    .map_err(LoadError::system("epoll_wait failed"))?;
            }
        }
        Ok(totals.hits)
    }

    /// Put the next requests on a connection that has no requests in flight.
    fn next_batch(
        &mut self,
        lane: &mut Lane,
        items: &mut impl Iterator<Item = u32>,
        sizes: &SizeLaw,
        operation: KeyOperation,
    ) {
        lane.out.clear();
        lane.written = 0;
        let Connection { session, tags, most, .. } = &mut self.connections[lane.slot];
        lane.resend_at = self.clock.now() + RESEND_AFTER;
        let at_once = if P::LOSSY { DATAGRAMS_AT_ONCE } else { AT_ONCE };
        let at_once = at_once.min((*most).min(self.codec.in_flight(session)).max(1) as u32);
        let secured = self.transport.handshake(lane.slot).is_some();
        let bytes_at_once = match secured {
            true => BYTES_OF_A_RECORD,
            false if P::LOSSY => DATAGRAM_BYTES_AT_ONCE,
            false => BYTES_AT_ONCE,
        };
        while lane.awaited < at_once && lane.out.len() < bytes_at_once {
            let Some(item) = items.next() else { break };
            let tag = if P::TAGGED { tags.push() } else { 0 };
            match operation {
                KeyOperation::Store => {
                    let value_bytes = sizes.quantile(unit(mix(!u64::from(item))));
                    let request = Request { kind: Kind::SET, item, value_bytes };
                    self.codec.write(session, request, tag, &mut lane.out);
                }
                KeyOperation::Remove => self.codec.write_removal(session, item, tag, &mut lane.out),
            }
            lane.awaited += 1;
        }
    }

    fn write_some(&mut self, lane: &mut Lane) -> io::Result<bool> {
        if lane.written == lane.out.len() {
            return Ok(false);
        }
        match self.transport.write(lane.slot, &lane.out[lane.written..]) {
            Ok(n) => {
                lane.written += n;
                self.connections[lane.slot].request_bytes += n as u64;
                Ok(n > 0)
            }
            Err(e) if would_block(&e) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Read available answers. Return the number of answers and the number of hits among them.
    fn read_some(
        &mut self,
        lane: &mut Lane,
        operation: KeyOperation,
        error: impl Fn(String) -> LoadError,
    ) -> Result<(u32, u32), LoadError> {
        if lane.awaited == 0 && !P::HAS_CONTROL {
            return Ok((0, 0));
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        let read = self.transport.read(lane.slot, &mut scratch);
        let totals = match read {
            Ok(0) => Err(error("the server closed the connection".to_owned())),
            Ok(n) => self.count(lane, operation, &scratch[..n], error),
            Err(e) if would_block(&e) => Ok((0, 0)),
            Err(e) => Err(error(e.to_string())),
        };
        self.scratch = scratch;
        totals
    }

    /// Count the answers completed by `bytes`.
    fn count(
        &mut self,
        lane: &mut Lane,
        operation: KeyOperation,
        mut bytes: &[u8],
        error: impl Fn(String) -> LoadError,
    ) -> Result<(u32, u32), LoadError> {
        let connection = &mut self.connections[lane.slot];
        connection.reply_bytes += bytes.len() as u64;
        let (mut answered, mut hits) = (0, 0);
        while !bytes.is_empty() {
            let mut refused = None;
            let note_refusal =
                |head: &[u8]| refused = Some(String::from_utf8_lossy(&P::error_text(head)).into_owned());
            let Connection { session, tags, .. } = connection;
            let reply = lane.reader.next(&self.codec, session, operation.kind(), bytes, note_refusal)?;
            if let Some(text) = refused {
                return Err(error(format!("the server answered {:?}", text.trim_end())));
            }
            let Some(reply) = reply else { break };
            bytes = &bytes[reply.taken..];
            if !P::TAGGED || tags.take(reply.tag).is_some() {
                answered += 1;
                hits += u32::from(reply.outcome == Outcome::Hit);
            }
        }
        lane.awaited = lane.awaited.saturating_sub(answered);
        if P::HAS_CONTROL {
            lane.out.reserve(READ_BYTES);
            self.codec.write_control(&mut connection.session, &mut lane.out);
        }
        Ok((answered, hits))
    }
}

fn would_block(e: &io::Error) -> bool {
    matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
