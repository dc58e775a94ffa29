//! Requests whose way the kernel stamps: chosen before they are sent, ended when both stamps are there.
//!
//! ```text
//!  chosen ── written (key) ── wire-out ── wire-in, done ── ended
//!                                    └── wire-in, done ── wire-out (a card is slow to tell) ── ended
//! ```

use std::collections::VecDeque;

use hindmost_clock::{Clock, Nanos};
use hindmost_host::Nic;

use super::connection::{Ending, Pending};
use super::worker::Worker;
use crate::protocol::Protocol;
use crate::record::{Row, Wire};
use crate::transport::{Segment, Sent, Source, Stamp, Transport};

/// Chosen requests that wait for a stamp, of one worker over all its connections: at most so many ...
const WAITING: usize = 1 << 13;
/// ... and of one connection between these.
const FEWEST: usize = 4;
const MOST: usize = 64;
/// A card's stamp that is not told this long after the reply came is lost.
pub const LOST_AFTER: Nanos = Nanos::from_millis(10);
/// A time of day that moved by more was set: two readings of its distance differ by some 20 ns, and by
/// more only where the processor was taken away between them.
const STEP_NS: u64 = 2_000;
/// Stamps and the worker's own clock readings come in order, but for the error of their distance.
const SLACK_NS: u64 = 1_000;

/// A chosen request.
#[derive(Clone, Copy, Debug)]
pub struct Chosen {
    /// The request, counted over the connection's life.
    serial: u64,
    /// The name of its write's stamp, once it is written.
    key: Option<u32>,
    out: Stamp,
    answer: Option<Answer>,
}

/// How a request ended whose wire-out is not yet known.
#[derive(Clone, Copy, Debug)]
struct Answer {
    pending: Pending,
    ending: Ending,
    last: Segment,
}

impl Chosen {
    /// Not all of its bytes are written.
    pub const fn is_unwritten(&self) -> bool {
        self.key.is_none()
    }

    /// Only its transmit stamp is missing.
    pub const fn is_answered(&self) -> bool {
        self.answer.is_some()
    }
}

/// How a card did before the measurement.
#[derive(Clone, Copy, Debug, Default)]
pub struct Trial {
    /// Requests that were to be stamped.
    asked: u64,
    /// Those whose wire latency it told.
    came: u64,
    over: bool,
}

/// A read, for whom stamps matter.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrived {
    /// When the last of its bytes came in.
    pub last: Stamp,
    /// How many of its bytes, at its end, were only peeked at.
    pub untaken: usize,
}

/// What a worker has to say of its stamps.
#[derive(Clone, Debug, Default)]
pub struct Stamping {
    /// By whom wire latency is; `None` where nobody stamps.
    pub source: Option<Source>,
    /// The interface that leads to the server.
    pub nic: Option<Nic>,
    /// Why nobody stamps although it was wanted.
    pub refused: Option<String>,
    /// Requests that the card was to stamp before the measurement, and those that it did stamp, where these
    /// were too few.
    pub card_failed: Option<(u64, u64)>,
    /// Whether the time of day was set.
    pub time_of_day: TimeOfDay,
}

/// Room for one connection's chosen requests, `slots` connections to a worker.
pub fn room(slots: u32) -> usize {
    (WAITING / slots.max(1) as usize).clamp(FEWEST, MOST)
}

/// How far `CLOCK_REALTIME` is ahead of our clock, and how often that changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeOfDay {
    ahead: i64,
    /// Times it was set.
    pub steps: u32,
    /// By how much, at most.
    pub largest_ns: u64,
}

impl TimeOfDay {
    /// Starts anew at a distance of `ahead`.
    pub fn new(ahead: i64) -> Self {
        Self { ahead, ..Self::default() }
    }

    /// Takes a new reading of the distance; says whether the time of day was set since the last.
    pub fn look(&mut self, ahead: i64) -> bool {
        let moved = ahead.abs_diff(self.ahead);
        if moved <= STEP_NS {
            return false;
        }
        self.ahead = ahead;
        self.steps += 1;
        self.largest_ns = self.largest_ns.max(moved);
        true
    }

    /// A moment of the time of day on our clock.
    fn ours(self, stamp_ns: u64) -> u64 {
        stamp_ns.wrapping_sub(self.ahead as u64)
    }
}

