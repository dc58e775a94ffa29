//! Errors of the harvest queries.

use thiserror::Error;

/// An error of a harvest query.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum HarvestError {
    /// The document is not valid JSON of the expected shape.
    #[error("the document cannot be read: {0}")]
    Unreadable(String),
    /// A file of traces cannot be read.
    #[error("{0}")]
    File(String),
    /// The number of values does not match the number of tenants and slots.
    #[error("{values} values do not make {tenants} traces of {slots} slots")]
    Shape {
        /// Number of values.
        values: usize,
        /// Number of traces.
        tenants: usize,
        /// Slots per trace.
        slots: usize,
    },
    /// The traces are too short to distinguish a period from chance.
    #[error("traces of {slots} slots are too short: a pattern needs at least {needed}")]
    Short {
        /// Slots per trace.
        slots: usize,
        /// Least number of slots.
        needed: usize,
    },
    /// A number is out of range.
    #[error("{name} is {value}; expected {range}")]
    Range {
        /// Name of the quantity.
        name: &'static str,
        /// Its value.
        value: f64,
        /// The allowed range.
        range: &'static str,
    },
    /// The simulation is longer than the recorded time.
    #[error("cannot simulate {days} days: only {most:.3} days were recorded after the first half, which is the history")]
    Long {
        /// Days to simulate.
        days: f64,
        /// Days available.
        most: f64,
    },
    /// No tenant, server or other required item exists.
    #[error("there is no {0}")]
    Nothing(&'static str),
}

impl HarvestError {
    /// Stable code of the error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unreadable(_) => "harvest-document",
            Self::File(_) => "harvest-file",
            Self::Shape { .. } => "harvest-shape",
            Self::Short { .. } => "harvest-short",
            Self::Range { .. } => "harvest-range",
            Self::Long { .. } => "harvest-long",
            Self::Nothing(_) => "harvest-nothing",
        }
    }
}
