//! Which stage of the event loop makes requests late.
//!
//! The time of each stage is summed from the last moment without a scheduled request. A late request is
//! attributed to the stage that took most of that time.

use hindmost_clock::Nanos;
use schemars::JsonSchema;
use serde::Serialize;

/// Send delay above which a request is attributed to a stage. Less is the noise of a quiet host, where an
/// interrupt takes about 5 µs.
const LATE: Nanos = Nanos::from_micros(5);

/// A stage of the event loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Writing other requests.
    Writing,
    /// Reading replies.
    Reading,
    /// Polling for replies, which takes almost no time. A request is late here because the worker lost its
    /// CPU or, if it sleeps, woke late.
    Waiting,
}

/// Requests that one stage made late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Late {
    /// Requests sent more than 5 µs late.
    pub requests: u64,
    /// Sum of their send delays.
    pub total_ns: u64,
    /// The longest send delay.
    pub worst_ns: u64,
}

/// Late requests of the measurement, by the stage that delayed them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct LateByStage {
    /// Delayed by writing other requests.
    pub writing: Late,
    /// Delayed by reading replies.
    pub reading: Late,
    /// Delayed while the worker was idle: it lost its CPU, or slept too long.
    pub waiting: Late,
}

/// Tracks the stages of one worker's loop.
#[derive(Debug)]
pub struct Stages {
    now_in: Stage,
    since: Nanos,
    /// Time in each stage, since the last moment without a scheduled request.
    spent: [u64; 3],
    pub late: LateByStage,
}

impl Default for Stages {
    fn default() -> Self {
        Self { now_in: Stage::Waiting, since: Nanos::ZERO, spent: [0; 3], late: LateByStage::default() }
    }
}

impl Stages {
    /// Reset the sums at `now`, when no request is due.
    #[inline]
    pub fn reset(&mut self, now: Nanos) {
        self.spent = [0; 3];
        self.now_in = Stage::Waiting;
        self.since = now;
    }

    /// Enter `stage` at `now`.
    #[inline]
    pub fn enter(&mut self, stage: Stage, now: Nanos) {
        self.spent[self.now_in as usize] += now.saturating_sub(self.since).0;
        self.now_in = stage;
        self.since = now;
    }

    /// Count the current wait as reading, because it returned replies.
    #[inline]
    pub fn enter_reading(&mut self) {
        self.now_in = Stage::Reading;
    }

    /// Attribute the send delay of a measured request to a stage if it is long.
    #[inline]
    pub fn record_send(&mut self, send_delay_ns: u64) {
        if send_delay_ns > LATE.0 {
            self.blame(send_delay_ns);
        }
    }

    fn blame(&mut self, send_delay_ns: u64) {
        let [to_write, to_read, at_rest] = self.spent;
        let late = if at_rest > to_write.max(to_read) {
            &mut self.late.waiting
        } else if to_write >= to_read {
            &mut self.late.writing
        } else {
            &mut self.late.reading
        };
        late.requests += 1;
        late.total_ns += send_delay_ns;
        late.worst_ns = late.worst_ns.max(send_delay_ns);
    }
}

/// A model of an ideal client that does nothing but its write calls, and the send delays it would have. No
/// single-threaded client on this host can be earlier.
#[derive(Debug, Default)]
pub struct Ideal {
    free_at: Nanos,
}

impl Ideal {
    /// Schedule a request and return its send delay in nanoseconds.
    #[inline]
    pub fn schedule(&mut self, scheduled: Nanos) -> u64 {
        self.free_at = self.free_at.max(scheduled);
        self.free_at.saturating_sub(scheduled).0
    }

    /// Add the duration of its write call.
    #[inline]
    pub fn add_write(&mut self, took: Nanos) {
        self.free_at = self.free_at.saturating_add(took);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_request_is_attributed_to_the_longest_stage() {
        let mut stages = Stages::default();
        stages.reset(Nanos(0));
        stages.enter(Stage::Writing, Nanos(100));
        stages.enter(Stage::Waiting, Nanos(15_100));
        stages.record_send(5_000);
        assert_eq!(stages.late, LateByStage::default(), "5 us are not late");
        stages.record_send(9_000);
        stages.enter_reading();
        stages.enter(Stage::Writing, Nanos(40_000));
        stages.record_send(20_000);
        stages.reset(Nanos(50_000));
        stages.enter(Stage::Writing, Nanos(90_000));
        stages.record_send(39_000);
        let one = |ns| Late { requests: 1, total_ns: ns, worst_ns: ns };
        assert_eq!(
            stages.late,
            LateByStage { writing: one(9_000), reading: one(20_000), waiting: one(39_000) }
        );
    }

    /// Lindley's recursion by hand: calls of 10 µs, requests scheduled at 0, 4, 30 and 31 µs.
    #[test]
    fn the_ideal_client_is_delayed_only_by_its_own_calls() {
        let mut ideal = Ideal::default();
        let send_delays: Vec<u64> = [0, 4_000, 30_000, 31_000]
            .map(|scheduled| {
                let send_delay = ideal.schedule(Nanos(scheduled));
                ideal.add_write(Nanos(10_000));
                send_delay
            })
            .to_vec();
        assert_eq!(send_delays, [0, 6_000, 0, 9_000]);
    }
}
