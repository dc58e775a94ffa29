//! Time: units, the clock that stamps requests, and the clock that tests wind by hand.
//!
//! Every stamp of the project is nanoseconds of `CLOCK_MONOTONIC` (`clock_gettime(2)`), which all
//! processes of one host share, so that instances can agree on an absolute start and a phase.

mod fake;
mod monotonic;
mod units;

pub use fake::FakeClock;
pub use monotonic::MonotonicClock;
pub use units::{Nanos, Rate};

/// A source of stamps. The engine is generic over it, so a fake clock costs the real one nothing.
pub trait Clock {
    /// The present moment.
    fn now(&self) -> Nanos;

    /// By how many nanoseconds `CLOCK_REALTIME`, in which the kernel stamps packets, is ahead. It changes
    /// only when that clock is stepped, or the host was suspended: NTP slews both clocks alike.
    fn realtime_ahead(&self) -> i64 {
        0
    }
}
