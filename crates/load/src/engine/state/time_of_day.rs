//! The offset between the realtime clock, which the kernel's stamps use, and our monotonic clock.

/// A larger change of the offset means that the clock was set. Two readings of the offset differ by about 20
/// ns, or more if the thread was preempted between them.
const STEP_NS: u64 = 2_000;

/// How far `CLOCK_REALTIME` is ahead of our clock, and how often that changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeOfDay {
    ahead: i64,
    /// Number of steps.
    pub steps: u32,
    /// Size of the largest step.
    pub largest_ns: u64,
}

impl TimeOfDay {
    /// Start with an offset of `ahead`.
    pub fn new(ahead: i64) -> Self {
        Self { ahead, ..Self::default() }
    }

    /// Record a new reading of the offset. Return whether the clock was set since the last reading.
    pub fn sample(&mut self, ahead: i64) -> bool {
        let moved = ahead.abs_diff(self.ahead);
        if moved <= STEP_NS {
            return false;
        }
        self.ahead = ahead;
        self.steps += 1;
        self.largest_ns = self.largest_ns.max(moved);
        true
    }

    /// Convert a realtime stamp to our clock.
    pub fn to_monotonic(self, stamp_ns: u64) -> u64 {
        stamp_ns.wrapping_sub(self.ahead as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_offset_means_that_the_clock_was_set() {
        let mut time = TimeOfDay::new(1_000_000);
        for (ahead, stepped) in [
            (1_000_000, false),
            (1_001_900, false),
            (998_100, false),
            (1_002_100, true),
            (1_002_100, false),
            (-3_600_000_000_000, true),
        ] {
            assert_eq!(time.sample(ahead), stepped, "{ahead}");
        }
        assert_eq!((time.steps, time.largest_ns), (2, 3_600_001_002_100));
        assert_eq!(time.to_monotonic(1_000), 3_600_000_001_000);
    }
}
