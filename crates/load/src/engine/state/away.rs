//! When this worker's processor was away: spans between two readings of the clock that took far longer than what
//! the worker did in them. Others had the processor then (theft), at moments that no server chose.
//!
//! ```text
//!   readings | | | |                    | | |  w   | | |        w          |
//!   done     nothing      nothing       nothing  a call      a call
//!                  <----- away ----->        too short         <-- away -->
//! ```

use hindmost_clock::Nanos;
use schemars::JsonSchema;
use serde::Serialize;

/// A span in which nothing was done but one look for replies. That takes 1 us, and an interrupt some 5 us.
const IDLE: Nanos = Nanos::from_micros(20);

/// A span with a write or read call in it: the slowest take some 50 us (256 KiB over loopback), so that what takes
/// longer was no work of ours. A lower limit would count bursts of replies, which the server makes.
const CALL: Nanos = Nanos::from_micros(200);

/// Spans that there is room for; thefts of 0.3 ms that take a tenth of the time fill it in three minutes.
pub const ROOM: usize = 1 << 16;

/// Follows the readings of one worker's clock. A reading costs a subtraction and a comparison.
#[derive(Debug)]
pub struct Away {
    last: Nanos,
    spans: Vec<(Nanos, Nanos)>,
    missed: u64,
}

impl Default for Away {
    fn default() -> Self {
        let mut spans = vec![(Nanos::MAX, Nanos::MAX); ROOM]; // written, so that its pages are there
        spans.clear();
        // Until it begins, no reading is later than the last one.
        Self { last: Nanos::MAX, spans, missed: 0 }
    }
}

impl Away {
    /// Spans count from `now` on.
    pub fn begin(&mut self, now: Nanos) {
        self.last = now;
    }

    /// Nothing was done since the last reading.
    #[inline]
    pub fn idled(&mut self, now: Nanos) {
        self.read(now, IDLE);
    }

    /// One call was made since the last reading.
    #[inline]
    pub fn called(&mut self, now: Nanos) {
        self.read(now, CALL);
    }

    /// The worker slept of its own will: how long says nothing.
    #[inline]
    pub fn slept(&mut self, now: Nanos) {
        self.last = self.last.max(now);
    }

    #[inline]
    fn read(&mut self, now: Nanos, limit: Nanos) {
        if now.saturating_sub(self.last) > limit {
            self.keep(now);
        }
        // A clock that jumps back must not make the way forth a theft; and nothing counts before the begin.
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

    /// What was seen, in nanoseconds since `from`.
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

/// When a worker's processor was away, from the calibration on.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct AwayReport {
    /// A span without work counts above this length.
    pub idle_ns: u64,
    /// One with a single call in it, above this.
    pub call_ns: u64,
    /// Begin and end of each, in order, in nanoseconds since the measurement began.
    pub spans_ns: Vec<[i64; 2]>,
    /// Spans that there was no room for.
    pub missed: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(away: &Away) -> Vec<[i64; 2]> {
        away.report(Nanos(1_000)).spans_ns
    }

    #[test]
    fn a_span_counts_by_what_was_done_in_it() {
        let mut away = Away::default();
        away.idled(Nanos(500_000));
        away.begin(Nanos(1_000));
        away.idled(Nanos(21_000)); // 20 us of nothing
        away.idled(Nanos(41_001)); // and 1 ns more
        away.called(Nanos(241_001)); // a call of 200 us
        away.slept(Nanos(9_000_000));
        away.called(Nanos(9_200_001));
        assert_eq!(spans(&away), [[20_000, 40_001], [8_999_000, 9_199_001]]);
    }

    #[test]
    fn a_clock_that_jumps_back_makes_no_theft_of_the_way_forth() {
        let mut away = Away::default();
        away.begin(Nanos(1_000_000));
        away.idled(Nanos(400_000));
        away.idled(Nanos(1_010_000));
        assert_eq!(spans(&away), [[0; 2]; 0]);
    }

    #[test]
    fn what_has_no_room_is_counted() {
        let mut away = Away::default();
        away.begin(Nanos(0));
        (1..=ROOM as u64 + 3).for_each(|i| away.idled(Nanos(i * 30_000)));
        let report = away.report(Nanos(0));
        assert_eq!((report.spans_ns.len(), report.missed, away.spans.capacity()), (ROOM, 3, ROOM));
    }
}
