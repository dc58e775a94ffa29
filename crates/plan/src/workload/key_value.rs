//! Get and set of keys.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Popularity, Size};

/// A key-value mix. The defaults are small and plain: 90 % gets of 200-byte values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct KeyValue {
    /// How many distinct keys there are.
    pub keys: u32,
    /// The share of gets, 0 to 1; the rest are sets.
    pub get_ratio: f64,
    /// Length of a key in bytes (at most 250, memcached's limit). A key keeps its length.
    pub key_bytes: Size,
    /// Length of a value in bytes.
    pub value_bytes: Size,
    /// How often each key is asked for.
    pub popularity: Popularity,
}

impl Default for KeyValue {
    fn default() -> Self {
        Self {
            keys: 10_000,
            get_ratio: 0.9,
            key_bytes: Size::Fixed(30),
            value_bytes: Size::Fixed(200),
            popularity: Popularity::Uniform,
        }
    }
}
