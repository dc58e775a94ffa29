//! *When*: the laws of arrivals. A law is one file here, which says everything about it, and one line in [`laws`].
//!
//! All workers of all instances together make the process that was asked for; each runs its own
//! thinned part of it, without communication:
//!
//! ```text
//! exponential    independent Poisson processes of rate/n each; their sum is Poisson of `rate`
//! deterministic  worker k of n takes every n-th due time:  k, k+n, k+2n, ...
//! any other      each worker draws the whole process from one stream, the same for all (it follows from the seed
//!                alone), and takes every n-th arrival: together they are the law, to the bit
//! ```
//!
//! Parts that were drawn independently would not do: superposed, whatever their law, they tend to a Poisson process
//! (Palm and Khinchin). The price is n draws an own arrival.

mod bursts;
mod cumulants;
mod deterministic;
mod exponential;
mod gamma;
mod hyperexponential;
mod law;
mod pareto;
mod process;
mod refused;
mod schedule;
mod spelling;
#[cfg(test)]
mod tests;
mod trace;
mod uniform;

use hindmost_clock::Nanos;

pub use bursts::Bursts;
pub use cumulants::Cumulants;
pub use deterministic::Deterministic;
pub use exponential::Exponential;
pub use gamma::Gamma;
pub use hyperexponential::Hyperexponential;
pub use law::{Gaps, Law};
pub use pareto::Pareto;
pub use process::{Process, Seeds};
pub use refused::Refused;
pub use schedule::Schedule;
pub use trace::{Moments, Trace, TraceError};
pub use uniform::Uniform;

/// A sequence of due times, as offsets from the start of the load.
pub trait Arrivals: Send {
    /// The next due time. Never goes back.
    fn next_due(&mut self) -> Nanos;

    /// The measurement begins at this offset: what a schedule of the rate waits for.
    fn measure_from(&mut self, _offset: Nanos) {}
}

/// Which part of the whole process a worker takes: part `index` of `of`.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Counted over the workers of all instances.
    pub index: u32,
    /// All workers of all instances.
    pub of: u32,
}

impl Part {
    /// The whole process.
    pub const WHOLE: Self = Self { index: 0, of: 1 };
}

/// Always due at once: the closed loop flat out.
#[derive(Debug, Default)]
pub struct FlatOut;

impl Arrivals for FlatOut {
    fn next_due(&mut self) -> Nanos {
        Nanos::ZERO
    }
}
