//! How long a worker may sleep.

use hindmost_clock::Nanos;
use hindmost_plan::Pacing;

/// A sleeping worker wakes this long before its due time and spins the rest. Measured here, a sleep
/// in `epoll_pwait2` with a timer slack of 1 ns ends some 10 us late at p50 and 60 us at p99; a
/// longer margin would turn rates of some ten thousand a second into pure spinning.
const MARGIN: Nanos = Nanos::from_micros(30);

/// The longest sleep: what the coordinator sets is read once a turn of the loop.
const LONGEST: Nanos = Nanos::from_millis(20);

/// How long to wait for replies at `now`, when the next thing to do is due at `next`.
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
