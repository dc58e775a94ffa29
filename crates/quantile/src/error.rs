use thiserror::Error;

/// Why there is no fit.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum QuantileError {
    /// A level outside of the open unit interval.
    #[error("the quantile level is {0}, but must lie between 0 and 1, ends excluded")]
    Level(f64),
    /// A sample or covariate that is no number.
    #[error("{what} {index} is {value}, but must be a finite number")]
    NotFinite {
        /// What sort of number.
        what: &'static str,
        /// Which, from 0.
        index: usize,
        /// What it is.
        value: f64,
    },
    /// A weight below zero.
    #[error("weight {index} is {value}, but must not be negative")]
    Weight {
        /// Which, from 0.
        index: usize,
        /// What it is.
        value: f64,
    },
    /// Lengths that do not fit each other.
    #[error("{what} has {found} entries, but {wanted} are needed")]
    Length {
        /// Of what.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there should be.
        wanted: usize,
    },
    /// A sample of a cell that does not exist.
    #[error("sample {index} is of cell {cell}, but there are {cells} cells")]
    Cell {
        /// Which sample, from 0.
        index: usize,
        /// Its cell, from 0.
        cell: usize,
        /// How many cells there are.
        cells: usize,
    },
    /// A cell without samples, where every cell needs some.
    #[error("cell {0} has no samples, so its quantile is not known")]
    EmptyCell(usize),
    /// A run without samples.
    #[error("run {0} has no samples")]
    EmptyRun(usize),
    /// Bins that are no bins.
    #[error("bins must rise, none overlap another, and there must be one at least")]
    Bins,
    /// A coefficient that the design says nothing about.
    #[error("the design has rank {rank}, but {columns} coefficients: column {column} follows from those before it")]
    Rank {
        /// Independent columns.
        rank: usize,
        /// Coefficients asked for.
        columns: usize,
        /// The first column that depends on others.
        column: usize,
    },
    /// The walk did not end. It always should.
    #[error("no optimum after {0} pivots")]
    Pivots(usize),
}
