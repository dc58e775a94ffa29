//! Units as types, so that nanoseconds, seconds and rates cannot be confused.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A moment (nanoseconds of `CLOCK_MONOTONIC`) or a span of time, in whole nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl Nanos {
    /// Zero.
    pub const ZERO: Self = Self(0);
    /// Later than any stamp.
    pub const MAX: Self = Self(u64::MAX);

    /// Return the span of `seconds`, rounded to the nearest nanosecond; negative spans become zero.
    pub fn from_secs_f64(seconds: f64) -> Self {
        Self((seconds * 1e9).round().max(0.0) as u64)
    }

    /// Return a span of whole microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros * 1_000)
    }

    /// Return a span of whole milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }

    /// Return this span in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Return `self - earlier`, or zero if `earlier` is later than `self`.
    #[must_use]
    pub const fn saturating_sub(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }

    /// Return `self + span`, or [`Nanos::MAX`] on overflow.
    #[must_use]
    pub const fn saturating_add(self, span: Self) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Add for Nanos {
    type Output = Self;
    fn add(self, span: Self) -> Self {
        Self(self.0 + span.0)
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, span: Self) {
        self.0 += span.0;
    }
}

impl Sub for Nanos {
    type Output = Self;
    fn sub(self, earlier: Self) -> Self {
        Self(self.0 - earlier.0)
    }
}

impl fmt::Display for Nanos {
    /// Write the span in the most readable unit: `850 ns`, `12.4 us`, `3.10 ms`, `2.500 s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = self.0 as f64;
        match self.0 {
            0..=999 => write!(f, "{} ns", self.0),
            1_000..=999_999 => write!(f, "{:.1} µs", n / 1e3),
            1_000_000..=999_999_999 => write!(f, "{:.2} ms", n / 1e6),
            _ => write!(f, "{:.3} s", n / 1e9),
        }
    }
}

/// A rate in requests/s.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Rate(f64);

impl Rate {
    /// Create a rate of `per_second` requests/s; `None` unless it is finite and positive.
    pub fn per_second(per_second: f64) -> Option<Self> {
        (per_second.is_finite() && per_second > 0.0).then_some(Self(per_second))
    }

    /// Return the rate in requests/s.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// Return the mean gap between two requests in nanoseconds, not rounded.
    pub fn mean_gap_ns(self) -> f64 {
        1e9 / self.0
    }

    /// Return one of `parts` equal shares of this rate (thinning, see the crate `arrivals`).
    #[must_use]
    pub fn share(self, parts: u32) -> Self {
        Self(self.0 / f64::from(parts.max(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_written_in_the_most_readable_unit() {
        for (span, text) in [
            (Nanos(850), "850 ns"),
            (Nanos(12_400), "12.4 µs"),
            (Nanos::from_millis(3), "3.00 ms"),
            (Nanos::from_secs_f64(2.5), "2.500 s"),
        ] {
            assert_eq!(span.to_string(), text);
        }
    }

    #[test]
    fn rates_that_are_not_positive_and_finite_are_refused() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Rate::per_second(bad), None);
        }
        assert!((Rate::per_second(50_000.0).unwrap().mean_gap_ns() - 20_000.0).abs() < 1e-9);
    }
}
