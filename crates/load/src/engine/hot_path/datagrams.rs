//! Timeouts and losses of requests over UDP, which does not retransmit.
//!
//! A request without a reply times out and frees its place. A later reply is only counted as late. If the
//! server's host reports a closed port (ICMP port unreachable), all requests sent on that socket are lost.

use hindmost_clock::{Clock, Nanos};

use super::worker::Worker;
use crate::engine::state::connection::Connection;
use crate::engine::state::connections::GONE;
use crate::engine::state::request::{Ending, Pending};
use crate::protocol::Protocol;
use crate::record::Status;
use crate::transport::{StampedTransport, DATAGRAM_LENGTH};
use crate::LoadError;

impl<P: Protocol, T: StampedTransport + ?Sized, C: Clock> Worker<P, T, C> {
    /// End requests that have timed out by `now`.
    pub(super) fn expire(&mut self, now: Nanos) -> Result<(), LoadError> {
        let before = now.saturating_sub(self.schedule.timeout).0;
        for slot in self.connections.slots() {
            let mut any = false;
            loop {
                let connection = &self.connections[slot];
                let handed_over = connection.pending.len() > connection.fresh;
                if !(handed_over
                    && connection.pending.front().is_some_and(|oldest| oldest.scheduled_ns < before))
                {
                    break;
                }
                let Some(pending) = self.give_up_oldest(slot) else { break };
                self.schedule.outstanding -= 1;
                self.end(slot, pending, Ending::without_answer(Status::Timeout));
                any = true;
            }
            if any && self.backlog.enabled {
                self.fill_places(slot, now)?;
            }
        }
        Ok(())
    }

    /// Handle an ICMP port unreachable for `slot`: everything sent on it is lost.
    #[cold]
    pub(super) fn refuse(&mut self, slot: u32, now: Nanos) -> Result<(), LoadError> {
        self.tally.refused += 1;
        let connection = &self.connections[slot];
        let mut left = unwritten(&connection.out[connection.written..]) + connection.fresh;
        left = left.min(connection.pending.len());
        while self.connections[slot].pending.len() > left {
            let Some(pending) = self.give_up_oldest(slot) else { break };
            self.drop_lost(slot, pending);
        }
        if self.backlog.enabled {
            self.fill_places(slot, now)?;
        }
        let since = *self.tally.refused_since.get_or_insert(now);
        if now.saturating_sub(since) < GONE {
            return Ok(());
        }
        self.connections.note_failure(PORT_CLOSED);
        Err(self.server_gone(since))
    }

    fn give_up_oldest(&mut self, slot: u32) -> Option<Pending> {
        let Connection { pending, tags, session, .. } = &mut self.connections[slot];
        let oldest = pending.pop_front()?;
        if let Some(tag) = tags.oldest() {
            tags.take(tag);
            self.codec.give_up(session, tag);
        }
        if self.schedule.closed {
            self.connections.release(slot);
        }
        Some(oldest)
    }
}

/// Failure text for a server whose port is closed.
pub(super) const PORT_CLOSED: &str = "no process listens on this port (ICMP port unreachable)";

/// Count the whole datagrams in `bytes`, the unwritten part of an output buffer.
fn unwritten(mut bytes: &[u8]) -> usize {
    let mut count = 0;
    while let Some(length) = bytes.first_chunk::<DATAGRAM_LENGTH>() {
        let length = DATAGRAM_LENGTH + usize::from(u16::from_be_bytes(*length));
        bytes = bytes.get(length..).unwrap_or_default();
        count += 1;
    }
    count
}
