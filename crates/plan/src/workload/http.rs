//! Requests of HTTP.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::check::{refuse, PlanError};

/// A mix of HTTP GETs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Http {
    /// The paths, asked for with equal chance.
    pub paths: Vec<String>,
    /// The `Host` header; absent means the target's address.
    pub host: Option<String>,
    /// The status codes that are a success: codes, and classes such as `"2xx"`. What is not among them is an error,
    /// but for 404 and 410, which are misses.
    pub accept: Vec<Codes>,
}

impl Default for Http {
    fn default() -> Self {
        Self { paths: vec!["/".to_owned()], host: None, accept: vec![Codes::Successful] }
    }
}

/// One status code, or a class of them (RFC 9110, 15). Interim replies (1xx) answer nothing and have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Codes {
    /// What was asked for was done.
    #[serde(rename = "2xx")]
    Successful,
    /// To be asked for elsewhere, or unchanged.
    #[serde(rename = "3xx")]
    Redirection,
    /// The request was wrong.
    #[serde(rename = "4xx")]
    ClientError,
    /// The server failed.
    #[serde(rename = "5xx")]
    ServerError,
    /// This one.
    #[serde(untagged)]
    One(u16),
}

impl Codes {
    /// Whether `code` is one of them.
    pub const fn holds(self, code: u16) -> bool {
        match self {
            Self::One(one) => code == one,
            Self::Successful => code / 100 == 2,
            Self::Redirection => code / 100 == 3,
            Self::ClientError => code / 100 == 4,
            Self::ServerError => code / 100 == 5,
        }
    }
}

impl Http {
    pub(super) fn check(&self) -> Result<(), PlanError> {
        if self.paths.is_empty() {
            return Err(refuse("workload.paths", "empty", "a list of at least one path"));
        }
        let clean = |text: &str| text.bytes().all(|b| b.is_ascii_graphic());
        for path in &self.paths {
            if !path.starts_with('/') || !clean(path) {
                let must = "a path that starts with `/` and holds neither spaces nor control characters";
                return Err(refuse("workload.paths", format!("{path:?}"), must));
            }
        }
        if self.accept.is_empty() {
            return Err(refuse("workload.accept", "empty", "a list of status codes, such as [\"2xx\", 304]"));
        }
        for codes in &self.accept {
            if let Codes::One(code @ (..200 | 600..)) = codes {
                return Err(refuse("workload.accept", code, "made of codes from 200 to 599, or of classes"));
            }
        }
        match &self.host {
            Some(host) if host.is_empty() || !clean(host) => {
                Err(refuse("workload.host", format!("{host:?}"), "a host name without spaces"))
            }
            _ => Ok(()),
        }
    }
}
