//! Quantile regression on the few distinct rows of a designed experiment, exact at any size.
//!
//! A factorial experiment has few *cells* (16 for four factors) with many samples each. A model with one
//! coefficient per cell is fitted by one quantile per cell and a small matrix. A model with fewer coefficients has
//! its optimum at a vertex that pins as many samples as there are coefficients; a simplex walk finds it, whose line
//! search is a binary search in each sorted cell. The cost hardly depends on the number of samples.
//!
//! ```text
//!  samples, cell of each --select--> quantile of each cell          (saturated, no sort)
//!                        --Cells---> sorted once --Fit--> any model, weights, real covariates
//!                                                \------> scores of runs, sparsity: standard errors
//!  one histogram per run ---> Runs --> quantiles, scores, cluster bootstrap: no samples held
//! ```
//!
//! Reference: Koenker and Bassett (1978); Koenker (2005), *Quantile Regression*, chapters 3 and 6.

mod bootstrap;
mod cells;
mod error;
mod fit;
mod matrix;
mod problem;
mod reduce;
mod rule;
mod runs;
mod select;
mod sparsity;
mod walk;

pub use bootstrap::{cluster_bootstrap, BootstrapDraws};
pub use cells::Cells;
pub use error::QuantileError;
pub use fit::{fit, objective, Fit};
pub use matrix::{inverse, Matrix};
pub use runs::Runs;
pub use select::cell_quantiles;
pub use sparsity::{hall_sheather, sparsity};
