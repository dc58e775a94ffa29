//! Random numbers: one seed per document, an independent stream per purpose.
//!
//! Use [`stream`] to draw numbers in sequence, and [`Draws`] to draw in any order: the numbers of item `i` depend
//! on the seed and `i` alone, so that a server and its simulation, or two designs in a sweep, receive the same
//! requests (common random numbers).

mod counter;
mod extreme;
mod normal;
mod streams;

pub use counter::Draws;
pub use extreme::{extreme_cdf, extreme_quantile, pareto_cdf, pareto_quantile};
pub use normal::{normal_cdf, normal_quantile};
pub use streams::{below, mix, stream, unit, Purpose, Random};
