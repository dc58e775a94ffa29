//! The clone document (`hindmost.clone/1`): how a server spends its time, as parameters. One document is served by
//! the synthetic server, run through the queue simulator, and written by the fit; all three take their random
//! numbers from here, so that request `i` under one seed is the same request everywhere.
//!
//! ```text
//!  Document --check, compile--> Program --per request--> Request (kind, service time, noise), lock holds
//!                                      \-per clock-----> Windows (when a thread, or all, stand still)
//! ```
//!
//! A request's way through a server:
//!
//! ```text
//!  arrive -> queue (FCFS) -> a thread takes it
//!         -> each lock with at = "before", in the order of the document: acquire, hold, release
//!         -> service, lengthened by disturbances that hit this request, and by those that arrive meanwhile
//!         -> each lock with at = "after" -> reply
//! ```
//!
//! Disturbances by the clock stop one thread, or all, wherever they are: also while holding a lock, also idle.
//!
//! History of the format: `hindmost.clone/1` (0.1.0) first version; `arrival_us` and `wake_us` came before it was released.

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

/// The schema name that every document carries.
pub const SCHEMA: &str = "hindmost.clone/1";

impl Document {
    /// Reads a document from JSON and checks it as a whole.
    ///
    /// # Errors
    /// [`CloneError`] with the field, the value and what would be right.
    pub fn from_json(text: &str) -> Result<Self, CloneError> {
        let document: Self = serde_json::from_str(text).map_err(|e| CloneError::Unreadable(e.to_string()))?;
        document.check()?;
        Ok(document)
    }

    /// The JSON schema of a document, as text.
    ///
    /// # Panics
    /// Never: the schema of these types is always serialisable.
    pub fn json_schema() -> String {
        serde_json::to_string_pretty(&schemars::schema_for!(Document)).expect("a schema is plain JSON")
    }
}
