//! The document that says what one load instance has to do: types, JSON schema, validation.
//!
//! A plan crosses from Python to Rust as one JSON text (`hindmost.plan/1`) and is refused as a
//! whole, with the field and the value named, before anything is connected or sent.
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
    HotSet, Http, HttpRequest, HttpVersion, KeyNames, KeyValue, Listed, Lognormal, Message, Messages, Normal,
    Order, Popularity, Ranks, Raw, RawRequest, Rows, Size, Sql, Statement, TemplatePart, Until, Words,
    Workload,
};

/// The schema name that every plan carries.
pub const SCHEMA: &str = "hindmost.plan/1";

impl Plan {
    /// Reads a plan and checks it as a whole.
    ///
    /// # Errors
    /// [`PlanError`] with the field, the value and what would be right.
    pub fn from_json(text: &str) -> Result<Self, PlanError> {
        let plan: Self = serde_json::from_str(text).map_err(|e| PlanError::Unreadable(e.to_string()))?;
        plan.check()?;
        Ok(plan)
    }

    /// After how many requests a connection is closed, if that is known: HTTP/1.0 has one on each unless another number
    /// is asked for.
    pub fn carried(&self) -> Option<u64> {
        let one = matches!(&self.workload, Workload::Http(http) if http.version == HttpVersion::One);
        self.requests_per_connection.or(one.then_some(1)).map(u64::from)
    }

    /// The JSON schema of a plan, as text.
    ///
    /// # Panics
    /// Never: the schema of these types is always serialisable.
    pub fn json_schema() -> String {
        serde_json::to_string_pretty(&schemars::schema_for!(Plan)).expect("a schema is plain JSON")
    }
}
