//! Latency distributions: histograms that record in a few nanoseconds and merge without loss, their quantiles, the
//! `.hlog` files that store them, and two bounded samples of individual requests.
//!
//! Why bin limits are fixed
//!
//! Treadmill (section III-A) chooses the bins of its histogram in a calibration phase and re-bins when too many
//! values exceed them, because a fixed range fails when a loaded server's latency keeps growing. [`Histogram`]
//! solves this without a calibration: it covers every `u64`, at a relative error of at most 1/2048 (0.049 %; the
//! project promises 0.4 %). It takes 56,320 bins of 8 bytes, 440 KiB of address space, of which only the pages with
//! values enter the cache: one octave of latencies is 8 KiB. The benefits:
//!
//! - no value is lost because of a wrong range, and no re-binning pause disturbs a measurement;
//! - all histograms have the same bins, so merging is exact addition in any order;
//! - the bins are `HdrHistogram`'s with unit 1 and 3 significant digits, so `.hlog` files
//!   ([`hlog`]) contain exactly the recorded counts.
//!
//! # Counts of small integers
//!
//! Below 2048 a bin holds one value, so a [`Histogram`] is exact there. Numbers of outstanding requests are
//! recorded in a `Histogram`, too, and need no type of their own.

mod histogram;
pub mod hlog;
mod layout;
mod packing;
mod quantile;
mod sample;
mod smallest;
mod summary;
mod worst;

pub use histogram::Histogram;
pub use quantile::Quantile;
pub use sample::UniformSample;
pub use summary::{Bin, Value};
pub use worst::Worst;
