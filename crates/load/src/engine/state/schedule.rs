//! The schedule of a worker: its next request, and the number of outstanding requests.

use hindmost_clock::Nanos;
use hindmost_plan::{Load, Plan};

use super::buffers::max_outstanding;
use super::sessions::Sessions;
use crate::arrivals::Arrivals;
use crate::engine::control::Timeline;
use crate::record::SessionRecord;
use crate::workload::{Kind, Request, Requests, Shards};

pub struct Schedule {
    arrivals: Box<dyn Arrivals>,
    requests: Requests,
    /// Closed loop: at most one request is outstanding per place on a connection.
    pub closed: bool,
    pub timeout: Nanos,
    /// Limit on outstanding requests. Scheduled requests beyond it are not sent.
    max_outstanding: u64,
    pub timeline: Timeline,
    /// The next scheduled request.
    pub next: Request,
    /// The server of the next request, and the rule that chooses servers.
    pub endpoint: u16,
    pub shards: Shards,
    pub next_scheduled: Nanos,
    pub outstanding: u64,
    sessions: Option<Box<SessionSchedule>>,
}

/// Sessions, and the next one to begin.
struct SessionSchedule {
    sessions: Sessions,
    /// The first request of the next session, and its scheduled time.
    arrival: (Request, Nanos),
    /// Whether `Schedule::next` is a follow-up request of a session that has begun.
    is_follow_up: bool,
}

impl Schedule {
    /// Create the schedule of a worker with `slots` connections. Nothing is scheduled before `begin`.
    pub fn new(plan: &Plan, slots: u32, arrivals: Box<dyn Arrivals>, requests: Requests) -> Self {
        Self {
            arrivals,
            requests,
            closed: matches!(plan.load, Load::Closed { .. }),
            timeout: Nanos::from_secs_f64(plan.timeout_s),
            max_outstanding: u64::from(max_outstanding(plan, slots)),
            timeline: Timeline::UNKNOWN,
            next: Request { kind: Kind::GET, item: 0, value_bytes: 0 },
            endpoint: 0,
            shards: Shards::One,
            next_scheduled: Nanos::MAX,
            outstanding: 0,
            sessions: Sessions::of(plan).map(|sessions| {
                let arrival = (Request { kind: Kind::GET, item: 0, value_bytes: 0 }, Nanos::MAX);
                Box::new(SessionSchedule { sessions, arrival, is_follow_up: false })
            }),
        }
    }

    /// Spread requests over several servers.
    #[must_use]
    pub fn with_servers(mut self, shards: Shards) -> Self {
        self.shards = shards;
        self
    }

    /// Start the load at `start` and draw the first request.
    pub fn begin(&mut self, start: Nanos) {
        self.timeline.start = start;
        if self.sessions.is_some() {
            self.draw_arrival();
        } else {
            self.draw();
        }
    }

    /// Draw the next request and its scheduled time, after the present one was handled.
    #[inline]
    pub fn draw(&mut self) {
        if self.sessions.is_some() {
            return self.draw_in_sessions();
        }
        self.next = self.requests.draw();
        self.endpoint = self.shards.next(self.next.item);
        self.next_scheduled = self.timeline.start.saturating_add(self.arrivals.next_scheduled());
    }

    /// Replace the present request, which was handled, by the next one of all sessions.
    #[cold]
    fn draw_in_sessions(&mut self) {
        let Some(following) = &mut self.sessions else { return };
        if following.is_follow_up {
            following.sessions.take_due();
            self.choose();
        } else {
            following.sessions.begin(self.next.item, self.next_scheduled);
            self.draw_arrival();
        }
    }

    /// Draw the next session.
    fn draw_arrival(&mut self) {
        let arrival =
            (self.requests.draw(), self.timeline.start.saturating_add(self.arrivals.next_scheduled()));
        if let Some(following) = &mut self.sessions {
            following.arrival = arrival;
        }
        self.choose();
    }

    /// Choose the next request: the next session's first one, or a follow-up request that is due before it.
    fn choose(&mut self) {
        let Some(following) = &mut self.sessions else { return };
        let due = following.sessions.first_due().filter(|&(due, _)| due < following.arrival.1);
        following.is_follow_up = due.is_some();
        (self.next, self.next_scheduled) = match due {
            Some((due, item)) => (self.requests.listed(item), due),
            None => following.arrival,
        };
        self.endpoint = self.shards.next(self.next.item);
    }

    /// Whether requests form sessions.
    #[inline]
    pub fn has_sessions(&self) -> bool {
        self.sessions.is_some()
    }

    /// Schedule what follows the answer to request `item` at `now` in its session.
    #[cold]
    pub fn follow_answer(&mut self, item: u32, now: Nanos) {
        let timeline = self.timeline;
        let Some(following) = &mut self.sessions else { return };
        following.sessions.answer(item, now, |begun| timeline.measures_session(begun));
        if self.next_scheduled != Nanos::MAX {
            self.choose();
        }
    }

