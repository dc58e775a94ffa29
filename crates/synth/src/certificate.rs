//! How faithful a spin is on this host, now: whether a server that occupies the CPU can be trusted here.
//!
//! A ladder of service times, from 1 us to 10 ms, is spun on one CPU as a worker spins; beside it, what the host takes
//! away meanwhile (`hindmost_host::noise`).

use std::time::Duration;

use hindmost_clock::Nanos;
use hindmost_host::counters::ThreadCounters;
use hindmost_host::noise::Noise;
use hindmost_sys::this_thread;
use schemars::JsonSchema;
use serde::Serialize;

use crate::record::{Gaps, ThreadHost};
use crate::server::{cpu_clock_cost, spin};
use crate::work::now;
use crate::SynthError;

/// The ladder, us.
const LADDER: [u64; 13] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000];
/// Each step takes about so long ...
const STEP: Nanos = Nanos::from_millis(60);
/// ... and has at most so many spins.
const MOST: usize = 4_000;
/// How long nothing but the clock is read.
const LISTEN: Duration = Duration::from_millis(500);
/// A step can be trusted if its median is off by no more than this share ...
const MEDIAN_OFF: f64 = 0.01;
/// ... and its p99 by no more than this: the margin of p99 in the verification of a clone.
const P99_OFF: f64 = 0.08;

/// How faithful a spin is on this host.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Certificate {
    /// What one reading of the monotonic clock takes.
    pub clock_read_ns: f64,
    /// What one reading of a thread's CPU clock takes: services of CPU time need two.
    pub cpu_clock_read_ns: u64,
    /// Spins of these lengths.
    pub ladder: Vec<Rung>,
    /// The shortest service time from which on all longer ones can be trusted; absent where not even the longest can.
    pub trusted_from_us: Option<f64>,
    /// What the host did to the spinning thread.
    pub host: ThreadHost,
    /// What the host takes away from threads that only read the clock.
    pub noise: Noise,
}

/// Spins of one length.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Rung {
    /// As long as they should be.
    pub intended_us: f64,
    /// How many.
    pub spins: usize,
    /// Median of what was achieved.
    pub p50_us: f64,
    /// 99 %; of less than a hundred spins, the longest.
    pub p99_us: f64,
    /// The longest.
    pub longest_us: f64,
    /// The share of the time that the thread had a CPU.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub cpu_share: f64,
    /// Median and p99 are as they should be.
    pub trusted: bool,
}

impl Certificate {
    /// Spins for about a second and a half on the first of `cpus`, and listens on up to four of them.
    pub fn measure(cpus: Option<&[usize]>) -> Result<Self, SynthError> {
        let cpus = cpus.map_or_else(this_thread::allowed_cpus, <[usize]>::to_vec);
        for &cpu in &cpus {
            this_thread::can_pin(cpu).map_err(|source| SynthError::Pin { thread: 0, cpu, source })?;
        }
        let numbers: Vec<u32> = cpus.iter().map(|&cpu| cpu as u32).collect();
        let noise = Noise::measure(&numbers, LISTEN);
        let first = cpus.first().copied();
        let climb = move || {
            if let Some(cpu) = first {
                this_thread::pin(cpu).map_err(|source| SynthError::Pin { thread: 0, cpu, source })?;
            }
            let before = ThreadCounters::read_self();
            let mut gaps = Gaps::default();
            let ladder = LADDER.map(|us| Rung::spin(Nanos::from_micros(us), &mut gaps));
            let ladder = ladder.into_iter().collect::<Result<Vec<_>, _>>()?;
            let host = ThreadHost::of(&ThreadCounters::read_self().since(&before), gaps);
            Ok((ladder, host, cpu_clock_cost()))
        };
        let (ladder, host, cpu_clock) =
            std::thread::spawn(climb).join().unwrap_or(Err(SynthError::Panicked { thread: 0 }))?;
        Ok(Self {
            clock_read_ns: noise.floors.first().map_or(0.0, |floor| floor.read_cost_ns),
            cpu_clock_read_ns: cpu_clock.0,
            trusted_from_us: trusted_from(&ladder),
            ladder,
            host,
            noise,
        })
    }
}

