//! Measures the effective cache sizes of this virtual machine by the knees of a pointer chase, instead of using the
//! advertised sizes.
//!
//! On a machine that advertised 32 MiB of third-level cache, a chase mostly went to memory from 16 MiB on: other
//! guests used the rest.

use hindmost_clock::{Clock, MonotonicClock};
use serde::{Deserialize, Serialize};

use crate::burst::CoreClock;
use crate::memory::Chase;
use crate::work::Work;
use crate::StressorError;

/// Time of one step of a chase through a buffer.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Step {
    /// Size of the buffer in bytes.
    pub bytes: usize,
    /// Time in ticks of the core.
    pub ticks: f64,
    /// Time in nanoseconds.
    pub ns: f64,
}

/// Largest buffers that fit into each cache, in bytes.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Knees {
    /// First level.
    pub l1: usize,
    /// Second level.
    pub l2: usize,
    /// Third level: the part that is available now.
    pub l3: usize,
    /// The measurements; empty if there were none.
    pub steps: Vec<Step>,
}

impl Default for Knees {
    /// Sizes that most servers have at least, for tests and as a fallback.
    fn default() -> Self {
        Self { l1: 32 << 10, l2: 512 << 10, l3: 8 << 20, steps: Vec::new() }
    }
}

impl Knees {
    /// Return a buffer size that no cache can hold.
    pub fn memory(&self) -> usize {
        (4 * self.l3).clamp(32 << 20, 512 << 20)
    }
}

/// Least factor between the time of a step on a plateau and at the next level.
const KNEE: f64 = 1.6;
/// Largest buffer if the first two levels end below it, and the largest if the third level has not ended there.
const LARGEST: [usize; 2] = [32 << 20, 256 << 20];

/// Measure on the calling thread, for about half a second; for some seconds if the third level is larger than 32 MiB.
///
/// # Errors
/// If the kernel provides no memory for the chain that measures the clock.
pub fn knees(seed: u64) -> Result<Knees, StressorError> {
    let mut clock = CoreClock::new()?;
    let mut steps = Vec::new();
    let mut bytes = 8 << 10;
    while bytes <= LARGEST[0] || (bytes <= LARGEST[1] && ends(&steps).len() < 3) {
        steps.push(step(&mut clock, bytes, seed));
        // Two sizes per octave.
        bytes = if bytes.is_power_of_two() { bytes / 2 * 3 } else { bytes / 3 * 4 };
    }
    Ok(knees_of(steps))
}

fn step(clock: &mut CoreClock, bytes: usize, seed: u64) -> Step {
    const STEPS: u32 = 2000;
    const BURSTS: usize = 5;
    let mut chase = Chase::lines(bytes, seed, STEPS);
    let time = MonotonicClock;
    let ghz = clock.ghz();
    // Use the minimum: interference and evictions by other guests only add time.
    let ns = (0..BURSTS)
        .map(|_| {
            let begun = time.now();
            chase.block();
            (time.now().0 - begun.0) as f64 / f64::from(STEPS)
        })
        .fold(f64::INFINITY, f64::min);
    Step { bytes, ticks: ns * ghz, ns }
}

/// Derive the cache sizes from the steps. A level ends where a step first takes [`KNEE`] times as long as on its
/// plateau, and the next plateau begins where steps of two sizes agree again.
pub fn knees_of(steps: Vec<Step>) -> Knees {
    let ends = ends(&steps);
    let fallback = Knees::default();
    let l1 = ends.first().copied().unwrap_or(fallback.l1);
    let l2 = ends.get(1).copied().unwrap_or(fallback.l2).max(2 * l1);
    let l3 = ends.get(2).copied().unwrap_or(fallback.l3).max(2 * l2);
    Knees { l1, l2, l3, steps }
}

/// Return the largest size on each plateau that ends.
fn ends(steps: &[Step]) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut at = 0;
    while at + 1 < steps.len() && ends.len() < 3 {
        let plateau = steps[at].ns;
        let Some(beyond) = (at + 1..steps.len()).find(|&i| steps[i].ns > KNEE * plateau) else {
            break;
        };
        ends.push(steps[beyond - 1].bytes);
        at = beyond;
        while at + 1 < steps.len() && steps[at + 1].ns > 1.2 * steps[at].ns {
            at += 1;
        }
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knees_are_where_the_next_level_begins() {
        let levels =
            [(32, 1.2), (48, 2.5), (1024, 5.0), (1536, 11.0), (12288, 16.0), (16384, 80.0), (1 << 20, 130.0)];
        let level = |kib: usize| levels.iter().find(|(upto, _)| kib <= *upto).unwrap().1;
        let sizes = (3..16).flat_map(|power| [1usize << power, 3 << (power - 1)]);
        let steps = sizes.map(|kib| Step { bytes: kib << 10, ticks: 0.0, ns: level(kib) }).collect();
        let found = knees_of(steps);
        assert_eq!((found.l1 >> 10, found.l2 >> 10, found.l3 >> 10), (32, 1024, 12288));
    }

    #[test]
    fn a_large_third_level_ends_beyond_32_mib() {
        let level = |mib: f64| {
            if mib <= 0.05 {
                1.2
            } else if mib <= 2.0 {
                4.0
            } else if mib <= 105.0 {
                25.0
            } else {
                120.0
            }
        };
        let step = |kib: usize| Step { bytes: kib << 10, ticks: 0.0, ns: level(kib as f64 / 1024.0) };
        let sizes =
            |powers: std::ops::Range<u32>| powers.flat_map(|power| [1usize << power, 3 << (power - 1)]);
        assert_eq!(ends(&sizes(3..15).map(step).collect::<Vec<_>>()).len(), 2);
        let found = knees_of(sizes(3..18).map(step).collect());
        assert_eq!((found.l3 >> 20, found.memory() >> 20), (96, 384));
    }

    #[test]
    fn a_machine_without_knees_gets_default_sizes() {
        let flat = [8, 16, 32].map(|kib| Step { bytes: kib << 10, ticks: 4.0, ns: 1.0 });
        let found = knees_of(flat.to_vec());
        assert!(found.l1 < found.l2 && found.l2 < found.l3);
    }
}
