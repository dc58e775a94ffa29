//! HTTP status codes that count as success.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One status code, or a class of them (RFC 9110, 15). Interim replies (1xx) are not final and have no class here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Codes {
    /// Success.
    #[serde(rename = "2xx")]
    Successful,
    /// Redirection, or not modified.
    #[serde(rename = "3xx")]
    Redirection,
    /// Client error.
    #[serde(rename = "4xx")]
    ClientError,
    /// Server error.
    #[serde(rename = "5xx")]
    ServerError,
    /// A single code.
    #[serde(untagged)]
    One(u16),
}

impl Codes {
    /// Whether `code` belongs to these codes.
    pub const fn contains(self, code: u16) -> bool {
        match self {
            Self::One(one) => code == one,
            Self::Successful => code / 100 == 2,
            Self::Redirection => code / 100 == 3,
            Self::ClientError => code / 100 == 4,
            Self::ServerError => code / 100 == 5,
        }
    }
}
