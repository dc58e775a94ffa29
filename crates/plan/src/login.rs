//! Authentication of the client.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Credentials that the client sends on each new connection before its first request.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Login {
    /// The user. Absent: redis's default user, PostgreSQL's `postgres`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The password. Stored documents hold a reference instead (`env:NAME`, `file:PATH`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// The database: a number for redis, a name for PostgreSQL. Absent: the user's database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database: Option<String>,
    /// The protocol version, if there are several: 3 for redis's RESP3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<u8>,
}

/// Hides the password, because a message may show a plan.
impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let password = self.password.as_ref().map(|_| "...");
        f.debug_struct("Login").field("user", &self.user).field("password", &password).finish_non_exhaustive()
    }
}
