//! The stressors: one row each.

use std::path::Path;

use serde::Serialize;

use crate::kernel::{Disk, Enter, Fault, Loopback};
use crate::knees::Knees;
use crate::memory::{Chase, Fill, Halves, Lfsr, Mispredict, Touch};
use crate::stream::{round_of, Stream};
use crate::work::Work;
use crate::{Class, StressorError};

/// The resource that a stressor keeps busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// None: it occupies a CPU and waits.
    Nothing,
    /// Execution ports.
    Ports,
    /// The branch predictor.
    Branches,
    /// A cache level, or memory.
    Memory,
    /// Address translation.
    Translation,
    /// The kernel.
    Kernel,
    /// Network or disk.
    Devices,
}

/// A stressor: its name, its resource, and its unit of work.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Stressor {
    /// Name of the stressor.
    pub name: &'static str,
    /// The resource that it stresses.
    pub resource: Resource,
    /// Unit of work.
    pub unit: &'static str,
    /// Whether it is reproduced from the paper.
    pub paper: bool,
    #[serde(skip)]
    make: fn(&Settings<'_>) -> Result<Box<dyn Work>, StressorError>,
}

/// Input for the creation of stressors.
struct Settings<'a> {
    knees: &'a Knees,
    folder: &'a Path,
    seed: u64,
}

/// Steps of a chase per block: 4 us in memory, 2 us in caches.
const FAR_STEPS: u32 = 32;
const NEAR_STEPS: u32 = 128;
/// Lines touched per block: 2 us from memory.
const FAR_LINES: usize = 1024;
const NEAR_LINES: usize = 384;

/// A stressor of execution ports.
struct Port {
    stream: Stream,
    rounds: u64,
}

impl Port {
    fn new(class: Class) -> Result<Self, StressorError> {
        // About 1 to 2 us per block.
        let rounds = match class {
            Class::IntDiv => 2,
            Class::FpDiv => 4,
            _ => 8,
        };
        Ok(Self { stream: Stream::of_class(class, round_of(&[class]))?, rounds })
    }
}

impl Work for Port {
    fn block(&mut self) -> u64 {
        self.stream.run(self.rounds);
        self.rounds * self.stream.units() as u64
    }
}

/// A stressor of code translations: jumps from page to page.
struct Jumps {
    stream: Stream,
}

impl Work for Jumps {
    fn block(&mut self) -> u64 {
        // 0.3 us per round if all misses hit the second-level table.
        const ROUNDS: u64 = 4;
        self.stream.run(ROUNDS);
        ROUNDS * self.stream.units() as u64
    }
}

/// Waits, and leaves nearly all of a shared core to its sibling.
struct Null;

impl Work for Null {
    fn block(&mut self) -> u64 {
        const PAUSES: u64 = 32;
        for _ in 0..PAUSES {
            std::hint::spin_loop();
        }
        PAUSES
    }
}

macro_rules! port {
    ($class:ident) => {
        Stressor {
            name: Class::$class.name(),
            resource: Resource::Ports,
            unit: "instructions",
            paper: false,
            make: |_| Ok(Box::new(Port::new(Class::$class)?)),
        }
    };
}
macro_rules! stressor {
    ($name:literal, $resource:ident, $unit:literal, $make:expr) => {
        stressor!($name, $resource, $unit, false, $make)
    };
    ($name:literal, $resource:ident, $unit:literal, $paper:literal, $make:expr) => {
        Stressor { name: $name, resource: Resource::$resource, unit: $unit, paper: $paper, make: $make }
    };
}

