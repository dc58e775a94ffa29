//! Fits of quantiles, and of those of whole runs.

mod fits;
mod runs;
