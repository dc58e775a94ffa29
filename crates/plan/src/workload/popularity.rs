//! How often each key is requested.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Size;
use crate::error::{refuse, PlanError};

/// How often each key is requested. Keys are ranked by their number: the first is the most popular.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Popularity {
    /// All keys equally often.
    #[default]
    Uniform,
    /// One after another, by all workers of all clients together; the first key follows the last.
    Sequential,
    /// Zipf's law with this exponent: the key of rank r has weight r^-exponent.
    Zipf(f64),
    /// Ranks follow the generalised Pareto law, truncated at the number of keys.
    #[serde(alias = "generalized-pareto")]
    GeneralisedPareto(Ranks),
    /// A fraction of the keys gets a fraction of the requests; keys are equally popular inside and outside it.
    HotSet(HotSet),
    /// One weight per key, in their order.
    Weights(Vec<f64>),
}

/// Parameters of a generalised Pareto law of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ranks {
    /// Scale in keys: about this many ranks get most of the requests.
    pub scale: f64,
    /// Shape: above 0, a heavy tail of rarely requested keys.
    pub shape: f64,
}

/// A hot set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HotSet {
    /// Fraction of the keys, 0 to 1; at least one key is hot.
    pub keys: f64,
    /// Fraction of the requests, 0 to 1.
    pub requests: f64,
}

impl HotSet {
    /// Return how many of `keys` keys are hot.
    pub fn hot(&self, keys: u32) -> u32 {
        ((self.keys * f64::from(keys)).round() as u32).clamp(1, keys)
    }
}

impl Popularity {
    pub(super) fn check(&self, keys: u32) -> Result<(), PlanError> {
        let share = |name: &str, value: f64| {
            if (0.0..=1.0).contains(&value) {
                return Ok(());
            }
            Err(refuse(format!("workload.popularity.hot-set.{name}"), value, "between 0 and 1"))
        };
        match self {
            Self::Uniform | Self::Sequential => Ok(()),
            Self::Zipf(s) if s.is_finite() && (0.0..=10.0).contains(s) => Ok(()),
            Self::Zipf(s) => Err(refuse("workload.popularity.zipf", s, "between 0 and 10")),
            Self::GeneralisedPareto(ranks) => {
                let law = super::Extreme {
                    location: 0.0,
                    scale: ranks.scale,
                    shape: ranks.shape,
                    least: 0,
                    most: keys.max(1) - 1,
                };
                let field = "workload.popularity.generalised-pareto";
                Size::GeneralisedPareto(law).check(field, (0, u32::MAX), "keys")
            }
            Self::HotSet(hot) => {
                share("keys", hot.keys)?;
                share("requests", hot.requests)?;
                if hot.hot(keys) == keys && hot.requests < 1.0 {
                    let must = format!("a share that leaves some of the {keys} keys cold");
                    return Err(refuse("workload.popularity.hot-set.keys", hot.keys, must));
                }
                Ok(())
            }
            Self::Weights(weights) => {
                if weights.len() != keys as usize {
                    let value = format!("a list of {}", weights.len());
                    return Err(refuse(
                        "workload.popularity.weights",
                        value,
                        format!("a weight for each of {keys} keys"),
                    ));
                }
                let sum: f64 = weights.iter().sum();
                if weights.iter().all(|w| w.is_finite() && *w >= 0.0) && sum > 0.0 {
                    return Ok(());
                }
                let value = format!("weights that sum to {sum}");
                Err(refuse(
                    "workload.popularity.weights",
                    value,
                    "weights of 0 or more that sum to more than 0",
                ))
            }
        }
    }
}