static STRESSORS: &[Stressor] = &[
    stressor!("null", Nothing, "pauses", |_| Ok(Box::new(Null))),
    port!(FpMul),
    port!(FpAdd),
    port!(FpShuffle),
    port!(FpDiv),
    port!(FpLogic),
    port!(VecAdd),
    port!(VecMul),
    port!(IntAdd),
    port!(IntMul),
    port!(IntDiv),
    port!(Branch),
    port!(BranchTaken),
    port!(Load),
    port!(Store),
    stressor!("mispredict", Branches, "branches", |s| Ok(Box::new(Mispredict::new(s.seed)))),
    // Just below each knee: this level is fully used, and the next one not at all.
    stressor!("l1", Memory, "lines", |s| Ok(Box::new(Touch::new(s.knees.l1 * 7 / 8, NEAR_LINES)))),
    stressor!("l2", Memory, "lines", |s| Ok(Box::new(Touch::new(s.knees.l2 * 3 / 4, NEAR_LINES)))),
    stressor!("l3", Memory, "lines", |s| Ok(Box::new(Touch::new(s.knees.l3 * 3 / 4, NEAR_LINES)))),
    stressor!("dram", Memory, "lines", |s| Ok(Box::new(Touch::new(s.knees.memory(), FAR_LINES)))),
    stressor!("dram_write", Memory, "lines", |s| Ok(Box::new(Fill::new(s.knees.memory())))),
    stressor!("l2_chase", Memory, "steps", |s| Ok(Box::new(Chase::lines(
        s.knees.l2 * 3 / 4,
        s.seed,
        NEAR_STEPS
    )))),
    stressor!("l3_chase", Memory, "steps", |s| Ok(Box::new(Chase::lines(
        s.knees.l3 * 3 / 4,
        s.seed,
        FAR_STEPS
    )))),
    stressor!("dram_chase", Memory, "steps", |s| Ok(Box::new(Chase::lines(
        s.knees.memory(),
        s.seed,
        FAR_STEPS
    )))),
    // Twice the pages of the largest first-level table, and more pages than any second-level table has entries.
    stressor!("tlb", Translation, "steps", |s| Ok(Box::new(Chase::pages(256, s.seed, NEAR_STEPS)))),
    stressor!("tlb_walk", Translation, "steps", |s| Ok(Box::new(Chase::pages(8192, s.seed, FAR_STEPS)))),
    // More pages than a first-level instruction table has entries (64 to 256), and few enough lines for any
    // instruction cache.
    stressor!("tlb_code", Translation, "jumps", |_| Ok(Box::new(Jumps { stream: Stream::pages(384)? }))),
    stressor!("kernel_entry", Kernel, "calls", |_| Ok(Box::new(Enter))),
    stressor!("page_fault", Kernel, "pages", |_| Ok(Box::new(Fault))),
    stressor!("loopback", Devices, "datagrams", |_| {
        Ok(Box::new(Loopback::new().map_err(|source| StressorError::Setup { stressor: "loopback", source })?))
    }),
    stressor!("disk", Devices, "writes", |s| {
        Ok(Box::new(Disk::new(s.folder).map_err(|source| StressorError::Setup { stressor: "disk", source })?))
    }),
    stressor!("lfsr_l1", Memory, "accesses", true, |s| Ok(Box::new(Lfsr::new(s.knees.l1, s.seed)))),
    stressor!("lfsr_l2", Memory, "accesses", true, |s| Ok(Box::new(Lfsr::new(s.knees.l2, s.seed)))),
    stressor!("halves_l3", Memory, "lines", true, |s| Ok(Box::new(Halves::new(s.knees.l3)))),
];

/// Return all stressors.
pub fn stressors() -> &'static [Stressor] {
    STRESSORS
}

/// A stressor that is ready to work.
pub struct ReadyStressor {
    /// Its description.
    pub stressor: &'static Stressor,
    pub(crate) work: Box<dyn Work>,
}

impl ReadyStressor {
    /// Create a stressor by name, for caches of these sizes; the disk stressor writes in `folder`.
    ///
    /// # Errors
    /// If there is no stressor of that name, or the CPU or the kernel does not support it.
    pub fn new(name: &str, knees: &Knees, folder: &Path, seed: u64) -> Result<Self, StressorError> {
        let stressor = STRESSORS.iter().find(|one| one.name == name);
        let stressor = stressor.ok_or_else(|| StressorError::Unknown(name.to_owned()))?;
        let work = (stressor.make)(&Settings { knees, folder, seed })?;
        Ok(Self { stressor, work })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stressor_works_and_has_a_unique_name() {
        let knees = Knees { l1: 32 << 10, l2: 256 << 10, l3: 1 << 20, ..Knees::default() };
        let mut names: Vec<&str> = Vec::new();
        for stressor in stressors() {
            let mut made = ReadyStressor::new(stressor.name, &knees, &std::env::temp_dir(), 1).unwrap();
            assert!(made.work.block() > 0, "{}", stressor.name);
            assert!(!names.contains(&stressor.name), "{}", stressor.name);
            names.push(stressor.name);
        }
        assert!(ReadyStressor::new("coffee", &knees, &std::env::temp_dir(), 1).is_err());
    }
}
