//! Finds the present placement of two CPUs of this virtual machine, which the host may change at any time.
//!
//! There are two indicators: how long a cache line takes from one CPU to the other (ping-pong), and whether
//! stressors of one port slow each other down.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Barrier;

use hindmost_clock::{Clock, MonotonicClock};
use hindmost_sys::this_thread::pin;
use serde::Serialize;

use crate::burst::CoreClock;
use crate::stream::{Stream, ROUND};
use crate::{Class, StressorError};

/// Placement of two CPUs relative to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// Two threads of one core.
    Siblings,
    /// Cores that share their last-level cache.
    Near,
    /// Cores that do not share their last-level cache.
    Far,
    /// Unknown: the host took a CPU away during the measurement.
    Unknown,
}

/// Measurements of two CPUs.
#[derive(Clone, Debug, Serialize)]
pub struct Topology {
    /// Their placement.
    pub placement: Placement,
    /// One-way time of the ping-pong in nanoseconds, the minimum of several rounds.
    pub one_way_ns: f64,
    /// Fraction of its rate that a stressor keeps while the same one runs on the other CPU: 0.5 on siblings,
    /// else 1.
    pub same_port: Option<f64>,
    /// Clock of each in GHz. Measured before and after a window, it shows whether the clock changed meanwhile.
    pub ghz: [f64; 2],
}

/// Measured on Zen 4: same slice 27 to 44 ns, other slice 152 to 177 ns; siblings about 10 ns. The limits are
/// half-way between two groups.
const NEAR_BELOW: f64 = 90.0;
const SIBLINGS_BELOW: f64 = 20.0;
/// Two stressors of one port on siblings get half each; on two cores none lost more than 2 %.
const SHARED_BELOW: f64 = 0.75;
/// Longer than between any two CPUs of one machine: something else occupied one of them.
const IMPLAUSIBLE_NS: f64 = 1000.0;

/// Return the placement that follows from the measurements.
pub fn placement(one_way_ns: f64, same_port: Option<f64>) -> Placement {
    match same_port {
        Some(kept) if kept < SHARED_BELOW && one_way_ns < NEAR_BELOW => Placement::Siblings,
        _ if !one_way_ns.is_finite() || one_way_ns > IMPLAUSIBLE_NS => Placement::Unknown,
        None if one_way_ns < SIBLINGS_BELOW => Placement::Siblings,
        _ if one_way_ns < NEAR_BELOW => Placement::Near,
        _ => Placement::Far,
    }
}

impl Topology {
    /// Measure two CPUs: 3 ms, and the same again with `ports`.
    ///
    /// # Errors
    /// If one of them cannot be used.
    pub fn measure(a: usize, b: usize, ports: bool) -> Result<Self, StressorError> {
        let one_way_ns = ping_pong(a, b)?;
        let same_port = if ports { Some(same_port(a, b)?) } else { None };
        Ok(Self { placement: placement(one_way_ns, same_port), one_way_ns, same_port, ghz: clocks(a, b)? })
    }
}

/// Run one function on each of two CPUs, starting at the same time.
fn run_on_both<T: Send>(
    (a, first): (usize, impl FnOnce() -> T + Send),
    (b, second): (usize, impl FnOnce() -> T + Send),
) -> Result<(T, T), StressorError> {
    for cpu in [a, b] {
        hindmost_sys::this_thread::can_pin(cpu).map_err(|source| StressorError::Processor { cpu, source })?;
    }
    let meet = &Barrier::new(2);
    // Pinning was tried just before; if a CPU has disappeared since, the result is discarded as implausible.
    let begin = move |cpu: usize| {
        let _ = pin(cpu);
        meet.wait();
    };
    std::thread::scope(|scope| {
        let one = scope.spawn(move || (begin(a), first()).1);
        let other = scope.spawn(move || (begin(b), second()).1);
        let ended = |thread: std::thread::ScopedJoinHandle<'_, T>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        Ok((ended(one), ended(other)))
    })
}

/// A separate cache line.
#[repr(align(128))]
struct Line(AtomicU32);

