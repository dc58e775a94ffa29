//! *When to stop*: rules that end the warm-up. A new rule is one file here and one arm in [`warmup`].

mod fixed_time;
mod mser;
mod steady;

use hindmost_clock::Nanos;
use hindmost_plan::Warmup;
use schemars::JsonSchema;
use serde::Serialize;

pub use fixed_time::FixedTime;
pub use mser::mser5;
pub use steady::Steady;

use crate::record::Window;

/// A rule that decides whether a phase is over.
pub trait Stop: Send {
    /// Return `None` to continue. `windows` are the windows of one worker, oldest first.
    fn decide(&mut self, elapsed: Nanos, windows: &[Window]) -> Option<Ended>;
}

/// How a phase ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// The requested time has passed.
    Elapsed,
    /// The steadiness test succeeded.
    Steady,
    /// The longest allowed time has passed without success of the test.
    NeverSteady,
}

/// Create the rule of the plan.
pub fn warmup(plan: &Warmup) -> Box<dyn Stop> {
    match *plan {
        Warmup::Fixed { seconds } => Box::new(FixedTime(Nanos::from_secs_f64(seconds))),
        Warmup::Auto { min_s, max_s } => {
            Box::new(Steady::new(Nanos::from_secs_f64(min_s), Nanos::from_secs_f64(max_s)))
        }
    }
}
