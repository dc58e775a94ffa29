//! Who the client is, where a server asks.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is said of the client on each connection, before it carries requests.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Login {
    /// The user. Absent: redis's default user, PostgreSQL's `postgres`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The password. Documents that are kept hold a reference in its place (`env:NAME`, `file:PATH`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// The database: a number for redis, a name for PostgreSQL, where absent is the user's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database: Option<String>,
    /// The version of the protocol, where there are several: 3 for redis's RESP3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<u8>,
}

/// Without the password: a message may show a plan.
impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let password = self.password.as_ref().map(|_| "...");
        f.debug_struct("Login").field("user", &self.user).field("password", &password).finish_non_exhaustive()
    }
}