fn ping_pong(a: usize, b: usize) -> Result<f64, StressorError> {
    const TURNS: u32 = 200;
    const ROUNDS: u32 = 24;
    /// Without an answer for this long (2 ms), the other thread is not running.
    const TIMEOUT_NS: u64 = 2_000_000;
    let line = Line(AtomicU32::new(0));
    let clock = MonotonicClock;
    let play = |parity: u32| {
        let mut least = f64::INFINITY;
        for round in 0..ROUNDS {
            let begun = clock.now().0;
            for turn in (0..TURNS).map(|turn| 2 * (round * TURNS + turn) + parity) {
                let mut spins = 0u32;
                while line.0.load(Ordering::Acquire) != turn {
                    spins += 1;
                    if spins % 4096 == 0 && clock.now().0 - begun > TIMEOUT_NS {
                        std::thread::yield_now();
                    }
                }
                line.0.store(turn + 1, Ordering::Release);
            }
            least = least.min((clock.now().0 - begun) as f64 / f64::from(2 * TURNS));
        }
        least
    };
    let (first, second) = run_on_both((a, || play(0)), (b, || play(1)))?;
    Ok(first.min(second))
}

fn same_port(a: usize, b: usize) -> Result<f64, StressorError> {
    /// 600 multiplications at two per tick, 150 times: 12 us, short enough for undisturbed ones.
    const ROUNDS: u64 = 150;
    const BURSTS: usize = 60;
    let clock = MonotonicClock;
    let run = |class: Class| {
        let mut stream = Stream::of_class(class, ROUND)?;
        Ok(move || {
            let times: Vec<f64> = (0..BURSTS)
                .map(|_| {
                    let begun = clock.now().0;
                    stream.run(ROUNDS);
                    (clock.now().0 - begun) as f64
                })
                .collect();
            // The middle half of the bursts: both threads run for sure, and the fastest quarter of them
            // is not preempted.
            let mut ranked = times[BURSTS / 4..BURSTS * 3 / 4].to_vec();
            crate::burst::quantile(&mut ranked, 0.25)
        })
    };
    let solo = run_on_both((a, run(Class::FpMul)?), (b, || f64::NAN))?.0;
    let both = run_on_both((a, run(Class::FpMul)?), (b, run(Class::FpMul)?))?.0;
    Ok(solo / both)
}

/// Return the clocks of both, from chains that run at the same time: 0.2 ms.
fn clocks(a: usize, b: usize) -> Result<[f64; 2], StressorError> {
    let (mut first, mut second) = (CoreClock::new()?, CoreClock::new()?);
    let seen = run_on_both((a, || first.isolated_ghz()), (b, || second.isolated_ghz()))?;
    Ok([seen.0, seen.1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placements_follow_from_both_indicators() {
        for (ns, kept, expected) in [
            (9.0, Some(0.51), Placement::Siblings),
            (9.0, None, Placement::Siblings),
            (35.0, Some(1.0), Placement::Near),
            (35.0, None, Placement::Near),
            (160.0, Some(0.99), Placement::Far),
            // Half the rate on distant cores: another guest of the host, not a sibling.
            (160.0, Some(0.5), Placement::Far),
            (5000.0, Some(1.0), Placement::Unknown),
            (f64::INFINITY, None, Placement::Unknown),
        ] {
            assert_eq!(placement(ns, kept), expected, "{ns} {kept:?}");
        }
    }

    #[test]
    fn two_cpus_of_this_host_have_a_placement() {
        let cpus = hindmost_sys::this_thread::allowed_cpus();
        if let [a, b, ..] = cpus[..] {
            let seen = Topology::measure(a, b, true).unwrap();
            assert!(seen.one_way_ns > 0.0 && seen.same_port.unwrap() > 0.0, "{seen:?}");
            assert!(seen.ghz.iter().all(|ghz| (0.01..20.0).contains(ghz)), "{seen:?}");
        }
        assert!(matches!(Topology::measure(0, 4000, false), Err(StressorError::Processor { cpu: 4000, .. })));
    }
}
