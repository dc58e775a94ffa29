//! Sessions: requests in order, with think times between them, as a user makes them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::weighted_kind::WeightedKind;
use crate::error::{refuse, PlanError};

/// Longest think time, in seconds.
const MAX_THINK_S: f64 = 3_600.0;

/// A session makes every request of the list once, in order, each a think time after the reply to the one
/// before. Sessions arrive in an open loop; a request that fails ends its session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// Mean time from a reply to the next request, in seconds: one number for all, or one for each request but
    /// the first.
    pub think_s: ThinkTimes,
    /// Distribution of the think times.
    #[serde(default)]
    pub law: ThinkLaw,
}

/// Mean think times in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ThinkTimes {
    /// The same before each request.
    All(f64),
    /// Before each request but the first.
    Each(Vec<f64>),
}

/// Distribution of think times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ThinkLaw {
    /// Exponential.
    #[default]
    Exponential,
    /// Every think time is the mean.
    Constant,
}

impl Session {
    /// Return the mean think time before request number `step` of a session, in seconds; 0 for the first.
    pub fn think_before(&self, step: usize) -> f64 {
        match (&self.think_s, step) {
            (_, 0) => 0.0,
            (ThinkTimes::All(mean), _) => *mean,
            (ThinkTimes::Each(means), _) => means.get(step - 1).copied().unwrap_or_default(),
        }
    }

    /// Check the think times, and that the requests of `list`, called `field` in errors, have no weights.
    pub(crate) fn check(&self, field: &str, list: &[WeightedKind]) -> Result<(), PlanError> {
        let means = match &self.think_s {
            ThinkTimes::All(mean) => std::slice::from_ref(mean),
            ThinkTimes::Each(means) => means,
        };
        if let Some(wrong) = means.iter().find(|mean| !(0.0..=MAX_THINK_S).contains(*mean)) {
            return Err(refuse(
                "workload.session.think_s",
                wrong,
                format!("between 0 and {MAX_THINK_S} seconds"),
            ));
        }
        if list.len() < 2 {
            return Err(refuse(
                field.to_owned(),
                format!("a list of {}", list.len()),
                "at least two requests",
            ));
        }
        if matches!(&self.think_s, ThinkTimes::Each(means) if means.len() != list.len() - 1) {
            return Err(refuse(
                "workload.session.think_s",
                format!("a list of {}", means.len()),
                format!("one number, or a list of {}: one for each request but the first", list.len() - 1),
            ));
        }
        let weighted = list.iter().position(|one| (one.weight - 1.0).abs() > f64::EPSILON);
        weighted.map_or(Ok(()), |at| {
            let must = "omitted: a session makes every request once";
            Err(refuse(format!("{field}[{at}].weight"), list[at].weight, must))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(think: impl Serialize) -> Session {
        serde_json::from_value(serde_json::json!({"think_s": think})).unwrap()
    }

    fn list(weights: &[f64]) -> Vec<WeightedKind> {
        weights.iter().map(|&weight| WeightedKind { kind: "a".to_owned(), weight }).collect()
    }

    fn milliseconds(session: &Session) -> [u64; 3] {
        [0, 1, 2].map(|step| (1e3 * session.think_before(step)) as u64)
    }

    #[test]
    fn the_first_request_has_no_think_time() {
        let same = session(2.0);
        assert_eq!(milliseconds(&same), [0, 2_000, 2_000]);
        let each = session([0.5, 1.5]);
        assert_eq!(milliseconds(&each), [0, 500, 1_500]);
        assert_eq!(each.law, ThinkLaw::Exponential);
    }

    #[test]
    fn wrong_think_times_and_weights_are_refused_by_field() {
        for (think, weights, field) in [
            (serde_json::json!(-1.0), &[1.0, 1.0][..], "workload.session.think_s"),
            (serde_json::json!(1e9), &[1.0, 1.0], "workload.session.think_s"),
            (serde_json::json!([1.0]), &[1.0, 1.0, 1.0], "workload.session.think_s"),
            (serde_json::json!(1.0), &[1.0], "workload.requests"),
            (serde_json::json!(1.0), &[1.0, 2.0], "workload.requests[1].weight"),
        ] {
            let refused = session(think).check("workload.requests", &list(weights)).unwrap_err();
            assert_eq!(refused.field_and_value().0, field);
        }
        assert_eq!(session(1.0).check("workload.requests", &list(&[1.0, 1.0])), Ok(()));
    }
}
