//! Connections with a limit on requests in flight. Requests beyond the limit wait in the client, not in the
//! server's socket, and their latency starts at their scheduled time.

use hindmost_clock::{Clock, Nanos};

use super::worker::Worker;
use crate::engine::state::backlog::Waiting;
use crate::engine::state::request::Pending;
use crate::protocol::Protocol;
use crate::transport::StampedTransport;
use crate::workload::Request;
use crate::LoadError;

impl<P: Protocol, T: StampedTransport + ?Sized, C: Clock> Worker<P, T, C> {
    /// Put the scheduled request on a connection other than `slot`, which is full, or queue it.
    #[cold]
    pub(super) fn put_elsewhere(&mut self, mut slot: Option<u32>, now: Nanos) {
        while let Some(full) = slot {
            if self.has_room(full) {
                return self.put_on(full, now);
            }
            if !self.connections[full].is_full(&self.codec) {
                // The connection lacks buffer space: the server does not read.
                return self.record_unsent();
            }
            if self.schedule.closed {
                break;
            }
            self.connections.suspend(full);
            slot = self.connections.pick(self.schedule.endpoint);
        }
        if self.schedule.is_full() || self.connections.open() == 0 {
            return self.record_unsent();
        }
        let (request, scheduled_ns) = (self.schedule.next, self.schedule.next_scheduled.0);
        let Request { kind, item, .. } = request;
        let mut pending = Pending { scheduled_ns, kind, item, ..Pending::BLANK };
        self.recorder.record_outstanding(scheduled_ns, self.schedule.outstanding);
        self.schedule.outstanding += 1;
        self.stamp_alone(&mut pending, now);
        self.backlog.push(Waiting {
            request,
            scheduled_ns,
            sent_ns: pending.sent_ns,
            resends: 0,
            stamped: false,
        });
    }

    /// Give free places on `slot` to waiting requests, then make it available for scheduled ones.
    #[cold]
    pub(super) fn fill_places(&mut self, slot: u32, now: Nanos) -> Result<(), LoadError> {
        if self.turns.enabled || !self.connections.is_open(slot) {
            return Ok(());
        }
        let mut any = false;
        while !self.backlog.is_empty() && self.has_room(slot) {
            self.end_batch(slot, now);
            let Some(waiting) = self.backlog.pop() else { break };
            self.put_waiting(slot, waiting);
            any = true;
        }
        let connection = &mut self.connections[slot];
        if connection.suspended && !connection.is_full(&self.codec) {
            connection.suspended = false;
            self.connections.release(slot);
        }
        if any {
            self.flush(slot, now)?;
            self.submit()?;
        }
        Ok(())
    }

    fn put_waiting(
        &mut self,
        slot: u32,
        Waiting { request, scheduled_ns, sent_ns, resends, stamped }: Waiting,
    ) {
        let stamped = if resends == 0 { self.is_stamped(slot) } else { stamped };
        self.tally.resent += u64::from(resends > 0);
        let connection = &mut self.connections[slot];
        let end = connection.write_request(&self.codec, request);
        let Request { kind, item, .. } = request;
        connection.pending.push_back(Pending {
            scheduled_ns,
            sent_ns,
            end,
            kind,
            stamped,
            resends,
            has_message: false,
            redirects: 0,
            item,
        });
        connection.measured += u32::from(scheduled_ns >= self.schedule.timeline.measure.0);
    }

    /// After a read: write what the codec needs to answer, and close the connection if the server is leaving.
    pub(super) fn finish_read(&mut self, slot: u32, now: Nanos) -> Result<(), LoadError> {
        let connection = &mut self.connections[slot];
        let closing_tag = self.codec.closing_tag(&connection.session);
        if connection.write_control(&self.codec) {
            self.flush(slot, now)?;
            self.submit()?;
        }
        let Some(below) = closing_tag.filter(|_| self.connections.is_open(slot)) else { return Ok(()) };
        if self.connections[slot].tags.oldest().is_none_or(|oldest| oldest >= below) {
            self.expect_close(slot, now)?;
        }
        Ok(())
    }
}