/// Where the unbroken row of steps that can be trusted begins, counted from the longest.
fn trusted_from(ladder: &[Rung]) -> Option<f64> {
    ladder.iter().rev().take_while(|rung| rung.trusted).last().map(|rung| rung.intended_us)
}

impl Rung {
    fn spin(intended: Nanos, gaps: &mut Gaps) -> Result<Self, SynthError> {
        let spins = ((STEP.0 / intended.0) as usize).clamp(5, MOST);
        let mut achieved = vec![Nanos::ZERO; spins];
        let cpu = this_thread::cpu_time_ns();
        let began = now();
        for time in &mut achieved {
            let start = now();
            *time = spin(start + intended, gaps, || Ok(true))? - start;
        }
        let wall = now() - began;
        let cpu_share = (this_thread::cpu_time_ns() - cpu) as f64 / wall.0.max(1) as f64;
        Ok(Self::of(intended, achieved, cpu_share))
    }

    fn of(intended: Nanos, mut achieved: Vec<Nanos>, cpu_share: f64) -> Self {
        achieved.sort_unstable();
        let us = |time: Nanos| time.0 as f64 / 1e3;
        let at = |q: f64| us(achieved[((q * achieved.len() as f64) as usize).min(achieved.len() - 1)]);
        let off = |found: f64| (found / us(intended) - 1.0).abs();
        Self {
            intended_us: us(intended),
            spins: achieved.len(),
            p50_us: at(0.5),
            p99_us: at(0.99),
            longest_us: at(1.0),
            cpu_share: cpu_share.min(1.0),
            trusted: off(at(0.5)) <= MEDIAN_OFF && off(at(0.99)) <= P99_OFF,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rung(intended_us: u64, achieved_us: &[u64]) -> Rung {
        let achieved = achieved_us.iter().map(|&us| Nanos::from_micros(us)).collect();
        Rung::of(Nanos::from_micros(intended_us), achieved, 1.0)
    }

    #[test]
    fn a_step_is_trusted_if_median_and_tail_are() {
        assert!(rung(1_000, &[1_000; 200]).trusted);
        assert!(rung(1_000, &[[1_000; 199].as_slice(), &[5_000]].concat()).trusted, "one in 200");
        assert!(!rung(1_000, &[[1_000; 190].as_slice(), &[5_000; 10]].concat()).trusted, "one in 20");
        assert!(!rung(1_000, &[1_020; 200]).trusted);
    }

    #[test]
    fn trust_reaches_down_to_the_first_step_that_fails() {
        let (good, bad) = (|us| rung(us, &[us; 200]), |us| rung(us, &[2 * us; 200]));
        assert_eq!(trusted_from(&[bad(1), good(10), good(100)]), Some(10.0));
        assert_eq!(trusted_from(&[good(1), bad(10), good(100)]), Some(100.0));
        assert_eq!(trusted_from(&[good(1), good(10), bad(100)]), None);
    }

    #[test]
    fn a_spin_is_never_shorter_than_intended() {
        let certificate = Certificate::measure(None).unwrap();
        assert_eq!(certificate.ladder.len(), LADDER.len());
        for rung in &certificate.ladder {
            assert!(rung.p50_us >= rung.intended_us, "{rung:?}");
            assert!(rung.longest_us >= rung.p99_us && rung.p99_us >= rung.p50_us, "{rung:?}");
        }
        assert!(certificate.host.cpu_ns > 0 && certificate.cpu_clock_read_ns > 0);
        assert!(matches!(Certificate::measure(Some(&[1_000_000])), Err(SynthError::Pin { .. })));
    }
}
