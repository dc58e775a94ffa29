//! When requests are sent: each at its scheduled time, or several together on their connection
//! (the variability paper, section 6).

use hindmost_clock::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::check::check_seconds;
use crate::error::{refuse, PlanError};
use crate::{Load, Plan};

/// Batching of requests on a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Batching {
    /// No batching: a request is sent at its scheduled time (`TCP_NODELAY`).
    #[default]
    None,
    /// Requests wait until earlier data is acknowledged: Nagle's algorithm (RFC 896), in the kernel.
    Nagle,
    /// A batch is sent when its first request is scheduled, but at least one interval after the previous batch
    /// (the paper's "modified Nagle's").
    Interval {
        /// Length in seconds.
        seconds: f64,
    },
}

/// One microsecond. A shorter interval is less than a system call and would never batch anything.
const SHORTEST_S: f64 = 1e-6;

impl Batching {
    /// Return the minimum time between two batches of a connection; zero if the engine does not batch.
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
        check_seconds("batching.interval.seconds", length, SHORTEST_S)?;
        if length >= plan.timeout_s {
            let must = format!("below timeout_s ({})", plan.timeout_s);
            return Err(refuse("batching.interval.seconds", length, must));
        }
        Ok(())
    }

    /// The name used in error messages.
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
    fn invalid_batching_is_refused_and_its_field_is_named() {
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
            assert_eq!(read(&batching, load).unwrap_err().field_and_value(), (field, value));
        }
        assert!(
            matches!(read(&json!("cork"), &open), Err(PlanError::Unreadable(message)) if message.contains("`cork`"))
        );
    }
}
