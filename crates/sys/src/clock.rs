//! Clocks, read through the vDSO without a system call.

use rustix::time::{clock_getres, clock_gettime, ClockId, Timespec};

/// Return `CLOCK_MONOTONIC` in nanoseconds.
#[inline]
pub fn monotonic_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// Return `CLOCK_REALTIME` in nanoseconds since 1970.
#[inline]
pub fn realtime_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Realtime))
}

/// Return the resolution of `CLOCK_MONOTONIC` timers: 1 ns with high-resolution timers, a tick (1 to 10 ms) without
/// (`clock_getres(2)`, time(7)).
pub fn resolution_ns() -> u64 {
    nanoseconds(clock_getres(ClockId::Monotonic))
}

pub(crate) fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / 1_000_000_000) as _, tv_nsec: (ns % 1_000_000_000) as _ }
}

#[inline]
pub(crate) fn nanoseconds(time: Timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
