//! Sessions of one worker: when the next request of each is due.
//!
//! ```text
//! arrival ──► request 0 ──► reply ──► think ──► request 1 ──► reply ──► ... ──► last reply: completed
//!                           `── error, timeout or no reply: failed
//! ```
//!
//! The load is open in sessions: they arrive whether or not earlier ones are answered. Each follow-up request is
//! scheduled one think time after the reply before it, and its latency counts from that time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use hindmost_clock::{Nanos, Rate};
use hindmost_histogram::Histogram;
use hindmost_plan::{Plan, Session, ThinkLaw};
use hindmost_random::Draws;

use crate::record::SessionRecord;

/// The purpose of the random words of think times; no field of a request has this number.
const THINK: u32 = u32::MAX;
/// Most sessions whose memory is allocated beforehand.
const ALLOCATED: usize = 1 << 16;

/// The sessions that have begun and have not ended.
#[derive(Debug)]
pub struct Sessions {
    seed: u64,
    /// Mean think time before each request, in nanoseconds.
    think_ns: Vec<f64>,
    law: ThinkLaw,
    /// Follow-up requests by due time.
    due: BinaryHeap<Reverse<(u64, u32)>>,
    /// Scheduled time of the first request of each session.
    begun: HashMap<u32, u64>,
    record: SessionRecord,
}

impl Sessions {
    /// Create the sessions of a plan with `connections` connections; `None` if its requests form none.
    pub fn of(plan: &Plan) -> Option<Self> {
        let session = plan.workload.session()?;
        let think_ns = Self::think_times(plan, session);
        let room = Self::room(plan, &think_ns);
        Some(Self {
            seed: plan.seed,
            think_ns,
            law: session.law,
            due: BinaryHeap::with_capacity(room),
            begun: HashMap::with_capacity(room),
            record: SessionRecord::default(),
        })
    }

    /// Return the mean think time before each request of a session, in nanoseconds.
    fn think_times(plan: &Plan, session: &Session) -> Vec<f64> {
        let length = plan.workload.requests_per_arrival() as usize;
        (0..length).map(|step| 1e9 * session.think_before(step)).collect()
    }

    /// Return the number of sessions whose memory is allocated beforehand: four times the expected number.
    fn room(plan: &Plan, think_ns: &[f64]) -> usize {
        let per_s = plan.load.rate().map_or(0.0, Rate::get) / think_ns.len() as f64;
        let lasts_s = think_ns.iter().sum::<f64>() / 1e9 + plan.timeout_s;
        ((4.0 * per_s * lasts_s) as usize).min(ALLOCATED)
    }

    /// Return the memory of the sessions of one worker, in bytes.
    pub fn bytes(plan: &Plan) -> usize {
        let each = size_of::<(u64, u32)>() + 2 * size_of::<(u32, u64)>();
        plan.workload.session().map_or(0, |session| {
            Histogram::BYTES + each * Self::room(plan, &Self::think_times(plan, session))
        })
    }

    fn length(&self) -> u32 {
        self.think_ns.len() as u32
    }

    /// Begin the session of request `item`, which is scheduled at `scheduled`.
    pub fn begin(&mut self, item: u32, scheduled: Nanos) {
        self.begun.insert(item / self.length(), scheduled.0);
    }

    /// Handle the answer, at `now`, to request `item`: schedule the next request, or complete the session if it
    /// was the last. `measured` tells whether a session that began then counts.
    pub fn answer(&mut self, item: u32, now: Nanos, measured: impl Fn(Nanos) -> bool) {
        let step = (item + 1) % self.length();
        if step > 0 {
            let due = now.0.saturating_add(self.think(item + 1, step as usize));
            self.due.push(Reverse((due, item + 1)));
        } else if let Some(begun) = self.begun.remove(&(item / self.length())) {
            if measured(Nanos(begun)) {
                self.record.record_completed(now.0.saturating_sub(begun));
            }
        }
    }

