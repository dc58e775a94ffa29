//! The loop itself, and how it moves through the phases.

use std::sync::atomic::Ordering;

use hindmost_clock::{Clock, Nanos};
use hindmost_host::counters::{ThreadCounters, ThreadSpan};

use super::connection::{Connection, Ending};
use super::pace;
use super::stages::Stage;
use super::stamping::{TimeOfDay, LOST_AFTER};
use super::worker::Worker;
use crate::protocol::Protocol;
use crate::record::Status;
use crate::transport::Transport;
use crate::LoadError;

/// How a worker spent the measured part of its time: from the start of the calibration to the last
/// reply.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    /// The kernel's account.
    pub span: ThreadSpan,
    /// Of it, in rounds that sent or received something, sleep not counted.
    pub busy_ns: u64,
}

impl<P: Protocol, T: Transport, C: Clock> Worker<P, T, C> {
    /// The load, from its start, which must be known, to its last reply.
    pub fn run(&mut self) -> Result<Spent, LoadError> {
        self.timeline.start = self.control.timeline().start;
        self.window_ends = self.timeline.start.saturating_add(self.window);
        self.draw();
        let mut begun: Option<ThreadCounters> = None;
        loop {
            let now = self.clock.now();
            self.follow_timeline();
            if begun.is_none() && now >= self.timeline.calibrate {
                // Reads a small file, some 30 us once. It delays requests of the calibration, which
                // are not recorded, and that is why it is not read when the measurement starts.
                begun = Some(ThreadCounters::read_self());
                self.busy_ns = 0;
                self.time_of_day = TimeOfDay::new(self.clock.realtime_ahead());
                self.begin_sockets();
            }
            // In the closed loop a request that has waited for its connection is due only now.
            let due = if self.closed { self.next_due.max(now) } else { self.next_due };
            if due >= self.timeline.end {
                break;
            }
            if now >= self.timeline.end.saturating_add(Nanos(self.timeout_ns)) {
                self.give_up_sending();
                break;
            }
            self.round(now)?;
        }
        self.take_the_last_replies()?;
        self.check_refused()?;
        let span = begun.map(|begun| ThreadCounters::read_self().since(&begun)).unwrap_or_default();
        Ok(Spent { span, busy_ns: self.busy_ns })
    }

    /// One turn of the loop: what is due is sent before replies are looked at, and again after each
    /// connection's replies, so that a send never waits for more than one read.
    fn round(&mut self, now: Nanos) -> Result<(), LoadError> {
        if self.next_due > now {
            self.stages.rest(now);
        }
        let mut worked = self.send_due(now)?;
        if now >= self.window_ends {
            self.close_window(now)?;
        }
        if now >= self.retry_at {
            self.retry(now)?;
        }
        let slept = self.wait(now)?;
        let mut ready = std::mem::take(&mut self.ready);
        if !ready.is_empty() {
            self.stages.found();
        }
        for one in &ready {
            worked = true;
            let now = self.serve(*one)?;
            if !(T::QUEUES && self.closed) {
                self.send_due(now)?;
            }
        }
        ready.clear();
        self.ready = ready;
        if self.control.aborted() {
            return Err(LoadError::Aborted);
        }
        if worked {
            self.busy_ns += self.clock.now().saturating_sub(now).saturating_sub(slept).0;
        }
        Ok(())
    }

    /// Looks for replies, asleep if pacing allows it and nothing is due; returns how long it slept.
    fn wait(&mut self, now: Nanos) -> Result<Nanos, LoadError> {
        let timeout = pace::sleep(self.pacing, now, self.next_wake());
        let expected = self.outstanding > 0 || self.open < self.connections.len();
        let before = if timeout == Nanos::ZERO { now } else { self.clock.now() };
        self.transport
            .wait(timeout, expected, &mut self.ready)
            .map_err(LoadError::system("epoll_wait failed"))?;
        if timeout == Nanos::ZERO {
            return Ok(Nanos::ZERO);
        }
        let woken = self.clock.now();
        self.stages.enter(Stage::Waiting, woken);
        Ok(woken.saturating_sub(before))
    }

    fn next_wake(&self) -> Nanos {
        // In the closed loop a due request cannot go out before a connection is free, and the reply
        // that frees one wakes us.
        let due = if self.closed && self.usable.is_empty() { Nanos::MAX } else { self.next_due };
        due.min(self.retry_at)
    }

    /// Draws the next request and its due time.
    #[inline]
    pub(super) fn draw(&mut self) {
        self.next = self.requests.draw();
        self.next_due = self.timeline.start.saturating_add(self.arrivals.next_due());
    }

    fn follow_timeline(&mut self) {
        let timeline = self.control.timeline();
        if timeline == self.timeline {
            return;
        }
        if timeline.measure != self.timeline.measure {
            self.recorder.set_measurement(timeline.measure, timeline.end);
        }
        self.timeline = timeline;
    }

    fn close_window(&mut self, now: Nanos) -> Result<(), LoadError> {
        while now >= self.window_ends {
            let at = self.window_ends.saturating_sub(self.timeline.start);
            self.progress.series.push(self.windows.close(at.0));
            self.window_ends += self.window;
        }
        self.progress.sent.store(self.sent, Ordering::Relaxed);
        self.progress.replies.store(self.replies, Ordering::Relaxed);
        // Here as well, because an attempt to connect that hangs is no event.
        self.check_alone(now)
    }

    /// The load is over and what was due could not even be sent within the timeout.
    fn give_up_sending(&mut self) {
        while self.next_due < self.timeline.end {
            self.unsent();
            self.draw();
        }
    }

    /// Waits for stamps that a card still owes.
    fn take_the_last_stamps(&mut self) -> Result<(), LoadError> {
        let until = self.clock.now() + LOST_AFTER;
        while self.connections.iter().any(Connection::waits_for_stamp) {
            let now = self.clock.now();
            if now >= until {
                break;
            }
            self.round(now)?;
        }
        Ok(())
    }

    /// Waits for the replies still owed, at most for the timeout; what is still missing then has
    /// timed out.
    fn take_the_last_replies(&mut self) -> Result<(), LoadError> {
        let until = self.clock.now().max(self.timeline.end).saturating_add(Nanos(self.timeout_ns));
        self.next_due = Nanos::MAX;
        while self.outstanding > 0 {
            let now = self.clock.now();
            if now >= until {
                break;
            }
            self.round(now)?;
        }
        self.take_the_last_stamps()?;
        for slot in 0..self.connections.len() {
            self.end_waiting(slot as u32);
            while let Some(pending) = self.connections[slot].pending.pop_front() {
                self.end(slot as u32, pending, Ending::unanswered(Status::Timeout));
            }
        }
        self.outstanding = 0;
        Ok(())
    }
}
