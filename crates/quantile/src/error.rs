use thiserror::Error;

/// The reason why there is no fit.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum QuantileError {
    /// A level outside the open unit interval.
    #[error("the quantile level is {0}, but must be greater than 0 and less than 1")]
    Level(f64),
    /// A sample or covariate that is not a finite number.
    #[error("{what} {index} is {value}, but must be a finite number")]
    NotFinite {
        /// The kind of number.
        what: &'static str,
        /// Its index, from 0.
        index: usize,
        /// Its value.
        value: f64,
    },
    /// A negative weight.
    #[error("weight {index} is {value}, but must not be negative")]
    Weight {
        /// Its index, from 0.
        index: usize,
        /// Its value.
        value: f64,
    },
    /// Lengths that do not match.
    #[error("{what} has {found} entries, but {wanted} are needed")]
    Length {
        /// The list.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The expected length.
        wanted: usize,
    },
    /// A sample of a cell that does not exist.
    #[error("sample {index} belongs to cell {cell}, but there are {cells} cells")]
    Cell {
        /// Index of the sample, from 0.
        index: usize,
        /// Its cell, from 0.
        cell: usize,
        /// Number of cells.
        cells: usize,
    },
    /// A cell without samples where every cell needs some.
    #[error("cell {0} has no samples, so its quantile is unknown")]
    EmptyCell(usize),
    /// A run without samples.
    #[error("run {0} has no samples")]
    EmptyRun(usize),
    /// Invalid bins.
    #[error("bins must ascend without overlap, and there must be at least one")]
    Bins,
    /// A coefficient that the design does not determine.
    #[error("the design has rank {rank}, but {columns} coefficients: column {column} depends linearly on the columns before it")]
    Rank {
        /// Number of independent columns.
        rank: usize,
        /// Number of coefficients.
        columns: usize,
        /// The first dependent column.
        column: usize,
    },
    /// The search did not end, which should never happen.
    #[error("no optimum after {0} pivots")]
    Pivots(usize),
}