    /// Return the think time before request `item`, number `step` of its session, in nanoseconds.
    fn think(&self, item: u32, step: usize) -> u64 {
        let mean = self.think_ns[step];
        match self.law {
            ThinkLaw::Constant => mean as u64,
            ThinkLaw::Exponential => (-mean * Draws::new(self.seed, u64::from(item)).unit(THINK).ln()) as u64,
        }
    }

    /// Return the due time and number of the first follow-up request.
    pub fn first_due(&self) -> Option<(Nanos, u32)> {
        self.due.peek().map(|&Reverse((due, item))| (Nanos(due), item))
    }

    /// Remove the first follow-up request, which is being sent.
    pub fn take_due(&mut self) {
        self.due.pop();
    }

    /// End all sessions after the load, and return their records. Sessions that wait for a think time are cut
    /// off; the others without a last reply have failed.
    pub fn finish(mut self, measured: impl Fn(Nanos) -> bool) -> SessionRecord {
        let length = self.length();
        let waiting = self.due.iter().filter_map(|Reverse((_, item))| self.begun.get(&(item / length)));
        let cut_off = waiting.filter(|&&begun| measured(Nanos(begun))).count();
        let left = self.begun.values().filter(|&&begun| measured(Nanos(begun))).count();
        self.record.record_others((left - cut_off) as u64, cut_off as u64);
        self.record
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::engine::tests::{every_ms, plan};
    use crate::record::SessionCounts;

    fn sessions(think_s: &serde_json::Value, law: &str) -> Sessions {
        let changes = json!({
            "target": {"protocol": "http", "address": "127.0.0.1:1"},
            "workload": {"kind": "http", "paths": ["/a", "/b", "/c"], "session": {"think_s": think_s, "law": law}},
        });
        Sessions::of(&plan(1, &every_ms(), &changes)).unwrap()
    }

    #[test]
    fn each_request_is_due_a_think_time_after_the_reply_before_it() {
        let mut sessions = sessions(&json!([1e-6, 3e-6]), "constant");
        sessions.begin(6, Nanos(100));
        sessions.begin(9, Nanos(200));
        let always = |_| true;
        sessions.answer(9, Nanos(500), always);
        sessions.answer(6, Nanos(300), always);
        assert_eq!(sessions.first_due(), Some((Nanos(1_300), 7)));
        sessions.take_due();
        assert_eq!(sessions.first_due(), Some((Nanos(1_500), 10)));
        sessions.answer(7, Nanos(1_400), always);
        sessions.take_due();
        assert_eq!(sessions.first_due(), Some((Nanos(4_400), 8)));
        sessions.take_due();
        sessions.answer(8, Nanos(4_500), always);
        let record = sessions.finish(always);
        // Request 10 was never answered.
        assert_eq!(record.counts, SessionCounts { begun: 2, completed: 1, failed: 1, cut_off: 0 });
        assert_eq!((record.durations.max(), record.durations.censored()), (Some(4_400), 1));
    }

    #[test]
    fn the_end_of_the_load_cuts_sessions_off_and_only_measured_ones_count() {
        let mut sessions = sessions(&json!(1.0), "exponential");
        for (session, begun) in [(0, 10), (1, 20), (2, 30)] {
            sessions.begin(3 * session, Nanos(begun));
            sessions.answer(3 * session, Nanos(begun + 5), |_| true);
        }
        let record = sessions.finish(|begun| begun.0 >= 20);
        assert_eq!(record.counts, SessionCounts { begun: 2, completed: 0, failed: 0, cut_off: 2 });
        assert_eq!((record.durations.count(), record.durations.censored()), (2, 2));
    }

    #[test]
    fn exponential_think_times_have_their_mean_and_follow_from_the_seed() {
        let sessions = sessions(&json!(2.0), "exponential");
        let all: Vec<f64> = (0..10_000).map(|item| sessions.think(3 * item + 1, 1) as f64 / 1e9).collect();
        let mean = all.iter().sum::<f64>() / 1e4;
        // Five standard errors of the mean of 10,000 exponential times: 5 * 2 / 100.
        assert!((mean - 2.0).abs() < 0.1, "{mean}");
        assert_eq!(sessions.think(1, 1), sessions.think(1, 1));
    }
}
