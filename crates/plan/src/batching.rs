//! When requests that are due are handed over: each by itself, or several together on their connection (the
//! variability paper, section 6).

use hindmost_clock::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::check::seconds;
use crate::error::{refuse, PlanError};
use crate::{Load, Plan};

/// Which requests of a connection leave together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Batching {
    /// None by design: a request leaves when it is due (`TCP_NODELAY`).
    #[default]
    None,
    /// Those that wait for the acknowledgement of what was sent before: Nagle's algorithm (RFC 896), in the kernel.
    Nagle,
    /// Those that come due within an interval: a batch leaves when its first request is due, but so long after the
    /// batch before it at the earliest (the paper's "modified Nagle's").
    Interval {
        /// Length in seconds.
        seconds: f64,
    },
}

/// Shorter than a system call: nothing would ever be batched.
const SHORTEST_S: f64 = 1e-6;

impl Batching {
    /// The least time between two batches of a connection; zero where the engine makes none.
    pub fn interval(self) -> Nanos {
        match self {
            Self::Interval { seconds } => Nanos::from_secs_f64(seconds),
            Self::None | Self::Nagle => Nanos::ZERO,
        }
    }

    pub(crate) fn check(self, plan: &Plan) -> Result<(), PlanError> {
        if self == Self::None {
            return Ok(());
        }
        if matches!(plan.load, Load::Closed { .. }) {
            let must = "`none` in a closed loop, which has one request on a connection at a time";
            return Err(refuse("batching", self.name(), must));
        }
        let Self::Interval { seconds: length } = self else { return Ok(()) };
        seconds("batching.interval.seconds", length, SHORTEST_S)?;
        if length >= plan.timeout_s {
            let must = format!("below timeout_s ({})", plan.timeout_s);
            return Err(refuse("batching.interval.seconds", length, must));
        }
        Ok(())
    }

    /// As the refusal of a plan names it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "`none`",
            Self::Nagle => "`nagle`",
            Self::Interval { .. } => "`interval`",
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::PlanError;

    fn read(batching: &serde_json::Value, load: &serde_json::Value) -> Result<Batching, PlanError> {
        let plan = json!({
            "schema": crate::SCHEMA, "seed": 1,
            "target": {"protocol": "memcached", "address": "127.0.0.1:1"},
            "load": load, "batching": batching, "timeout_s": 0.5,
        });
        Plan::from_json(&plan.to_string()).map(|plan| plan.batching)
    }

    #[test]
    fn a_batching_that_cannot_be_meant_is_refused_with_its_place() {
        let (open, closed) = (json!({"loop": "open", "rate_per_s": 1.0}), json!({"loop": "closed"}));
        let every = |seconds: f64| json!({"interval": {"seconds": seconds}});
        assert_eq!(read(&every(1e-4), &open), Ok(Batching::Interval { seconds: 1e-4 }));
        assert_eq!(read(&json!("nagle"), &open), Ok(Batching::Nagle));
        assert_eq!(read(&json!("none"), &closed), Ok(Batching::None));
        for (batching, load, field, value) in [
            (every(0.5), &open, "batching.interval.seconds", "0.5"),
            (every(1e-7), &open, "batching.interval.seconds", "0.0000001"),
            (every(1e-4), &closed, "batching", "`interval`"),
            (json!("nagle"), &closed, "batching", "`nagle`"),
        ] {
            assert_eq!(read(&batching, load).unwrap_err().told(), (field, value));
        }
        assert!(
            matches!(read(&json!("cork"), &open), Err(PlanError::Unreadable(said)) if said.contains("`cork`"))
        );
    }
}
