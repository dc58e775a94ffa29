//! Quantile regression on the few different rows that a designed experiment has, exact at any size.
//!
//! A factorial experiment has few *cells* (16 for four factors) and many samples in each. Where the model has a
//! coefficient for every cell, its fit is one quantile a cell and a small matrix; where it has fewer, the optimum
//! is a vertex that pins as many samples as there are coefficients, and a simplex walks there with a binary search
//! in each sorted cell for a line search. Neither cares how many samples there are.
//!
//! ```text
//!  samples, cell of each --select--> quantile of each cell          (saturated, no sort)
//!                        --Cells---> sorted once --Fit--> any model, weights, real covariates
//!                                                \------> scores of runs, sparsity: standard errors
//!  a histogram a run ------> Runs --> quantiles, scores, cluster bootstrap: no samples held
//! ```
//!
//! Reference: Koenker and Bassett (1978); Koenker (2005), *Quantile Regression*, chapters 3 and 6.

mod bootstrap;
mod cells;
mod error;
mod fit;
mod matrix;
mod rule;
mod runs;
mod select;
mod sparsity;

pub use bootstrap::{cluster_bootstrap, Drawn};
pub use cells::Cells;
pub use error::QuantileError;
pub use fit::{fit, objective, Fit};
pub use matrix::{inverse, Matrix};
pub use runs::Runs;
pub use select::cell_quantiles;
pub use sparsity::{hall_sheather, sparsity};
