//! Which status codes of HTTP are a success.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
