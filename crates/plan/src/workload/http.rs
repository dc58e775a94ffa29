//! Requests of HTTP.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
