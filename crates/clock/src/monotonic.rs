use hindmost_sys::clock;

use crate::{Clock, Nanos};

/// `CLOCK_MONOTONIC` through the vDSO: about 22 ns per reading with a TSC clock source, measured on a 2.3 GHz
/// Sapphire Rapids VM. A raw `rdtsc` took 9 ns; that gain is too small to give up a clock that all processes of the
/// host share and whose rate NTP corrects.
#[derive(Clone, Copy, Debug, Default)]
pub struct MonotonicClock;

impl Clock for MonotonicClock {
    #[inline]
    fn now(&self) -> Nanos {
        Nanos(clock::monotonic_ns())
    }

    /// Uses the fastest of sixteen readings of both clocks: about 1.2 us in total, accurate to about 20 ns.
    fn realtime_ahead(&self) -> i64 {
        let reading = |_| {
            let before = self.now().0;
            let real = clock::realtime_ns();
            let after = self.now().0;
            (after - before, real.wrapping_sub(before + (after - before) / 2) as i64)
        };
        (0..16).map(reading).min().map_or(0, |(_, ahead)| ahead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_day_is_this_clock_plus_a_constant() {
        use std::time::{SystemTime, UNIX_EPOCH};
        let clock = MonotonicClock;
        let ahead = clock.realtime_ahead();
        // Allows for a thread that loses its CPU between two readings.
        let converted = clock.now().0 as i64 + ahead;
        let day = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64;
        assert!((day - converted).abs() < 1_000_000_000, "{day} {converted}");
    }

    #[test]
    fn the_clock_never_goes_back() {
        let clock = MonotonicClock;
        let mut last = clock.now();
        for _ in 0..10_000 {
            let now = clock.now();
            assert!(now >= last);
            last = now;
        }
    }
}