/// Keeps a transmit stamp with the requests that it is of. The kernel tells its own stamps in order, and one
/// that it skipped was merged with a later write into one packet before that left: so both left together.
fn note_sent(chosen: &mut VecDeque<Chosen>, sent: Sent) {
    let Some(last) = chosen.iter().rposition(|one| one.key == Some(sent.key)) else { return };
    for one in chosen.iter_mut().take(last + 1) {
        if one.key == Some(sent.key) {
            one.out.add(sent.stamp);
        } else {
            one.out.add(Stamp { hardware_ns: 0, ..sent.stamp });
        }
    }
}

/// The time from `out` to `back`, if it can be that of a request that took `service_ns`.
fn between(out: u64, back: u64, service_ns: u64) -> Option<u64> {
    back.checked_sub(out).filter(|&wire| wire <= service_ns + SLACK_NS)
}

impl<P: Protocol, T: Transport, C: Clock> Worker<P, T, C> {
    /// Whether the next request, on `slot`, is one of those that the kernel stamps: every so many, of connections
    /// that are witnessed.
    #[inline]
    pub(super) fn choose(&mut self, slot: u32) -> bool {
        if self.stamp_every == 0 || slot >= self.witnessed {
            return false;
        }
        self.stamp_turn += 1;
        if self.stamp_turn < self.stamp_every {
            return false;
        }
        self.stamp_turn = 0;
        if self.transport.stamps().source().is_none() {
            return false;
        }
        if self.connections[slot as usize].waits_for_stamp() {
            self.take_sent(slot);
            self.let_go(slot);
        }
        let connection = &mut self.connections[slot as usize];
        // A request for which there is no room is chosen all the same, and counts as one without stamps.
        if connection.chosen.len() < connection.chosen.capacity() {
            let serial = connection.answered + connection.pending.len() as u64;
            connection.chosen.push_back(Chosen { serial, key: None, out: Stamp::default(), answer: None });
        }
        true
    }

    /// All bytes of `slot` are written; those of its chosen requests among them are stamped as `key`.
    #[inline]
    pub(super) fn written(&mut self, slot: u32, key: u32) {
        for one in self.connections[slot as usize].chosen.iter_mut().rev() {
            if one.key.is_some() {
                break;
            }
            one.key = Some(key);
        }
    }

    /// Takes the transmit stamps of `slot` that are there; says whether there was any.
    pub(super) fn take_sent(&mut self, slot: u32) -> bool {
        let best = self.best();
        let mut any = false;
        while let Some(sent) = self.transport.sent(slot) {
            any = true;
            let chosen = &mut self.connections[slot as usize].chosen;
            note_sent(chosen, sent);
            if chosen.iter().all(|one| one.key.is_none() || one.out.has(best)) {
                break;
            }
        }
        if any {
            self.let_go(slot);
        }
        any
    }

    /// What is to be read of `slot`: `None` where no chosen request waits for its reply, else whether
    /// replies to others may come behind its own.
    #[inline]
    pub(super) fn awaits_stamp(&self, slot: u32) -> Option<bool> {
        let connection = &self.connections[slot as usize];
        let first = connection.chosen.iter().find(|one| one.answer.is_none())?;
        Some(first.serial + 1 < connection.answered + connection.pending.len() as u64)
    }

    /// A chosen request of `slot`, the oldest one, has its reply, whose bytes end with `last`.
    pub(super) fn end_chosen(
        &mut self,
        slot: u32,
        serial: u64,
        pending: Pending,
        ending: Ending,
        last: Segment,
    ) {
        let Some(at) = self.connections[slot as usize].chosen.iter().position(|one| one.serial == serial)
        else {
            return self.end_stamped(slot, pending, ending, Stamp::default(), Segment::default());
        };
        let best = self.best();
        if !self.connections[slot as usize].chosen[at].out.has(best) {
            self.take_sent(slot);
        }
        let chosen = &mut self.connections[slot as usize].chosen;
        let Some(at) = chosen.iter().position(|one| one.serial == serial) else { return };
        let out = chosen[at].out;
        if best == Source::Hardware && !out.has(best) {
            chosen[at].answer = Some(Answer { pending, ending, last });
            return;
        }
        chosen.remove(at);
        self.end_stamped(slot, pending, ending, out, last);
    }

