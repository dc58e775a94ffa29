//! Where the time of day, in which the kernel stamps, lies on our clock.

/// A time of day that moved by more was set: two readings of its distance differ by some 20 ns, and by
/// more only where the processor was taken away between them.
const STEP_NS: u64 = 2_000;

/// How far `CLOCK_REALTIME` is ahead of our clock, and how often that changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeOfDay {
    ahead: i64,
    /// Times it was set.
    pub steps: u32,
    /// By how much, at most.
    pub largest_ns: u64,
}

impl TimeOfDay {
    /// Starts anew at a distance of `ahead`.
    pub fn new(ahead: i64) -> Self {
        Self { ahead, ..Self::default() }
    }

    /// Takes a new reading of the distance; says whether the time of day was set since the last.
    pub fn look(&mut self, ahead: i64) -> bool {
        let moved = ahead.abs_diff(self.ahead);
        if moved <= STEP_NS {
            return false;
        }
        self.ahead = ahead;
        self.steps += 1;
        self.largest_ns = self.largest_ns.max(moved);
        true
    }

    /// A moment of the time of day on our clock.
    pub fn ours(self, stamp_ns: u64) -> u64 {
        stamp_ns.wrapping_sub(self.ahead as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_day_was_set_when_its_distance_changed() {
        let mut time = TimeOfDay::new(1_000_000);
        for (ahead, stepped) in [
            (1_000_000, false),
            (1_001_900, false),
            (998_100, false),
            (1_002_100, true),
            (1_002_100, false),
            (-3_600_000_000_000, true),
        ] {
            assert_eq!(time.look(ahead), stepped, "{ahead}");
        }
        assert_eq!((time.steps, time.largest_ns), (2, 3_600_001_002_100));
        assert_eq!(time.ours(1_000), 3_600_000_001_000);
    }
}
