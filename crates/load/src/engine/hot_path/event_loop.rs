//! The loop itself, and how it moves through the phases.

use hindmost_clock::{Clock, Nanos};
use hindmost_host::counters::{ThreadCounters, ThreadSpan};

use super::pace;
use super::worker::Worker;
use crate::engine::state::request::Ending;
use crate::engine::state::stages::Stage;
use crate::engine::state::time_of_day::TimeOfDay;
use crate::protocol::Protocol;
use crate::record::Status;
use crate::transport::Stamped;
use crate::LoadError;

/// A card's stamp that has not come this long after the reply is lost.
pub(super) const LOST_AFTER: Nanos = Nanos::from_millis(10);

impl<P: Protocol, T: Stamped + ?Sized, C: Clock> Worker<P, T, C> {
    /// The load, from its start, which must be known, to its last reply. Returns the thread's time and counters from
    /// the start of the calibration on.
    pub fn run(&mut self) -> Result<ThreadSpan, LoadError> {
        let start = self.control.timeline().start;
        self.tally.begin(start);
        self.schedule.begin(start);
        if self.turns.carried.is_some() {
            // Each connection is made for the requests that it carries.
            self.begin_turns();
        }
        let mut begun: Option<ThreadCounters> = None;
        loop {
            let now = self.clock.now();
            self.follow_timeline();
            if begun.is_none() && now >= self.schedule.timeline.calibrate {
                // Reads a small file, some 30 us once. It delays requests of the calibration, which
                // are not recorded, and that is why it is not read when the measurement starts.
                begun = Some(ThreadCounters::read_self());
                self.tally.busy_ns = 0;
                self.stamping.time_of_day = TimeOfDay::new(self.clock.realtime_ahead());
                let descriptors = self.connections.slots().map(|slot| self.transport.descriptor(slot));
                self.sockets.begin(self.connections.all().iter().zip(descriptors));
                if !self.schedule.closed {
                    self.away.begin(self.clock.now());
                }
            }
            if self.schedule.is_over(now) {
                break;
            }
            if self.schedule.is_too_late(now) {
                self.give_up_sending();
                break;
            }
            self.round(now)?;
        }
        self.take_the_last_replies()?;
        self.check_refused()?;
        Ok(begun.map(|begun| ThreadCounters::read_self().since(&begun)).unwrap_or_default())
    }

    /// One turn of the loop: what is due is sent before replies are looked at, and again after each
    /// connection's replies, so that a send never waits for more than one read.
    fn round(&mut self, now: Nanos) -> Result<(), LoadError> {
        if self.schedule.next_due.min(self.batches.next) > now {
            self.stages.rest(now);
        }
        self.away.idled(now);
        let mut worked = self.send_due(now)?;
        if self.tally.window_is_over(now) {
            self.tally.publish(now, self.schedule.timeline.start, &self.progress);
            if P::LOSSY {
                self.expire(now)?;
            }
        }
        if self.connections.open() == 0 {
            // Here as well, because an attempt to connect that hangs is no event.
            self.check_gone(now)?;
        }
        if now >= self.connections.retry_at {
            self.retry(now)?;
        }
        if now >= self.turns.part_by() {
            self.hang_up(now)?;
        }
        let slept = self.wait(now)?;
        let mut ready = std::mem::take(&mut self.ready);
        if !ready.is_empty() {
            self.stages.found();
        }
        for one in &ready {
            worked = true;
            let now = self.serve(*one)?;
            if !(self.transport.queues() && self.schedule.closed) {
                self.send_due(now)?;
            }
        }
        ready.clear();
        self.ready = ready;
        if self.control.aborted() {
            return Err(LoadError::Aborted);
        }
        if worked {
            let after = self.clock.now();
            self.away.called(after);
            self.tally.busy_ns += after.saturating_sub(now).saturating_sub(slept).0;
        }
        Ok(())
    }

    /// Looks for replies, asleep if pacing allows it and nothing is due; returns how long it slept.
    fn wait(&mut self, now: Nanos) -> Result<Nanos, LoadError> {
        let timeout = pace::sleep(self.pacing, now, self.next_wake());
        let expected = self.schedule.outstanding > 0 || !self.connections.all_open();
        let before = if timeout == Nanos::ZERO { now } else { self.clock.now() };
        self.transport
            .wait(timeout, expected, &mut self.ready)
            .map_err(LoadError::system("epoll_wait failed"))?;
        if timeout == Nanos::ZERO {
            return Ok(Nanos::ZERO);
        }
        let woken = self.clock.now();
        self.stages.enter(Stage::Waiting, woken);
        self.away.slept(woken);
        Ok(woken.saturating_sub(before))
    }

    fn next_wake(&self) -> Nanos {
        // In the closed loop a due request cannot go out before a connection is free, and the reply
        // that frees one wakes us.
        let blocked = self.schedule.closed && !self.connections.any_usable();
        let due = if blocked { Nanos::MAX } else { self.schedule.next_due };
        due.min(self.batches.next).min(self.connections.retry_at).min(self.turns.part_by())
    }

    pub(super) fn follow_timeline(&mut self) {
        let timeline = self.control.timeline();
        if timeline != self.schedule.timeline && self.schedule.follow(timeline) {
            self.recorder.set_measurement(timeline.measure, timeline.end);
        }
    }

    /// The load is over and what was due could not even be sent within the timeout.
    fn give_up_sending(&mut self) {
        while self.schedule.next_due < self.schedule.timeline.end {
            self.unsent();
            self.schedule.draw();
        }
    }

    /// Waits for the outstanding replies, at most for the timeout; what is still missing then has
    /// timed out.
    fn take_the_last_replies(&mut self) -> Result<(), LoadError> {
        let until = self.schedule.last_reply_by(self.clock.now());
        self.schedule.end();
        while self.schedule.outstanding > 0 {
            let now = self.clock.now();
            if now >= until {
                break;
            }
            self.round(now)?;
        }
        self.take_the_last_stamps()?;
        for slot in self.connections.slots() {
            self.end_waiting(slot);
            while let Some(pending) = self.connections[slot].pending.pop_front() {
                self.end(slot, pending, Ending::unanswered(Status::Timeout));
            }
        }
        self.end_turns();
        self.schedule.outstanding = 0;
        Ok(())
    }

    /// Waits for the transmit stamps that a card has not delivered yet.
    fn take_the_last_stamps(&mut self) -> Result<(), LoadError> {
        let until = self.clock.now() + LOST_AFTER;
        while self.connections.all().iter().any(|connection| connection.stamps.waits()) {
            let now = self.clock.now();
            if now >= until {
                break;
            }
            self.round(now)?;
        }
        Ok(())
    }
}
