//! What is sent: mixes, sizes, popularity.

mod codes;
mod commands;
mod data;
mod dns;
mod files;
mod http;
mod key_names;
mod key_value;
mod listed;
mod messages;
mod nearest;
mod popularity;
mod raw;
mod refusals;
mod size;
mod spelling;
mod sql;
mod template;

use hindmost_wire::Mix;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use codes::Codes;
pub use commands::{Command, Commands, Words};
pub use data::{Data, Order, Rows};
pub use dns::{Dns, DnsQuery, DnsType};
pub use http::{Body, Http, HttpRequest, HttpVersion};
pub use key_names::KeyNames;
pub use key_value::KeyValue;
pub use listed::{kinds, Listed};
pub use messages::{Message, Messages};
pub use popularity::{HotSet, Popularity, Ranks};
pub use raw::{Raw, RawRequest, Until};
pub use size::{Extreme, Lognormal, Normal, Size};
pub use sql::{Sql, Statement};
pub use template::{parts, Escape, Field, TemplatePart};

use crate::error::PlanError;

/// The requests of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Workload {
    /// Get and set of keys: memcached and redis.
    KeyValue(KeyValue),
    /// Requests of HTTP.
    Http(Http),
    /// Any commands: redis.
    Commands(Commands),
    /// Statements of SQL: PostgreSQL.
    Sql(Sql),
    /// Messages: WebSocket.
    Messages(Messages),
    /// Any bytes.
    Raw(Raw),
    /// Questions of DNS.
    Dns(Dns),
}

impl Workload {
    /// The requests that it is made of.
    pub const fn mix(&self) -> Mix {
        match self {
            Self::KeyValue(_) => Mix::KEY_VALUE,
            Self::Http(_) => Mix::HTTP,
            Self::Commands(_) => Mix::COMMANDS,
            Self::Sql(_) => Mix::SQL,
            Self::Messages(_) => Mix::MESSAGES,
            Self::Raw(_) => Mix::RAW,
            Self::Dns(_) => Mix::DNS,
        }
    }

    /// The names of its kinds of requests; a kind's place here is its number.
    pub fn kinds(&self) -> Vec<String> {
        match self.listed() {
            Some((list, _)) => kinds(&list),
            None => vec!["get".to_owned(), "set".to_owned()],
        }
    }

    /// Checks what the types cannot.
    pub(crate) fn check(&self) -> Result<(), PlanError> {
        match self {
            Self::KeyValue(mix) => mix.check(),
            Self::Http(mix) => mix.check(),
            Self::Commands(mix) => mix.check(),
            Self::Sql(mix) => mix.check(),
            Self::Messages(mix) => mix.check(),
            Self::Raw(mix) => mix.check(),
            Self::Dns(mix) => mix.check(),
        }
    }

    /// The list that requests are drawn from, and the data of their fields, where it is one.
    pub fn listed(&self) -> Option<(Vec<Listed>, Option<&Data>)> {
        match self {
            Self::KeyValue(_) => None,
            Self::Http(http) => Some((http.listed(), http.data.as_ref())),
            Self::Commands(commands) => Some((commands.listed(), commands.data.as_ref())),
            Self::Sql(sql) => Some((sql.listed(), sql.data.as_ref())),
            Self::Messages(all) => Some((all.listed(), all.data.as_ref())),
            Self::Raw(raw) => Some((raw.listed(), raw.data.as_ref())),
            Self::Dns(dns) => Some((dns.listed(), dns.data.as_ref())),
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
            Self::Commands(commands) => commands.read_files()?,
            Self::Sql(sql) => sql.read_files()?,
            Self::Messages(all) => all.read_files()?,
            Self::Raw(raw) => raw.read_files()?,
            Self::Dns(dns) => dns.read_files()?,
        }
        Ok(self)
    }
}

impl Default for Workload {
    fn default() -> Self {
        Self::KeyValue(KeyValue::default())
    }
}
