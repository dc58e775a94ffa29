//! The event loop of a worker and its phases.

use hindmost_clock::{Clock, Nanos};
use hindmost_host::counters::{ThreadCounters, ThreadSpan};

use super::pace;
use super::worker::Worker;
use crate::engine::state::request::Ending;
use crate::engine::state::stages::Stage;
use crate::engine::state::time_of_day::TimeOfDay;
use crate::protocol::Protocol;
use crate::record::Status;
use crate::transport::StampedTransport;
use crate::LoadError;

/// A NIC's transmit stamp counts as lost this long after the reply.
pub(super) const LOST_AFTER: Nanos = Nanos::from_millis(10);

impl<P: Protocol, T: StampedTransport + ?Sized, C: Clock> Worker<P, T, C> {
    /// Run the load from its start, which must be known, to its last reply. Return the thread's CPU time and
    /// counters since the start of the calibration.
    pub fn run(&mut self) -> Result<ThreadSpan, LoadError> {
        let start = self.control.timeline().start;
        self.tally.begin(start);
        self.schedule.begin(start);
        if self.turns.carried.is_some() {
            // Each connection is opened for the requests that it will carry.
            self.begin_turns();
        }
        let mut counters_at_start: Option<ThreadCounters> = None;
        loop {
            let now = self.clock.now();
            self.follow_timeline();
            if counters_at_start.is_none() && now >= self.schedule.timeline.calibrate {
                // Reading a small file takes about 30 µs. It delays only requests of the calibration, which
                // are not recorded; that is why it does not happen at the start of the measurement.
                counters_at_start = Some(ThreadCounters::read_self());
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
            self.iterate(now)?;
        }
        self.take_the_last_replies()?;
        self.check_refused()?;
        Ok(counters_at_start
            .map(|counters_at_start| ThreadCounters::read_self().since(&counters_at_start))
            .unwrap_or_default())
    }

    /// Run one iteration of the loop. Scheduled requests are sent before replies are read, and again after
    /// the replies of each connection, so a send waits for at most one read.
    fn iterate(&mut self, now: Nanos) -> Result<(), LoadError> {
        if self.schedule.next_scheduled.min(self.batches.next) > now {
            self.stages.reset(now);
        }
        self.away.record_idle(now);
        let mut worked = self.send_scheduled(now)?;
        if self.tally.window_is_over(now) {
            self.tally.publish(now, self.schedule.timeline.start, &self.progress);
            if P::LOSSY {
                self.expire(now)?;
            }
        }
        if self.connections.open() == 0 {
            // Checked here too, because a connection attempt that hangs causes no event.
            self.check_gone(now)?;
        }
        if now >= self.connections.retry_at {
            self.retry(now)?;
        }
        if now >= self.turns.close_deadline() {
            self.hang_up(now)?;
        }
        let slept = self.wait(now)?;
        let mut ready = std::mem::take(&mut self.ready);
        if !ready.is_empty() {
            self.stages.enter_reading();
        }
        for one in &ready {
            worked = true;
            let now = self.serve(*one)?;
            if !(self.transport.queues() && self.schedule.closed) {
                self.send_scheduled(now)?;
            }
        }
        ready.clear();
        self.ready = ready;
        if self.control.is_aborted() {
            return Err(LoadError::Aborted);
        }
        if worked {
            let after = self.clock.now();
            self.away.record_call(after);
            self.tally.busy_ns += after.saturating_sub(now).saturating_sub(slept).0;
        }
        Ok(())
    }

    /// Wait for replies. Sleep if pacing allows it and no request is due. Return the time slept.
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
        self.away.record_sleep(woken);
        Ok(woken.saturating_sub(before))
    }

    fn next_wake(&self) -> Nanos {
        // In the closed loop a scheduled request needs a free connection, and the reply that frees one wakes
        // the worker.
        let blocked = self.schedule.closed && !self.connections.any_usable();
        let scheduled = if blocked { Nanos::MAX } else { self.schedule.next_scheduled };
        scheduled.min(self.batches.next).min(self.connections.retry_at).min(self.turns.close_deadline())
    }

    pub(super) fn follow_timeline(&mut self) {
        let timeline = self.control.timeline();
        if timeline != self.schedule.timeline && self.schedule.update_timeline(timeline) {
            self.recorder.set_measurement(timeline.measure, timeline.end);
        }
    }

    /// Count the scheduled requests that could not be sent within the timeout after the load's end.
    fn give_up_sending(&mut self) {
        while self.schedule.next_scheduled < self.schedule.timeline.end {
            self.record_unsent();
            self.schedule.draw();
        }
    }

    /// Wait for outstanding replies until the timeout, then record the missing ones as timeouts.
    fn take_the_last_replies(&mut self) -> Result<(), LoadError> {
        let until = self.schedule.last_reply_by(self.clock.now());
        self.schedule.end();
        while self.schedule.outstanding > 0 {
            let now = self.clock.now();
            if now >= until {
                break;
            }
            self.iterate(now)?;
        }
        self.take_the_last_stamps()?;
        for slot in self.connections.slots() {
            self.end_waiting(slot);
            while let Some(pending) = self.connections[slot].pending.pop_front() {
                self.end(slot, pending, Ending::without_answer(Status::Timeout));
            }
        }
        self.end_turns();
        self.recorder.sessions = self.schedule.end_sessions();
        self.schedule.outstanding = 0;
        Ok(())
    }

    /// Wait for the transmit stamps that the NIC has not delivered yet.
    fn take_the_last_stamps(&mut self) -> Result<(), LoadError> {
        let until = self.clock.now() + LOST_AFTER;
        while self.connections.all().iter().any(|connection| connection.stamps.awaits_stamps()) {
            let now = self.clock.now();
            if now >= until {
                break;
            }
            self.iterate(now)?;
        }
        Ok(())
    }
}
