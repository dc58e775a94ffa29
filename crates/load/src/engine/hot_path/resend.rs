//! Connections that the server says it closes (HTTP's `Connection: close`), and what had been asked on them
//! behind the reply that said so.
//!
//! The server has not worked on those requests and will not: it "MUST NOT process any further requests received on
//! that connection" (RFC 9112, 9.6), and a client "SHOULD retry" what it had pipelined (9.3.2). So they are sent
//! again on the connection that takes its place. They stay due when they were due and sent when they were first
//! sent: whoever asked has waited since. The kernel stamps them no more, since they have no one way, and a capture
//! finds no one place for them. What must not be made twice (POST) is lost, and counted so, but in HTTP/2, whose
//! farewell names the last request that the server has looked at (RFC 9113, 6.8). A connection that breaks without a
//! word loses its requests; so does one on which a request was cut off time after time, since a server that never comes
//! to it would be asked for ever. A server may refuse single requests, too, and keep the connection.

use hindmost_clock::{Clock, Nanos};

use super::worker::Worker;
use crate::engine::state::backlog::Waiting;
use crate::engine::state::connection::State;
use crate::engine::state::request::Pending;
use crate::protocol::Protocol;
use crate::transport::Stamped;
use crate::workload::Request;
use crate::LoadError;

/// A request is sent again so often, and then is lost. A server that closes after 50 replies, as careful ones do, comes
/// to whatever has up to 400 ahead of it on its connection.
pub(super) const MOST_RESENDS: u8 = 8;

impl<P: Protocol, T: Stamped + ?Sized, C: Clock> Worker<P, T, C> {
    /// The server closes `slot` after the reply that was just taken.
    // Cold for servers that keep connections: where they do not, connecting costs far more.
    #[cold]
    pub(super) fn part(&mut self, slot: u32, now: Nanos) -> Result<(), LoadError> {
        self.end_batch(slot, now);
        self.leave_unanswered(slot);
        if self.turns.on {
            self.connections[slot].state = State::Parting;
            self.turns.parts(slot, now);
            return Ok(());
        }
        self.disconnect(slot, now, "the server closes the connection after this reply".into())
    }

    /// What is pending on `slot` will have no answer there, and is to be sent again.
    pub(super) fn leave_unanswered(&mut self, slot: u32) {
        let behind = self.connections[slot].pending.len();
        if self.codec.leaves(&self.connections[slot].session).is_some() {
            self.tally.left_alone += behind as u64;
        }
        for _ in 0..behind {
            let Some(mut pending) = self.connections[slot].pending.pop_front() else { break };
            if self.codec.may_repeat_unhandled(pending.kind) {
                pending.resends += 1;
                self.connections[slot].pending.push_back(pending);
            } else {
                self.drop_lost(slot, pending);
            }
        }
        // The oldest were sent most often. They have been closed upon too often already, and go.
        while self.connections[slot].pending.front().is_some_and(|pending| pending.resends > MOST_RESENDS) {
            let Some(pending) = self.connections[slot].pending.pop_front() else { break };
            self.drop_lost(slot, pending);
        }
        if self.turns.on {
            self.lose_turn(slot);
        }
    }

    /// The server refuses the request with that tag (HTTP/2's `REFUSED_STREAM`): it has not worked on it, and it "can be
    /// safely retried" whatever it asks (RFC 9113, 8.7). It is asked once more, as soon as a connection has a place, due
    /// when it was due and sent when it was first sent. Not more often, as gRPC's transparent retries (grpc.io, A6): a
    /// server that refuses since it is overloaded would get more the less it can do. The second refusal is its reply,
    /// and `false` is said of it.
    #[cold]
    pub(super) fn ask_refused_again(&mut self, slot: u32, tag: u32) -> bool {
        self.tally.refused_streams += 1;
        let connection = &mut self.connections[slot];
        let first = connection.tags.place(tag).and_then(|at| connection.pending.get(at));
        if first.is_none_or(|pending| pending.resends > 0) {
            self.tally.note_error(P::REFUSAL.unwrap_or_default());
            return false;
        }
        let Some((pending, _)) = connection.answer_tagged(tag) else { return false };
        let Pending { due_ns, sent_ns, kind, item, stamped, .. } = pending;
        let resends = 1;
        connection.stamps.remove(u64::from(tag));
        connection.measured -= u32::from(due_ns >= self.schedule.timeline.measure.0);
        if self.turns.on {
            self.tally.resent += 1;
            self.turns.wait_again(self.connections.endpoint(slot), Pending { resends, ..pending });
        } else {
            // Refused are requests whose bytes follow from their number.
            let request = Request { kind, item, value_bytes: 0 };
            self.backlog.wait_again(Waiting { request, due_ns, sent_ns, resends, stamped });
        }
        true
    }

    /// Sends what was left unanswered when `slot` was closed; it is connected anew.
    #[cold]
    pub(super) fn send_again(&mut self, slot: u32, now: Nanos) -> Result<(), LoadError> {
        let connection = &mut self.connections[slot];
        let mut fitting = 0;
        while let Some(&pending) = connection.pending.get(fitting) {
            if connection.out.len() + self.largest_request > connection.out.capacity() {
                break;
            }
            // Servers announce this in HTTP, whose requests follow from their number.
            let request = Request { kind: pending.kind, item: pending.item, value_bytes: 0 };
            connection.ask(&self.codec, request);
            fitting += 1;
        }
        self.tally.resent += fitting as u64;
        // More than a buffer holds were not waiting but for a server that had stopped.
        while self.connections[slot].pending.len() > fitting {
            let Some(pending) = self.connections[slot].pending.pop_back() else { break };
            self.drop_lost(slot, pending);
        }
        self.flush(slot, now)?;
        self.submit()
    }
}
