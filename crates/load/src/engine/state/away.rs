//! Interruptions of a worker: intervals between two clock readings that took far longer than the worker's own
//! work in them. Another process or the hypervisor had the CPU (interference), at times independent of the
//! server.
//!
//! ```text
//!   readings | | | |                      | | |  w   | | |        w          |
//!   work     none         none           none   call       call
//!                 <--- interruption --->     short enough     <-- interruption -->
//! ```

use hindmost_clock::Nanos;
use schemars::JsonSchema;
use serde::Serialize;

/// Longest uninterrupted interval that contains only one poll for replies. A poll takes 1 µs, an interrupt
/// about 5 µs.
const IDLE: Nanos = Nanos::from_micros(20);

/// Longest uninterrupted interval that contains a read or write call. The slowest calls take about 50 µs (256
/// KiB over loopback). A lower limit would count bursts of replies, which the server causes.
const CALL: Nanos = Nanos::from_micros(200);

/// Most intervals stored. Interruptions of 0.3 ms that use a tenth of the time fill it in three minutes.
pub const ROOM: usize = 1 << 16;

/// Detects interruptions from the clock readings of one worker. A reading costs a subtraction and a
/// comparison.
#[derive(Debug)]
pub struct Away {
    last: Nanos,
    spans: Vec<(Nanos, Nanos)>,
    missed: u64,
}

impl Default for Away {
    fn default() -> Self {
        let mut spans = vec![(Nanos::MAX, Nanos::MAX); ROOM]; // written to, so that its pages are mapped
        spans.clear();
        // Before `begin`, no reading is later than `last`.
        Self { last: Nanos::MAX, spans, missed: 0 }
    }
}

impl Away {
    /// Start detecting interruptions at `now`.
    pub fn begin(&mut self, now: Nanos) {
        self.last = now;
    }

    /// Record a reading after an interval without calls.
    #[inline]
    pub fn record_idle(&mut self, now: Nanos) {
        self.read(now, IDLE);
    }

    /// Record a reading after an interval with one call.
    #[inline]
    pub fn record_call(&mut self, now: Nanos) {
        self.read(now, CALL);
    }

    /// Record a reading after a voluntary sleep, whose length is ignored.
    #[inline]
    pub fn record_sleep(&mut self, now: Nanos) {
        self.last = self.last.max(now);
    }

    #[inline]
    fn read(&mut self, now: Nanos, limit: Nanos) {
        if now.saturating_sub(self.last) > limit {
            self.keep(now);
        }
        // `max`: after a backward clock step, the way back to the old time is no interruption. Nothing counts
        // before `begin`.
        self.last = self.last.max(now);
    }

    #[cold]
    fn keep(&mut self, now: Nanos) {
        if self.spans.len() < ROOM {
            self.spans.push((self.last, now));
        } else {
            self.missed += 1;
        }
    }

    /// Return the interruptions, in nanoseconds since `from`.
    pub fn report(&self, from: Nanos) -> AwayReport {
        let since = |moment: Nanos| moment.0 as i64 - from.0 as i64;
        AwayReport {
            idle_ns: IDLE.0,
            call_ns: CALL.0,
            spans_ns: self.spans.iter().map(|&(on, off)| [since(on), since(off)]).collect(),
            missed: self.missed,
        }
    }
}

/// Interruptions of a worker since the start of the calibration.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct AwayReport {
    /// Limit for an interval without calls; longer ones count as interruptions.
    pub idle_ns: u64,
    /// Limit for an interval with a single call.
    pub call_ns: u64,
    /// Begin and end of each interruption, in order, in nanoseconds since the start of the measurement.
    pub spans_ns: Vec<[i64; 2]>,
    /// Interruptions beyond the storage limit.
    pub missed: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(away: &Away) -> Vec<[i64; 2]> {
        away.report(Nanos(1_000)).spans_ns
    }

    #[test]
    fn the_limit_of_an_interval_depends_on_its_calls() {
        let mut away = Away::default();
        away.record_idle(Nanos(500_000));
        away.begin(Nanos(1_000));
        away.record_idle(Nanos(21_000)); // 20 us without a call
        away.record_idle(Nanos(41_001)); // 1 ns longer
        away.record_call(Nanos(241_001)); // a call of 200 us
        away.record_sleep(Nanos(9_000_000));
        away.record_call(Nanos(9_200_001));
        assert_eq!(spans(&away), [[20_000, 40_001], [8_999_000, 9_199_001]]);
    }

    #[test]
    fn a_backward_clock_step_is_no_interruption() {
        let mut away = Away::default();
        away.begin(Nanos(1_000_000));
        away.record_idle(Nanos(400_000));
        away.record_idle(Nanos(1_010_000));
        assert_eq!(spans(&away), [[0; 2]; 0]);
    }

    #[test]
    fn interruptions_beyond_the_limit_are_counted() {
        let mut away = Away::default();
        away.begin(Nanos(0));
        (1..=ROOM as u64 + 3).for_each(|i| away.record_idle(Nanos(i * 30_000)));
        let report = away.report(Nanos(0));
        assert_eq!((report.spans_ns.len(), report.missed, away.spans.capacity()), (ROOM, 3, ROOM));
    }
}
