//! Speed of the CPU without a cycle counter: the duration of a fixed loop.

use std::hint::black_box;

use hindmost_sys::clock::monotonic_ns;
use serde_json::Value;

use super::Collector;
use crate::counters::{Id, Values};

/// Dependent multiplications through the stack: about 4 µs, in the first-level cache. A clock reading is 1 % of that.
const STEPS: u32 = 1_000;

/// The timed loop.
pub(crate) struct Speed;

impl Collector for Speed {
    fn name(&self) -> &'static str {
        "speed"
    }

    fn read(&mut self, values: &mut Values) -> Option<Value> {
        // Take the fastest of three: a preemption does not slow the CPU down.
        let fastest = (0..3).map(|_| time_loop()).min().unwrap_or(0);
        values.set(Id::SpeedLoop, fastest);
        None
    }
}

fn time_loop() -> u64 {
    let start = monotonic_ns();
    let mut x = black_box(1u64);
    for _ in 0..STEPS {
        // Hide the value from the compiler, which would otherwise combine the multiplications.
        x = black_box(x).wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
    }
    black_box(x);
    monotonic_ns() - start
}
