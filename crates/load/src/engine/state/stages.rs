//! Which stage of the loop makes requests late.
//!
//! From the last moment at which nothing was due, the time of the loop is added up by stage; a request that
//! leaves late is put down to the stage that took most of it.

use hindmost_clock::Nanos;
use schemars::JsonSchema;
use serde::Serialize;

/// A request that leaves later than this is looked into; less is the noise of a quiet host, where an
/// interrupt takes some 5 us.
const LATE: Nanos = Nanos::from_micros(5);

/// What the loop does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Handing other requests to the kernel.
    Writing,
    /// Taking replies.
    Reading,
    /// Looking for replies. That takes no time worth naming, so a request that came due here is late because
    /// the host had taken the processor away, or, where the worker sleeps, because it woke late.
    Waiting,
}

/// Requests that one stage made late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Late {
    /// How many left more than 5 us late.
    pub requests: u64,
    /// How late, in all.
    pub total_ns: u64,
    /// How late the worst.
    pub worst_ns: u64,
}

/// Late requests of the measurement, by the stage they had to wait for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct LateByStage {
    /// While other requests were handed to the kernel.
    pub writing: Late,
    /// While replies were taken.
    pub reading: Late,
    /// While nothing was done: the processor was away, or the sleep too long.
    pub waiting: Late,
}

/// Follows the loop of one worker.
#[derive(Debug)]
pub struct Stages {
    now_in: Stage,
    since: Nanos,
    /// By stage, since nothing was due last.
    spent: [u64; 3],
    pub late: LateByStage,
}

impl Default for Stages {
    fn default() -> Self {
        Self { now_in: Stage::Waiting, since: Nanos::ZERO, spent: [0; 3], late: LateByStage::default() }
    }
}

impl Stages {
    /// At `now` nothing is due: whatever was late is over.
    #[inline]
    pub fn rest(&mut self, now: Nanos) {
        self.spent = [0; 3];
        self.now_in = Stage::Waiting;
        self.since = now;
    }

    /// `stage` begins at `now`.
    #[inline]
    pub fn enter(&mut self, stage: Stage, now: Nanos) {
        self.spent[self.now_in as usize] += now.saturating_sub(self.since).0;
        self.now_in = stage;
        self.since = now;
    }

    /// What began as waiting has found replies to take.
    #[inline]
    pub fn found(&mut self) {
        self.now_in = Stage::Reading;
    }

    /// A measured request left `slip_ns` after it was due.
    #[inline]
    pub fn sent(&mut self, slip_ns: u64) {
        if slip_ns > LATE.0 {
            self.blame(slip_ns);
        }
    }

    fn blame(&mut self, slip_ns: u64) {
        let [to_write, to_read, at_rest] = self.spent;
        let late = if at_rest > to_write.max(to_read) {
            &mut self.late.waiting
        } else if to_write >= to_read {
            &mut self.late.writing
        } else {
            &mut self.late.reading
        };
        late.requests += 1;
        late.total_ns += slip_ns;
        late.worst_ns = late.worst_ns.max(slip_ns);
    }
}

/// The client that has nothing to do but its write calls: how late its requests would leave. No client of one
/// thread is earlier on this host, whatever it does with replies.
#[derive(Debug, Default)]
pub struct Ideal {
    free_at: Nanos,
}

impl Ideal {
    /// A request is due; returns how late it leaves.
    #[inline]
    pub fn due(&mut self, due: Nanos) -> u64 {
        self.free_at = self.free_at.max(due);
        self.free_at.saturating_sub(due).0
    }

    /// Its write call took so long.
    #[inline]
    pub fn wrote(&mut self, took: Nanos) {
        self.free_at = self.free_at.saturating_add(took);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_request_is_put_down_to_what_took_most_of_its_time() {
        let mut stages = Stages::default();
        stages.rest(Nanos(0));
        stages.enter(Stage::Writing, Nanos(100));
        stages.enter(Stage::Waiting, Nanos(15_100));
        stages.sent(5_000);
        assert_eq!(stages.late, LateByStage::default(), "5 us are not late");
        stages.sent(9_000);
        stages.found();
        stages.enter(Stage::Writing, Nanos(40_000));
        stages.sent(20_000);
        stages.rest(Nanos(50_000));
        stages.enter(Stage::Writing, Nanos(90_000));
        stages.sent(39_000);
        let one = |ns| Late { requests: 1, total_ns: ns, worst_ns: ns };
        assert_eq!(
            stages.late,
            LateByStage { writing: one(9_000), reading: one(20_000), waiting: one(39_000) }
        );
    }

    /// Lindley's recursion by hand: calls of 10 us, requests due at 0, 4, 30 and 31 us.
    #[test]
    fn the_ideal_client_is_late_by_its_own_calls_only() {
        let mut ideal = Ideal::default();
        let slips: Vec<u64> = [0, 4_000, 30_000, 31_000]
            .map(|due| {
                let slip = ideal.due(Nanos(due));
                ideal.wrote(Nanos(10_000));
                slip
            })
            .to_vec();
        assert_eq!(slips, [0, 6_000, 0, 9_000]);
    }
}
