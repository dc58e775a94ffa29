//! Requests with kernel time stamps: from their selection until both stamps are known.

use hindmost_clock::Clock;

use super::event_loop::LOST_AFTER;
use super::worker::Worker;
use crate::engine::state::request::{Ending, Pending};
use crate::engine::state::stamp_queue::Answer;
use crate::engine::state::stamping::{Arrival, StampSummary};
use crate::protocol::Protocol;
use crate::transport::{Segment, Source, Stamp, StampedTransport};

impl<P: Protocol, T: StampedTransport + ?Sized, C: Clock> Worker<P, T, C> {
    /// Whether the kernel stamps the next request on `slot`.
    #[inline]
    pub(super) fn is_stamped(&mut self, slot: u32) -> bool {
        if !self.stamping.selects(slot) || self.transport.stamps().source().is_none() {
            return false;
        }
        if self.connections[slot].stamps.awaits_stamps() {
            self.take_transmit_stamps(slot);
            self.end_complete(slot);
        }
        let connection = &mut self.connections[slot];
        let serial = if P::TAGGED { connection.tags.next().into() } else { connection.next_serial() };
        connection.stamps.push(serial);
        true
    }

    /// Take the available transmit stamps of `slot`. Return whether there were any.
    pub(super) fn take_transmit_stamps(&mut self, slot: u32) -> bool {
        let source = self.source();
        let mut any = false;
        while let Some(sent) = self.transport.next_transmit_stamp(slot) {
            any = true;
            let stamps = &mut self.connections[slot].stamps;
            stamps.add_transmit_stamp(sent);
            if stamps.all_stamped(source) {
                break;
            }
        }
        if any {
            self.end_complete(slot);
        }
        any
    }

    /// Return `None` if no stamped request of `slot` waits for its reply. Otherwise return whether other
    /// replies may follow its reply.
    #[inline]
    pub(super) fn awaits_stamp(&self, slot: u32) -> Option<bool> {
        let connection = &self.connections[slot];
        let first = connection.stamps.first_unanswered()?;
        Some(if P::TAGGED { connection.pending.len() > 1 } else { first + 1 < connection.next_serial() })
    }

    /// End the oldest stamped request of `slot`, whose reply ends with segment `last`.
    pub(super) fn end_answered(
        &mut self,
        slot: u32,
        serial: u64,
        pending: Pending,
        ending: Ending,
        last: Segment,
    ) {
        let Some(out) = self.connections[slot].stamps.transmit_stamp(serial) else {
            return self.end_stamped(slot, pending, ending, Stamp::default(), Segment::default());
        };
        let source = self.source();
        if !out.has(source) {
            self.take_transmit_stamps(slot);
        }
        let stamps = &mut self.connections[slot].stamps;
        let Some(out) = stamps.transmit_stamp(serial) else { return };
        if source == Source::Hardware && !out.has(source) {
            return stamps.record_answer(serial, Answer { pending, ending, last });
        }
        stamps.remove(serial);
        self.end_stamped(slot, pending, ending, out, last);
    }

    /// End the answered requests of `slot` whose transmit stamp is known or lost.
    fn end_complete(&mut self, slot: u32) {
        loop {
            let clock = &self.clock;
            let lost =
                |answer: &Answer| clock.now().0.saturating_sub(answer.ending.completed_ns) > LOST_AFTER.0;
            let is_enough = |answer: &Answer, out: Stamp| out.has(Source::Hardware) || lost(answer);
            let answered = self.connections[slot].stamps.pop_answered(is_enough);
            let Some((answer, out)) = answered else { return };
            self.end_stamped(slot, answer.pending, answer.ending, out, answer.last);
        }
    }

    /// End all requests of `slot` that wait for a stamp: the connection or the load has ended.
    #[cold]
    pub(super) fn end_waiting(&mut self, slot: u32) {
        self.take_transmit_stamps(slot);
        while let Some((answer, out)) = self.connections[slot].stamps.pop_or_drop() {
            self.end_stamped(slot, answer.pending, answer.ending, out, answer.last);
        }
    }

    fn end_stamped(&mut self, slot: u32, pending: Pending, ending: Ending, out: Stamp, last: Segment) {
        let mut row = self.row(slot, pending, ending);
        let measured = row.scheduled_ns >= self.schedule.timeline.measure.0;
        let (stamper, clock) = (self.transport.stamps(), &self.clock);
        let wire = self.stamping.wire(&mut row, (out, last), measured, stamper, || clock.realtime_ahead());
        self.recorder.record_stamped(row, wire, stamper.source().is_some());
    }

    #[inline]
    fn source(&self) -> Source {
        self.stamping.source(self.transport.stamps())
    }

    /// Return the segment that holds a reply's last byte. `left` bytes of the read follow that reply.
    pub(super) fn reply_segment(&mut self, slot: u32, left: usize) -> Segment {
        let Arrival { last, untaken } = self.stamping.arrival;
        if untaken > left {
            self.stamping.arrival.untaken = left;
            return self.transport.take(slot, untaken - left, left > 0).no_later_than(last);
        }
        // The stamp of a read is the stamp of its last bytes.
        Segment { stamp: if left == 0 { last } else { Stamp::default() }, shared: false }
    }

    /// Consume the peeked bytes that belong to replies without stamps.
    #[inline]
    pub(super) fn take_peeked(&mut self, slot: u32) {
        if self.stamping.arrival.untaken > 0 {
            self.transport.take(slot, self.stamping.arrival.untaken, false);
            self.stamping.arrival.untaken = 0;
        }
    }

    /// Return the summary of stamps at the end of the load.
    pub fn stamp_summary(&mut self) -> StampSummary {
        self.stamping.time_of_day.sample(self.clock.realtime_ahead());
        self.stamping.summary(self.transport.stamps())
    }
}
