//! *When*: the laws of arrivals. A law is one file here, which says everything about it, and one line in [`laws`].
//!
//! All workers of all instances together make the process that was asked for; each runs its own
//! thinned part of it, without communication:
//!
//! ```text
//! exponential    independent Poisson processes of rate/n each; their sum is Poisson of `rate`
//! deterministic  worker k of n takes every n-th due time:  k, k+n, k+2n, ...
//! ```

mod deterministic;
mod exponential;
mod law;

use hindmost_clock::Nanos;

pub use law::{Entry, Gaps, Law};

/// A sequence of due times, as offsets from the start of the load.
pub trait Arrivals: Send {
    /// The next due time. Never goes back.
    fn next_due(&mut self) -> Nanos;
}

/// Which part of the whole process a worker takes: part `index` of `of`.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Counted over the workers of all instances.
    pub index: u32,
    /// All workers of all instances.
    pub of: u32,
}

/// Always due at once: the closed loop flat out.
#[derive(Debug, Default)]
pub struct FlatOut;

impl Arrivals for FlatOut {
    fn next_due(&mut self) -> Nanos {
        Nanos::ZERO
    }
}
