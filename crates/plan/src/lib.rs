//! The document that tells one client what to do: types, JSON schema, validation.
//!
//! A plan crosses from Python to Rust as one JSON text (`hindmost.plan/1`). An invalid plan is refused before
//! anything is connected or sent; the error names the field and its value.
//!
//! History of the format: `hindmost.plan/1` (0.1.0) first version.

mod batching;
mod check;
mod datagrams;
mod document;
mod error;
mod login;
mod target;
mod workload;

pub use batching::Batching;
pub use document::{Io, Keep, Load, Pacing, Phases, Plan, Share, Thread, Warmup};
pub use error::PlanError;
pub use hindmost_wire::{Mix, Protocol};
pub use login::Login;
pub use target::{Sharding, Target, Tls};
pub use workload::{
    kinds, parts, Body, Codes, Command, Commands, Data, Dns, DnsQuery, DnsType, Escape, Extreme, Field,
    HotSet, Http, HttpRequest, HttpVersion, KeyNames, KeyValue, Lognormal, Message, Messages, Normal, Order,
    Popularity, Ranks, Raw, RawRequest, ReplyCheck, Rows, Session, Size, Sql, Statement, TemplatePart,
    ThinkLaw, ThinkTimes, Until, WeightedKind, Words, Workload, MOST_REPLY_CHECKS,
};

/// The schema name of every plan.
pub const SCHEMA: &str = "hindmost.plan/1";

impl Plan {
    /// Read a plan and check it.
    ///
    /// # Errors
    /// [`PlanError`] with the field, its value and the expected value.
    pub fn from_json(text: &str) -> Result<Self, PlanError> {
        let plan: Self = serde_json::from_str(text).map_err(|e| PlanError::Unreadable(e.to_string()))?;
        plan.check()?;
        Ok(plan)
    }

    /// Return the number of requests after which a connection is closed, if it is known. HTTP/1.0 closes after
    /// one request unless the plan sets another number.
    pub fn requests_until_close(&self) -> Option<u64> {
        let one = matches!(&self.workload, Workload::Http(http) if http.version == HttpVersion::One);
        self.requests_per_connection.or(one.then_some(1)).map(u64::from)
    }

    /// Return the JSON schema of a plan as text.
    ///
    /// # Panics
    /// Never: these types can always be serialised as a schema.
    pub fn json_schema() -> String {
        serde_json::to_string_pretty(&schemars::schema_for!(Plan)).expect("a schema is plain JSON")
    }
}
