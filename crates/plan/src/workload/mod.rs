//! The workload of a plan: requests, sizes, popularity.

mod codes;
mod commands;
mod data;
mod dns;
mod files;
mod http;
mod key_names;
mod key_value;
mod messages;
mod nearest;
mod popularity;
mod raw;
mod reply_checks;
mod request_checks;
mod session;
mod size;
mod spelling;
mod sql;
mod template;
mod weighted_kind;

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
pub use messages::{Message, Messages};
pub use popularity::{HotSet, Popularity, Ranks};
pub use raw::{Raw, RawRequest, Until};
pub use reply_checks::{ReplyCheck, MOST_REPLY_CHECKS};
pub use session::{Session, ThinkLaw, ThinkTimes};
pub use size::{Extreme, Lognormal, Normal, Size};
pub use sql::{Sql, Statement};
pub use template::{parts, Escape, Field, TemplatePart};
pub use weighted_kind::{kinds, WeightedKind};

use crate::error::PlanError;

/// The requests of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Workload {
    /// Get and set: memcached and redis.
    KeyValue(KeyValue),
    /// HTTP requests.
    Http(Http),
    /// Arbitrary commands: redis.
    Commands(Commands),
    /// SQL statements: PostgreSQL.
    Sql(Sql),
    /// WebSocket messages.
    Messages(Messages),
    /// Arbitrary bytes.
    Raw(Raw),
    /// DNS queries.
    Dns(Dns),
}

impl Workload {
    /// Return the kind of requests that the workload consists of.
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

    /// Return the names of the kinds of requests; the index of a kind is its number.
    pub fn kinds(&self) -> Vec<String> {
        match self.weighted_kinds() {
            Some((list, _)) => kinds(&list),
            None => vec!["get".to_owned(), "set".to_owned()],
        }
    }

    /// Check what the types cannot express.
    pub(crate) fn check(&self) -> Result<(), PlanError> {
        self.check_requests()?;
        match (self.session(), self.weighted_kinds()) {
            (Some(session), Some((list, _))) => session.check(self.list_field(), &list),
            _ => Ok(()),
        }
    }

    fn check_requests(&self) -> Result<(), PlanError> {
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

    /// Return how the requests form sessions, if they do.
    pub const fn session(&self) -> Option<&Session> {
        match self {
            Self::Http(http) => http.session.as_ref(),
            Self::Commands(commands) => commands.session.as_ref(),
            Self::Sql(sql) => sql.session.as_ref(),
            Self::Messages(all) => all.session.as_ref(),
            Self::Raw(raw) => raw.session.as_ref(),
            Self::KeyValue(_) | Self::Dns(_) => None,
        }
    }

    /// Return the number of requests that each arrival brings: those of a session, or one.
    pub fn requests_per_arrival(&self) -> u32 {
        let list = self.session().and_then(|_| self.weighted_kinds());
        list.map_or(1, |(list, _)| list.len() as u32)
    }

    /// Return the key of the list of requests.
    fn list_field(&self) -> &'static str {
        match self {
            Self::Http(http) if http.requests.is_empty() => "workload.paths",
            Self::Commands(_) => "workload.commands",
            Self::Sql(_) => "workload.statements",
            _ => "workload.requests",
        }
    }

    /// Return the list that requests are drawn from and the data of their fields, if the workload is a list.
    pub fn weighted_kinds(&self) -> Option<(Vec<WeightedKind>, Option<&Data>)> {
        match self {
            Self::KeyValue(_) => None,
            Self::Http(http) => Some((http.weighted_kinds(), http.data.as_ref())),
            Self::Commands(commands) => Some((commands.weighted_kinds(), commands.data.as_ref())),
            Self::Sql(sql) => Some((sql.weighted_kinds(), sql.data.as_ref())),
            Self::Messages(all) => Some((all.weighted_kinds(), all.data.as_ref())),
            Self::Raw(raw) => Some((raw.weighted_kinds(), raw.data.as_ref())),
            Self::Dns(dns) => Some((dns.weighted_kinds(), dns.data.as_ref())),
        }
    }

    /// Read all files that the workload names, so that nothing is opened later, and check the templates.
    ///
    /// # Errors
    /// [`PlanError`], which names the file and its line.
    pub fn load_files(mut self) -> Result<Self, PlanError> {
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
