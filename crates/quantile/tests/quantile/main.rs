//! Tests of quantile fits, on samples and on histograms of runs.

mod fits;
mod runs;