    /// End all sessions after the last reply.
    pub fn end_sessions(&mut self) -> Option<SessionRecord> {
        let timeline = self.timeline;
        let following = self.sessions.take()?;
        Some(following.sessions.finish(|begun| timeline.measures_session(begun)))
    }

    /// Take over the phase boundaries. Return whether the measurement's start is new.
    pub fn update_timeline(&mut self, timeline: Timeline) -> bool {
        let fixed = timeline.measure != self.timeline.measure;
        self.timeline = timeline;
        if fixed {
            self.arrivals.measure_from(timeline.measure.saturating_sub(timeline.start));
        }
        fixed
    }

    /// Whether a request of the load is due at `now`.
    #[inline]
    pub fn is_due(&self, now: Nanos) -> bool {
        self.next_scheduled <= now && self.next_scheduled < self.timeline.end
    }

    /// Whether all scheduled requests have been sent. In the closed loop, a request that waited for its
    /// connection is scheduled only now.
    #[inline]
    pub fn is_over(&self, now: Nanos) -> bool {
        let scheduled = if self.closed {
            self.next_scheduled.max(now)
        } else if self.outstanding > 0 && self.sessions.is_some() {
            // The reply to an outstanding request may be followed by another request.
            self.next_scheduled.min(now)
        } else {
            self.next_scheduled
        };
        scheduled >= self.timeline.end
    }

    /// Whether the limit on outstanding requests is reached.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.outstanding >= self.max_outstanding
    }

    /// Whether the load ended a timeout ago: requests still scheduled cannot be sent in time.
    pub fn is_too_late(&self, now: Nanos) -> bool {
        now >= self.timeline.end.saturating_add(self.timeout)
    }

    /// Return when to stop waiting for replies, seen from `now`, after the last request.
    pub fn last_reply_by(&self, now: Nanos) -> Nanos {
        now.max(self.timeline.end).saturating_add(self.timeout)
    }

    /// Stop scheduling requests.
    pub fn end(&mut self) {
        self.next_scheduled = Nanos::MAX;
    }

    /// Seconds since the load started.
    pub fn elapsed_s(&self, now: Nanos) -> f64 {
        now.saturating_sub(self.timeline.start).as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::engine::tests::{every_ms, plan};
    use crate::random::{stream, Purpose};

    struct EveryTen(u64);

    impl Arrivals for EveryTen {
        fn next_scheduled(&mut self) -> Nanos {
            self.0 += 10;
            Nanos(self.0)
        }
    }

    fn schedule(load: &serde_json::Value) -> Schedule {
        let plan = plan(2, load, &json!({"timeout_s": 0.001, "max_outstanding": 3}));
        let requests = Requests::new(&plan, crate::arrivals::Part::WHOLE, stream(1, 0, 0, Purpose::Contents));
        let mut schedule = Schedule::new(&plan, 2, Box::new(EveryTen(0)), requests);
        schedule.begin(Nanos(1_000));
        let known = Timeline {
            calibrate: Nanos(1_020),
            measure: Nanos(1_030),
            end: Nanos(1_045),
            ..schedule.timeline
        };
        assert!(schedule.update_timeline(known), "the measurement is new");
        assert!(!schedule.update_timeline(known), "and then it is not");
        schedule
    }

    #[test]
    fn scheduled_times_are_relative_to_the_start_and_end_with_the_load() {
        let mut schedule = schedule(&every_ms());
        let mut scheduled = Vec::new();
        while schedule.is_due(Nanos::MAX) {
            scheduled.push(schedule.next_scheduled.0);
            schedule.draw();
        }
        assert_eq!(scheduled, [1_010, 1_020, 1_030, 1_040]);
        assert!(schedule.is_over(Nanos(1_000)));
    }

    #[test]
    fn a_closed_loop_ends_with_its_time() {
        let closed = schedule(&json!({"loop": "closed"}));
        assert!(!closed.is_over(Nanos(1_044)) && closed.is_over(Nanos(1_045)));
        let open = schedule(&every_ms());
        assert!(!open.is_over(Nanos(9_999)), "the request scheduled at 1010 has not been sent");
    }

    #[test]
    fn the_outstanding_limit_fills_the_schedule() {
        let mut schedule = schedule(&every_ms());
        for outstanding in 0..3 {
            schedule.outstanding = outstanding;
            assert!(!schedule.is_full());
        }
        schedule.outstanding = 3;
        assert!(schedule.is_full());
    }

    #[test]
    fn the_wait_for_replies_ends_a_timeout_after_the_load() {
        let schedule = schedule(&every_ms());
        assert_eq!(schedule.last_reply_by(Nanos(1_000)), Nanos(1_045 + 1_000_000));
        assert_eq!(schedule.last_reply_by(Nanos(2_000)), Nanos(2_000 + 1_000_000));
        assert!(
            !schedule.is_too_late(Nanos(1_044 + 1_000_000)) && schedule.is_too_late(Nanos(1_045 + 1_000_000))
        );
    }
}
