//! How often each key is asked for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How often each key is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Popularity {
    /// All alike.
    #[default]
    Uniform,
    /// Zipf's law with this exponent: the key of rank r weighs r^-exponent.
    Zipf(f64),
}
