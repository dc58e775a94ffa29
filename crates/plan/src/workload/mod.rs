//! What is sent: mixes, sizes, popularity.

mod codes;
mod data;
mod files;
mod http;
mod key_names;
mod key_value;
mod listed;
mod nearest;
mod popularity;
mod refusals;
mod size;
mod spelling;
mod template;

use hindmost_wire::Mix;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use codes::Codes;
pub use data::{Data, Order, Rows};
pub use http::{Body, Http, HttpRequest, HttpVersion};
pub use key_names::KeyNames;
pub use key_value::KeyValue;
pub use listed::{kinds, Listed};
pub use popularity::{HotSet, Popularity, Ranks};
pub use size::{Extreme, Lognormal, Normal, Size};
pub use template::{parts, Escape, Field, TemplatePart};

use crate::check::PlanError;

/// The requests of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Workload {
    /// Get and set of keys: memcached and redis.
    KeyValue(KeyValue),
    /// Requests of HTTP.
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

    /// The names of its kinds of requests; a kind's place here is its number.
    pub fn kinds(&self) -> Vec<String> {
        match self {
            Self::KeyValue(_) => vec!["get".to_owned(), "set".to_owned()],
            Self::Http(http) => kinds(&http.listed()),
        }
    }

    /// Checks what the types cannot.
    pub(crate) fn check(&self) -> Result<(), PlanError> {
        match self {
            Self::KeyValue(mix) => mix.check(),
            Self::Http(mix) => mix.check(),
        }
    }

    /// With all files read that it names, so that nothing is opened later, and with templates that are right.
    ///
    /// # Errors
    /// [`PlanError`], which names the file and its line.
    pub fn opened(mut self) -> Result<Self, PlanError> {
        match &mut self {
            Self::KeyValue(mix) => {
                if let Some(names) = &mix.key_names {
                    let names = names.read(&mix.key_prefix)?;
                    mix.keys = names.len() as u32;
                    mix.key_names = Some(KeyNames::List(names));
                    mix.check()?;
                }
            }
            Self::Http(http) => http.read_files()?,
        }
        Ok(self)
    }
}

impl Default for Workload {
    fn default() -> Self {
        Self::KeyValue(KeyValue::default())
    }
}
