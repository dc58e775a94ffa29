//! What is sent: mixes, sizes, popularity.

mod http;
mod key_names;
mod key_value;
mod popularity;
mod size;
mod spelling;

use hindmost_wire::Mix;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use http::{Codes, Http};
pub use key_names::KeyNames;
pub use key_value::KeyValue;
pub use popularity::{HotSet, Popularity, Ranks};
pub use size::{Extreme, Lognormal, Normal, Size};

use crate::check::PlanError;

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

    /// Checks what the types cannot.
    pub(crate) fn check(&self) -> Result<(), PlanError> {
        match self {
            Self::KeyValue(mix) => mix.check(),
            Self::Http(mix) => mix.check(),
        }
    }

    /// With all files read that it names, so that nothing is opened later.
    ///
    /// # Errors
    /// [`PlanError`], which names the file and its line.
    pub fn opened(mut self) -> Result<Self, PlanError> {
        if let Self::KeyValue(mix) = &mut self {
            if let Some(names) = &mix.key_names {
                let names = names.read(&mix.key_prefix)?;
                mix.keys = names.len() as u32;
                mix.key_names = Some(KeyNames::List(names));
                mix.check()?;
            }
        }
        Ok(self)
    }
}

impl Default for Workload {
    fn default() -> Self {
        Self::KeyValue(KeyValue::default())
    }
}
