//! Random numbers: one seed in a document, independent streams for every purpose.
//!
//! [`stream`] is for those who draw in a row. [`Draws`] is for those who draw in any order: what belongs to item
//! `i` depends on the seed and `i` alone, so that a server and its simulation, or two designs in a sweep, meet the
//! same requests (common random numbers).

mod counter;
mod extreme;
mod normal;
mod streams;

pub use counter::Draws;
pub use extreme::{extreme_cdf, extreme_quantile, pareto_cdf, pareto_quantile};
pub use normal::{normal_cdf, normal_quantile};
pub use streams::{below, mix, stream, unit, Purpose, Random};
