//! How fast the processor is, where no counter of cycles is to be had: a fixed loop, timed.

use std::hint::black_box;

use hindmost_sys::clock::monotonic_ns;
use serde_json::Value;

use super::Collector;
use crate::counters::{Id, Values};

/// Dependent multiplications through the stack: some 4 us, in the first-level cache; a clock reading is 1 % of it.
const STEPS: u32 = 1_000;

/// The loop.
pub(crate) struct Speed;

impl Collector for Speed {
    fn name(&self) -> &'static str {
        "speed"
    }

    fn read(&mut self, values: &mut Values) -> Option<Value> {
        // The fastest of three: a preemption is no slower processor.
        let fastest = (0..3).map(|_| timed()).min().unwrap_or(0);
        values.set(Id::SpeedLoop, fastest);
        None
    }
}

fn timed() -> u64 {
    let begun = monotonic_ns();
    let mut x = black_box(1u64);
    for _ in 0..STEPS {
        // Hidden from the compiler, or it would make one multiplication of them all.
        x = black_box(x).wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
    }
    black_box(x);
    monotonic_ns() - begun
}
