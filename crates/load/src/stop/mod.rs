//! *Until when*: what ends the warm-up. A new rule is one file here and one arm in [`warmup`].

mod fixed;
mod mser;
mod steady;

use hindmost_clock::Nanos;
use hindmost_plan::Warmup;
use schemars::JsonSchema;
use serde::Serialize;

pub use fixed::FixedTime;
pub use mser::mser5;
pub use steady::Steady;

use crate::record::Window;

/// Decides, from what was seen so far, whether a phase is over.
pub trait Stop: Send {
    /// `None` to go on. `windows` are those of the busiest worker, oldest first.
    fn look(&mut self, elapsed: Nanos, windows: &[Window]) -> Option<Ended>;
}

/// How a phase ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// The time that was asked for has passed.
    Elapsed,
    /// The steadiness test was satisfied.
    Steady,
    /// The longest time allowed has passed, and the test was still not satisfied.
    NeverSteady,
}

/// The rule of the plan.
pub fn warmup(plan: &Warmup) -> Box<dyn Stop> {
    match *plan {
        Warmup::Fixed { seconds } => Box::new(FixedTime(Nanos::from_secs_f64(seconds))),
        Warmup::Auto { min_s, max_s } => {
            Box::new(Steady::new(Nanos::from_secs_f64(min_s), Nanos::from_secs_f64(max_s)))
        }
    }
}
