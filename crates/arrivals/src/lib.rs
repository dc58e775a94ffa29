//! Laws of arrivals. Each law is defined in one file, plus one line in [`laws`].
//!
//! All workers of all clients together produce the requested process. Each runs its own thinned part, without
//! communication:
//!
//! ```text
//! exponential    independent Poisson processes of rate/n each; their sum is Poisson with `rate`
//! deterministic  worker k of n takes every n-th scheduled time:  k, k+n, k+2n, ...
//! any other      each worker draws the whole process from one shared stream (determined by the seed alone),
//!                and takes every n-th arrival: together they are exactly the law, to the bit
//! ```
//!
//! Parts drawn independently would not work: superposed, they tend to a Poisson process whatever their law (Palm and
//! Khinchin). The cost is n draws per arrival of a part.

mod bursts;
mod cumulants;
mod deterministic;
mod error;
mod exponential;
mod gamma;
mod hyperexponential;
mod law;
mod pareto;
mod process;
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
pub use error::ParameterError;
pub use exponential::Exponential;
pub use gamma::Gamma;
pub use hyperexponential::Hyperexponential;
pub use law::{Gaps, Law};
pub use pareto::Pareto;
pub use process::{Process, Seeds};
pub use schedule::Schedule;
pub use trace::{Trace, TraceError, TraceTimes};
pub use uniform::Uniform;

/// A sequence of scheduled times, as offsets from the start of the load.
pub trait Arrivals: Send {
    /// Return the next scheduled time, which is never earlier than the last.
    fn next_scheduled(&mut self) -> Nanos;

    /// Set the offset at which the measurement, and so a schedule of the rate, starts.
    fn measure_from(&mut self, _offset: Nanos) {}
}

/// The part of the whole process that a worker takes: part `index` of `of`.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Number of the worker among the workers of all clients.
    pub index: u32,
    /// Number of workers of all clients.
    pub of: u32,
}

impl Part {
    /// The whole process.
    pub const WHOLE: Self = Self { index: 0, of: 1 };
}

/// Always scheduled at once: a closed loop without think time.
#[derive(Debug, Default)]
pub struct FlatOut;

impl Arrivals for FlatOut {
    fn next_scheduled(&mut self) -> Nanos {
        Nanos::ZERO
    }
}
