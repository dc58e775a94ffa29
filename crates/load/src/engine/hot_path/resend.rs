//! Connections that the server announces it will close (HTTP's `Connection: close`), and requests pipelined
//! behind the announcing reply.
//!
//! The server will not process those requests: it "MUST NOT process any further requests received on that
//! connection" (RFC 9112, 9.6), and a client "SHOULD retry" what it had pipelined (9.3.2). So they are resent
//! on the replacement connection. They keep their scheduled time and their first send time, because the user
//! has waited since then. They get no kernel stamps and no position in a packet capture, because they were
//! sent twice.
//!
//! Requests that must not be repeated (POST) are counted as lost. HTTP/2 is an exception: its GOAWAY names
//! the last request the server processed (RFC 9113, 6.8). A connection that breaks without notice loses its
//! requests. A request is also lost after too many resends, since a server may never reach it. A server may
//! also refuse single requests and keep the connection.

use hindmost_clock::{Clock, Nanos};

use super::worker::Worker;
use crate::engine::state::backlog::Waiting;
use crate::engine::state::connection::State;
use crate::engine::state::request::Pending;
use crate::protocol::Protocol;
use crate::transport::StampedTransport;
use crate::workload::Request;
use crate::LoadError;

/// Resends of a request before it counts as lost. A server that closes after 50 replies, as cautious ones do,
/// reaches a request with up to 400 others ahead of it on its connection.
pub(super) const MAX_RESENDS: u8 = 8;

impl<P: Protocol, T: StampedTransport + ?Sized, C: Clock> Worker<P, T, C> {
    /// Handle the server's notice that it closes `slot` after the reply just read.
    // Marked cold for servers that keep connections open. For others, connecting costs far more.
    #[cold]
    pub(super) fn expect_close(&mut self, slot: u32, now: Nanos) -> Result<(), LoadError> {
        self.end_batch(slot, now);
        self.leave_unanswered(slot);
        if self.turns.enabled {
            self.connections[slot].state = State::Closing;
            self.turns.expect_close(slot, now);
            return Ok(());
        }
        self.disconnect(slot, now, "the server closes the connection after this reply".into())
    }

    /// Mark the pending requests of `slot`, which will get no answer there, for resending.
    pub(super) fn leave_unanswered(&mut self, slot: u32) {
        let behind = self.connections[slot].pending.len();
        if self.codec.closing_tag(&self.connections[slot].session).is_some() {
            self.tally.left_alone += behind as u64;
        }
        for _ in 0..behind {
            let Some(mut pending) = self.connections[slot].pending.pop_front() else { break };
            if self.codec.may_repeat_unhandled(pending.kind) {
                // A redirected request starts again.
                (pending.resends, pending.redirects) = (pending.resends + 1, 0);
                self.connections[slot].pending.push_back(pending);
            } else {
                self.drop_lost(slot, pending);
            }
        }
        // The oldest requests were resent most often. Those beyond the limit are lost.
        while self.connections[slot].pending.front().is_some_and(|pending| pending.resends > MAX_RESENDS) {
            let Some(pending) = self.connections[slot].pending.pop_front() else { break };
            self.drop_lost(slot, pending);
        }
        if self.turns.enabled {
            self.lose_turn(slot);
        }
    }

    /// Resend a request that the server refused (HTTP/2's `REFUSED_STREAM`). The server has not processed it,
    /// so it "can be safely retried" whatever it asks (RFC 9113, 8.7). It is resent once, as soon as a
    /// connection has a free place, and keeps its scheduled and first send times.
    ///
    /// A single resend follows gRPC's transparent retries (grpc.io, A6): more would add load to an overloaded
    /// server. The second refusal counts as the reply; the function then returns `false`.
    #[cold]
    pub(super) fn resend_refused(&mut self, slot: u32, tag: u32) -> bool {
        self.tally.refused_streams += 1;
        let connection = &mut self.connections[slot];
        let first = connection.tags.position(tag).and_then(|at| connection.pending.get(at));
        if first.is_none_or(|pending| pending.resends > 0) {
            self.tally.note_error(P::REFUSAL.unwrap_or_default());
            return false;
        }
        let Some((pending, _)) = connection.answer_tagged(tag) else { return false };
        let Pending { scheduled_ns, sent_ns, kind, item, stamped, .. } = pending;
        let resends = 1;
        connection.stamps.remove(u64::from(tag));
        connection.last_messages.remove(tag);
        connection.measured -= u32::from(scheduled_ns >= self.schedule.timeline.measure.0);
        if self.turns.enabled {
            self.tally.resent += 1;
            self.turns.push_front(self.connections.endpoint(slot), Pending { resends, ..pending });
        } else {
            // Only requests whose bytes follow from their number can be refused.
            let request = Request { kind, item, value_bytes: 0 };
            self.backlog.push_resend(Waiting { request, scheduled_ns, sent_ns, resends, stamped });
        }
        true
    }

    /// Resend the unanswered requests of `slot` after it was reconnected.
    #[cold]
    pub(super) fn resend_pending(&mut self, slot: u32, now: Nanos) -> Result<(), LoadError> {
        let connection = &mut self.connections[slot];
        let mut fitting = 0;
        while let Some(&pending) = connection.pending.get(fitting) {
            if connection.out.len() + self.largest_request > connection.out.capacity() {
                break;
            }
            // Only HTTP servers announce a close, and an HTTP request's bytes follow from its number.
            let request = Request { kind: pending.kind, item: pending.item, value_bytes: 0 };
            connection.write_request(&self.codec, request);
            fitting += 1;
        }
        self.tally.resent += fitting as u64;
        // Requests beyond one buffer can only have piled up behind a stopped server.
        while self.connections[slot].pending.len() > fitting {
            let Some(pending) = self.connections[slot].pending.pop_back() else { break };
            self.drop_lost(slot, pending);
        }
        self.flush(slot, now)?;
        self.submit()
    }
}