    /// Ends the answered requests of `slot` whose wire-out is known, or will never be.
    fn let_go(&mut self, slot: u32) {
        while let Some(one) = self.connections[slot as usize].chosen.front().copied() {
            let Some(answer) = one.answer else { return };
            let late = self.clock.now().0.saturating_sub(answer.ending.done_ns) > LOST_AFTER.0;
            if !late && !one.out.has(Source::Hardware) {
                return;
            }
            self.connections[slot as usize].chosen.pop_front();
            let Answer { pending, ending, last } = answer;
            self.end_stamped(slot, pending, ending, one.out, last);
        }
    }

    /// Ends all that still waits for a stamp on `slot`: the connection or the load is at its end.
    #[cold]
    pub(super) fn end_waiting(&mut self, slot: u32) {
        self.take_sent(slot);
        while let Some(one) = self.connections[slot as usize].chosen.pop_front() {
            if let Some(Answer { pending, ending, last }) = one.answer {
                self.end_stamped(slot, pending, ending, one.out, last);
            }
        }
    }

    fn end_stamped(&mut self, slot: u32, pending: Pending, ending: Ending, out: Stamp, last: Segment) {
        let mut row = self.row(slot, pending, ending);
        let (card, kernel) = (Self::by_card(&mut row, out, last), self.by_kernel(&mut row, out, last));
        if row.due_ns < self.timeline.measure.0 {
            self.trial.asked += 1;
            self.trial.came += u64::from(matches!(card, Wire::Known { .. }));
        } else if !self.trial.over {
            self.trial.over = true;
            self.judge_card();
        }
        let wire = if self.best() == Source::Hardware { card } else { kernel };
        self.recorder.ended_stamped(row, wire, self.transport.stamps().source().is_some());
    }

    /// The best source at work.
    #[inline]
    fn best(&self) -> Source {
        self.transport.stamps().source().map_or(Source::Software, |source| source.min(self.wire_by))
    }

    /// A card that did not stamp half of what it was to stamp is not relied on.
    #[cold]
    fn judge_card(&mut self) {
        if self.best() == Source::Hardware && 2 * self.trial.came < self.trial.asked {
            self.wire_by = Source::Software;
        }
    }

    /// What there is to say of stamps at the end.
    pub(super) fn stamping(&mut self) -> Stamping {
        self.look_at_the_time();
        let stamps = self.transport.stamps();
        let failed = self.wire_by == Source::Software;
        Stamping {
            source: stamps.source().map(|_| self.best()),
            nic: stamps.nic().cloned(),
            refused: stamps.refused().map(str::to_owned),
            card_failed: failed.then_some((self.trial.asked, self.trial.came)),
            time_of_day: self.time_of_day,
        }
    }

    /// Where the bytes of a reply end behind which `left` bytes of the read lie.
    pub(super) fn arrived_with(&mut self, slot: u32, left: usize) -> Segment {
        let Arrived { last, untaken } = self.arrived;
        if untaken > left {
            self.arrived.untaken = left;
            return self.transport.take(slot, untaken - left, left > 0).no_later_than(last);
        }
        // The stamp of a read is that of its last bytes.
        Segment { stamp: if left == 0 { last } else { Stamp::default() }, shared: false }
    }

    /// Takes what was peeked at and belongs to replies that are not stamped.
    #[inline]
    pub(super) fn take_rest(&mut self, slot: u32) {
        if self.arrived.untaken > 0 {
            self.transport.take(slot, self.arrived.untaken, false);
            self.arrived.untaken = 0;
        }
    }

    /// Wire latency by the card.
    fn by_card(row: &mut Row, out: Stamp, last: Segment) -> Wire {
        let back = last.stamp.hardware_ns;
        let wire = match (out.hardware_ns, back) {
            (0, _) => return Wire::WithoutOut,
            (_, 0) => return Wire::WithoutIn,
            (out, back) => between(out, back, row.done_ns.saturating_sub(row.sent_ns)),
        };
        row.card_wire_ns = wire.unwrap_or(0);
        wire.map_or(Wire::Implausible, |ns| Wire::Known { ns, shared: last.shared })
    }

