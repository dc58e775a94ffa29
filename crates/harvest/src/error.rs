//! What cannot be meant, with the number that was wrong.

use thiserror::Error;

/// Why a question about harvesting has no answer.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum HarvestError {
    /// The document is no such JSON.
    #[error("the document cannot be read: {0}")]
    Unreadable(String),
    /// A file of traces cannot be read.
    #[error("{0}")]
    File(String),
    /// Rows and their length do not make the matrix.
    #[error("{values} values are no {tenants} traces of {slots} slots")]
    Shape {
        /// Numbers given.
        values: usize,
        /// Traces announced.
        tenants: usize,
        /// Slots of each.
        slots: usize,
    },
    /// Too short to tell a period from chance.
    #[error("traces of {slots} slots are too short: a pattern needs at least {needed}")]
    Short {
        /// Slots given.
        slots: usize,
        /// The least.
        needed: usize,
    },
    /// A number outside of its range.
    #[error("{what} is {found}, which lies outside of {range}")]
    Range {
        /// Which.
        what: &'static str,
        /// As given.
        found: f64,
        /// What it may be.
        range: &'static str,
    },
    /// More time than was recorded.
    #[error("{days} days are asked for, and {most:.3} were recorded after those that are history (the first half)")]
    Long {
        /// Days asked for.
        days: f64,
        /// Days that there are.
        most: f64,
    },
    /// No tenant or no server.
    #[error("there is no {0}")]
    Nothing(&'static str),
}

impl HarvestError {
    /// A name that programs can rely on.
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
