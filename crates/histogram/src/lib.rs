//! Latency distributions: histograms that record in a few nanoseconds and merge without loss, the
//! quantiles that are read from them, the `.hlog` files that carry them, and two bounded samples
//! of raw requests to keep beside them.
//!
//! # Why no bin limits are ever chosen
//!
//! Treadmill (section III-A) chooses the bins of its histogram in a calibration phase and re-bins
//! when too many values exceed them, because bins that were fixed too low break when a loaded
//! server's latency keeps growing. We reach the same end without the step: [`Histogram`] covers
//! every `u64` from the start, at a relative error of at most 1/2048 (0.049 %; 0.4 % is what the
//! project promises). It costs 56,320 bins of 8 bytes, 440 KiB of address space, of which only the
//! pages that hold values become warm in the cache: one octave of latencies is 8 KiB. What that
//! buys:
//!
//! - nothing is lost when a range turns out wrong, and no re-binning pause lands in a measurement;
//! - all histograms have the same bins, so merging is adding, in any order, exactly;
//! - the bins are those of `HdrHistogram` with unit 1 and 3 significant digits, so `.hlog` files
//!   ([`hlog`]) hold exactly what was recorded.
//!
//! # Counts of small integers
//!
//! Below 2048 a bin holds one value, so a [`Histogram`] is exact there. Numbers of outstanding
//! requests are therefore recorded in a `Histogram` too, and need no type of their own.

mod bounded;
mod histogram;
pub mod hlog;
mod layout;
mod packed;
mod quantile;
mod sample;
mod summary;
mod worst;

pub use histogram::Histogram;
pub use quantile::Quantile;
pub use sample::UniformSample;
pub use summary::{Bin, Value};
pub use worst::Worst;
