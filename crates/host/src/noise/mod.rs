//! The noise floor: how much time the host takes away from a thread that only wants to run.
//!
//! A thread bound to one CPU reads the clock again and again. Two readings that lie further apart than
//! a reading costs are a *gap*: an interrupt, another thread, the hypervisor. Whatever the server does,
//! requests that fall into a gap wait for its end, so no measured tail can lie below what gaps alone
//! would make of it.
//!
//! ```text
//!   readings  | | | | | |            | | | | | | |  | | | |
//!                        <-- gap --->             ^ too short to count (1 us)
//!   due here .............x=========>  waits for the rest of the gap
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

/// How long to spin unless asked otherwise: long enough to see what comes a few times a second, the
/// kernel's own workers among it, short enough to be done before every study.
pub const DEFAULT_SPIN: Duration = Duration::from_secs(1);

/// No longer spin than this: nothing shows after a minute that did not before.
pub const LONGEST_SPIN: Duration = Duration::from_secs(60);

/// Spin on at most so many CPUs at a time. Two are what a measurement needs at least, four show whether
/// CPUs differ; all of a big machine would heat it up and change what is measured.
const MOST_SPINNERS: usize = 4;

/// What the host takes away, on some of its CPUs at the same time.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Noise {
    /// One entry a CPU spun on.
    pub floors: Vec<NoiseFloor>,
    /// How late a short sleep ends.
    pub oversleep: Option<Oversleep>,
    /// The share of time that the hypervisor took from these CPUs meanwhile; ticks make it coarse.
    pub steal_share: Option<f64>,
}

impl Noise {
    /// Spins for `span` on up to four of `cpus`, spread evenly, then sleeps two hundred times on the
    /// last of them (about 40 ms). The caller's own affinity and timers stay as they are.
    pub fn measure(cpus: &[u32], span: Duration) -> Self {
        let chosen = spread(cpus, MOST_SPINNERS);
        let span = Nanos(span.min(LONGEST_SPIN).as_nanos() as u64);
        let tree = Tree::new("/");
        let before = CpuTimes::read(&tree).of(&chosen);
        let floors = spin::on_each(&chosen, span);
        let after = CpuTimes::read(&tree);
        Self {
            floors,
            oversleep: chosen.last().and_then(|&cpu| Oversleep::measure(cpu)),
            steal_share: after.since(&before).steal_share(),
        }
    }

    /// The worst of the CPUs: the one whose gaps delay most at p99.9, then on the whole.
    pub fn worst(&self) -> Option<&NoiseFloor> {
        let rank = |floor: &NoiseFloor| (floor.gaps.delay_p999_ns, floor.gaps.stolen_ns);
        self.floors.iter().max_by_key(|floor| rank(floor))
    }
}

/// At most `most` of `cpus`, first and last among them.
fn spread(cpus: &[u32], most: usize) -> Vec<u32> {
    let last = cpus.len().saturating_sub(1);
    let count = cpus.len().min(most);
    (0..count).map(|i| cpus[i * last / (count - 1).max(1)]).collect()
}

/// The value below which the share `q` of `sorted` lies (nearest rank); `None` where it is empty.
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
