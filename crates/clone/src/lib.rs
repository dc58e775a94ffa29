//! The clone document (`hindmost.clone/1`): how a server spends its time, as parameters. The synthetic server runs a
//! document, the queue simulator simulates it, and the fit writes it. All use the random numbers of this crate, so
//! that request `i` under one seed is the same request everywhere.
//!
//! ```text
//!  Document --check, compile--> Program --per request--> Request (kind, service time, noise), lock holds
//!                                      \-per clock-----> Windows (pauses of a thread or of all threads)
//! ```
//!
//! The path of a request through a server:
//!
//! ```text
//!  arrive -> queue (FCFS) -> a thread takes it
//!         -> each lock with at = "before", in the order of the document: acquire, hold, release
//!         -> service, prolonged by disturbances of this request and by arrivals during the service
//!         -> each lock with at = "after" -> reply
//! ```
//!
//! Disturbances by the clock stop one thread or all threads at any time: also while they hold a lock or are idle.

pub mod arrivals;
mod check;
mod document;
mod error;
mod knots;
mod law;
mod order;
mod program;
mod utilisation;
mod windows;

pub use document::{
    Component, Disturbance, Document, Kind, Law, LoadDependence, Lock, LockPlace, Order, Origin, Queue,
    Regime, Release, Scope, When,
};
pub use error::CloneError;
pub use law::Quantile;
pub use order::Sequence;
pub use program::{Hold, LockProgram, Program, Request};
pub use utilisation::Utilisation;
pub use windows::Windows;

/// The schema name in every document.
pub const SCHEMA: &str = "hindmost.clone/1";

impl Document {
    /// Read a document from JSON and check it.
    ///
    /// # Errors
    /// [`CloneError`] with the field, the value and the allowed values.
    pub fn from_json(text: &str) -> Result<Self, CloneError> {
        let document: Self = serde_json::from_str(text).map_err(|e| CloneError::Unreadable(e.to_string()))?;
        document.check()?;
        Ok(document)
    }

    /// Return the JSON schema of a document as text.
    ///
    /// # Panics
    /// Never: the schema of these types is always serialisable.
    pub fn json_schema() -> String {
        serde_json::to_string_pretty(&schemars::schema_for!(Document)).expect("a schema is plain JSON")
    }
}
