//! The noise floor: how much time the host takes from a thread that only wants to run.
//!
//! A thread pinned to one CPU reads the clock in a loop. If two readings are further apart than the cost of a
//! reading, there was a *gap*: an interrupt, another thread, or the hypervisor. Requests that fall into a gap wait
//! for its end, whatever the server does, so no measured tail can be below the one that gaps alone produce.
//!
//! ```text
//!   readings  | | | | | |            | | | | | | |  | | | |
//!                        <-- gap --->             ^ too short to count (1 us)
//!   scheduled here.........x=========>  waits for the rest of the gap
//! ```

mod gaps;
mod sleep;
mod spin;

use std::time::Duration;

use hindmost_clock::Nanos;
use schemars::JsonSchema;
use serde::Serialize;

use crate::counters::CpuTimes;
use crate::Tree;

pub use gaps::Gaps;
pub use sleep::Oversleep;
pub use spin::NoiseFloor;

/// Default length of a spin: long enough to see events that occur a few times a second, including kernel threads,
/// and short enough for every study.
pub const DEFAULT_SPIN: Duration = Duration::from_secs(1);

/// Longest spin: after a minute, nothing new appears.
pub const LONGEST_SPIN: Duration = Duration::from_secs(60);

/// Most CPUs to spin on at a time. A measurement needs at least two; four show whether CPUs differ. All CPUs of a
/// big machine would heat it up and change the result.
const MOST_SPINNERS: usize = 4;

/// CPU time that the host takes away, measured on several CPUs at the same time.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Noise {
    /// One entry per CPU.
    pub floors: Vec<NoiseFloor>,
    /// How late a short sleep ends.
    pub oversleep: Option<Oversleep>,
    /// Fraction of these CPUs' time that the hypervisor took during the spin, at the resolution of ticks.
    pub steal_share: Option<f64>,
}

impl Noise {
    /// Spin for `span` on up to four of `cpus`, spread evenly, then sleep two hundred times on the last of them
    /// (about 40 ms). The caller's affinity and timers stay unchanged.
    pub fn measure(cpus: &[u32], span: Duration) -> Self {
        let chosen = spread(cpus, MOST_SPINNERS);
        let span = Nanos(span.min(LONGEST_SPIN).as_nanos() as u64);
        let tree = Tree::new("/");
        let before = CpuTimes::read(&tree).select(&chosen);
        let floors = spin::on_each(&chosen, span);
        let after = CpuTimes::read(&tree);
        Self {
            floors,
            oversleep: chosen.last().and_then(|&cpu| Oversleep::measure(cpu)),
            steal_share: after.since(&before).steal_share(),
        }
    }

    /// Return the worst CPU: the one with the largest delay at p99.9, then with the most time in gaps.
    pub fn worst(&self) -> Option<&NoiseFloor> {
        let rank = |floor: &NoiseFloor| (floor.gaps.delay_p999_ns, floor.gaps.stolen_ns);
        self.floors.iter().max_by_key(|floor| rank(floor))
    }
}

/// Return at most `most` of `cpus`, including the first and the last.
fn spread(cpus: &[u32], most: usize) -> Vec<u32> {
    let last = cpus.len().saturating_sub(1);
    let count = cpus.len().min(most);
    (0..count).map(|i| cpus[i * last / (count - 1).max(1)]).collect()
}

/// Return the `q` quantile of `sorted` by nearest rank; `None` if it is empty.
fn quantile(sorted: &[Nanos], q: f64) -> Option<Nanos> {
    let rank = (sorted.len() as f64 * q).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_spread_from_the_first_to_the_last() {
        let check = |cpus: &[u32], expected: &[u32]| assert_eq!(spread(cpus, 4), expected);
        check(&[], &[]);
        check(&[5], &[5]);
        check(&[0, 1], &[0, 1]);
        check(&[0, 1, 2, 3], &[0, 1, 2, 3]);
        check(&[0, 1, 2, 3, 4, 5, 6, 7], &[0, 2, 4, 7]);
    }

    #[test]
    fn a_quantile_is_the_nearest_rank() {
        let sorted: Vec<Nanos> = (1..=200).map(Nanos).collect();
        assert_eq!(quantile(&sorted, 0.5), Some(Nanos(100)));
        assert_eq!(quantile(&sorted, 0.99), Some(Nanos(198)));
        assert_eq!(quantile(&sorted, 0.0), Some(Nanos(1)));
        assert_eq!(quantile(&[], 0.5), None);
    }
}
