//! Time: units, the clock that stamps requests, and a fake clock for tests.
//!
//! Every stamp of the project is in nanoseconds of `CLOCK_MONOTONIC` (`clock_gettime(2)`), which all processes of a
//! host share, so that clients can agree on an absolute start and a phase.

mod fake;
mod monotonic;
mod units;

pub use fake::FakeClock;
pub use monotonic::MonotonicClock;
pub use units::{Nanos, Rate};

/// A source of stamps. The engine is generic over it, so the fake clock adds no cost to the real one.
pub trait Clock {
    /// Return the current time.
    fn now(&self) -> Nanos;

    /// Return by how many nanoseconds `CLOCK_REALTIME`, in which the kernel stamps packets, is ahead. It
    /// changes only if that clock is stepped or the host was suspended: NTP slews both clocks alike.
    fn realtime_ahead(&self) -> i64 {
        0
    }
}