    /// Wire latency by the kernel, and its stamps on our clock. Stamps that cannot be those of this request
    /// are left out: the time of day was set between them.
    fn by_kernel(&mut self, row: &mut Row, out: Stamp, last: Segment) -> Wire {
        let (out, back) = (out.software_ns, last.stamp.software_ns);
        let wire = match (out, back) {
            (0, _) => return Wire::WithoutOut,
            (_, 0) => return Wire::WithoutIn,
            _ => between(out, back, row.done_ns.saturating_sub(row.sent_ns)),
        };
        let mut place = self.place(row, out, back);
        if place.is_none() {
            self.look_at_the_time();
            place = self.place(row, out, back);
        }
        let Some(((wire_out_ns, wire_in_ns), ns)) = place.zip(wire) else { return Wire::Implausible };
        (row.wire_out_ns, row.wire_in_ns) = (wire_out_ns, wire_in_ns);
        Wire::Known { ns, shared: last.shared }
    }

    /// The software stamps on our clock, if they lie between sent and done.
    fn place(&self, row: &Row, out: u64, back: u64) -> Option<(u64, u64)> {
        let (out, back) = (self.time_of_day.ours(out), self.time_of_day.ours(back));
        (out + SLACK_NS >= row.sent_ns && back <= row.done_ns + SLACK_NS).then_some((out, back))
    }

    /// Measures again how far the time of day is ahead.
    #[cold]
    pub(super) fn look_at_the_time(&mut self) {
        self.time_of_day.look(self.clock.realtime_ahead());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_day_was_set_when_its_distance_changed() {
        let mut time = TimeOfDay::new(1_000_000);
        for (ahead, stepped) in [
            (1_000_000, false),
            (1_001_900, false),
            (998_100, false),
            (1_002_100, true),
            (1_002_100, false),
            (-3_600_000_000_000, true),
        ] {
            assert_eq!(time.look(ahead), stepped, "{ahead}");
        }
        assert_eq!((time.steps, time.largest_ns), (2, 3_600_001_002_100));
        assert_eq!(time.ours(1_000), 3_600_000_001_000);
    }

    #[test]
    fn a_write_that_was_merged_with_a_later_one_left_with_it() {
        let one = |serial, key| Chosen { serial, key, out: Stamp::default(), answer: None };
        let all = [one(0, Some(9)), one(1, Some(19)), one(2, Some(19)), one(3, Some(29)), one(4, None)];
        let mut chosen = VecDeque::from(all);
        let outs = |chosen: &VecDeque<Chosen>| -> Vec<(u64, u64)> {
            chosen.iter().map(|one| (one.out.software_ns, one.out.hardware_ns)).collect()
        };
        note_sent(&mut chosen, Sent { key: 5, stamp: Stamp { software_ns: 50, hardware_ns: 0 } });
        assert_eq!(outs(&chosen), [(0, 0); 5], "nobody's");
        note_sent(&mut chosen, Sent { key: 19, stamp: Stamp { software_ns: 60, hardware_ns: 0 } });
        note_sent(&mut chosen, Sent { key: 29, stamp: Stamp { software_ns: 0, hardware_ns: 8 } });
        note_sent(&mut chosen, Sent { key: 29, stamp: Stamp { software_ns: 70, hardware_ns: 0 } });
        note_sent(&mut chosen, Sent { key: 29, stamp: Stamp { software_ns: 90, hardware_ns: 0 } });
        // A card may tell in any order.
        assert_eq!(outs(&chosen), [(60, 0), (60, 0), (60, 0), (70, 8), (0, 0)]);
    }

    #[test]
    fn what_a_clock_that_was_set_makes_of_a_request_is_no_latency() {
        for (out, back, service, wire) in [
            (100, 150, 60, Some(50)),
            (100, 100, 60, Some(0)),
            (100, 99, 60, None),
            (100, 100 + 60 + SLACK_NS, 60, Some(60 + SLACK_NS)),
            (100, 101 + 60 + SLACK_NS, 60, None),
        ] {
            assert_eq!(between(out, back, service), wire);
        }
    }

    #[test]
    fn many_connections_share_the_room_for_what_waits() {
        assert_eq!((room(1), room(1_000_000)), (MOST, FEWEST));
        assert!((FEWEST..MOST).contains(&room(1_000)));
    }
}
