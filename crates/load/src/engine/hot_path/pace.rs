//! How long a worker may sleep.

use hindmost_clock::Nanos;
use hindmost_plan::Pacing;

/// A sleeping worker wakes this long before its scheduled time and spins for the rest. With a timer slack of
/// 1 ns, we measured that a sleep in `epoll_pwait2` ends 10 µs late at p50 and 60 µs late at p99. A longer
/// margin would make workers spin all the time at rates of 10,000/s.
const MARGIN: Nanos = Nanos::from_micros(30);

/// The longest sleep: the coordinator's settings are read once per iteration of the loop.
const LONGEST: Nanos = Nanos::from_millis(20);

/// Return how long to wait for replies at `now`, if the next action is due at `next`.
#[inline]
pub fn sleep(pacing: Pacing, now: Nanos, next: Nanos) -> Nanos {
    match pacing {
        Pacing::Spin => Nanos::ZERO,
        Pacing::Sleep => next.saturating_sub(now).saturating_sub(MARGIN).min(LONGEST),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleeper_wakes_before_it_is_due_and_a_spinner_never_sleeps() {
        let (now, next) = (Nanos(0), Nanos::from_micros(100));
        assert_eq!(sleep(Pacing::Spin, now, next), Nanos::ZERO);
        assert_eq!(sleep(Pacing::Sleep, now, next), Nanos::from_micros(70));
        assert_eq!(sleep(Pacing::Sleep, now, Nanos::from_micros(10)), Nanos::ZERO);
        assert_eq!(sleep(Pacing::Sleep, now, Nanos::MAX), LONGEST);
    }
}
