//! How long keys and values are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A distribution of sizes in bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Size {
    /// Uniform over `[low, high]`, both included.
    Uniform(u32, u32),
    /// One of several sizes: `[[bytes, weight], ...]`.
    Choice(Vec<(u32, f64)>),
    /// Always the same: a plain number.
    #[serde(untagged)]
    Fixed(u32),
}

impl Size {
    /// The largest size that can be drawn.
    pub fn largest(&self) -> u32 {
        match self {
            Self::Fixed(n) => *n,
            Self::Uniform(_, high) => *high,
            Self::Choice(options) => options.iter().map(|&(n, _)| n).max().unwrap_or(0),
        }
    }

    /// The smallest size that can be drawn.
    pub fn smallest(&self) -> u32 {
        match self {
            Self::Fixed(n) => *n,
            Self::Uniform(low, _) => *low,
            Self::Choice(options) => options.iter().map(|&(n, _)| n).min().unwrap_or(0),
        }
    }
}
