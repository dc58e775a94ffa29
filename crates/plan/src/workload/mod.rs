//! What is sent: mixes, sizes, popularity.

mod http;
mod key_value;
mod popularity;
mod size;

use hindmost_wire::Mix;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use http::{Codes, Http};
pub use key_value::KeyValue;
pub use popularity::Popularity;
pub use size::Size;

/// The requests of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Workload {
    /// Get and set of keys: memcached and redis.
    KeyValue(KeyValue),
    /// GET of paths: HTTP.
    Http(Http),
}

impl Workload {
    /// The requests that it is made of.
    pub const fn mix(&self) -> Mix {
        match self {
            Self::KeyValue(_) => Mix::KEY_VALUE,
            Self::Http(_) => Mix::HTTP,
        }
    }
}

impl Default for Workload {
    fn default() -> Self {
        Self::KeyValue(KeyValue::default())
    }
}
