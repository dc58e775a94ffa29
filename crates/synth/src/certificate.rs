//! Accuracy of spinning on this host: whether a server that occupies the CPU can be trusted here.
//!
//! One CPU spins for a ladder of service times from 1 µs to 10 ms, as a worker does. `hindmost_host::noise` measures
//! the host's interference.

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

/// Service times of the ladder, in µs.
const LADDER: [u64; 13] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000];
/// Approximate duration of each step.
const STEP: Nanos = Nanos::from_millis(60);
/// Most spins per step.
const MAX_SPINS: usize = 4_000;
/// Duration of the noise measurement.
const LISTEN: Duration = Duration::from_millis(500);
/// Largest relative error of the median of a trusted step.
const MAX_MEDIAN_ERROR: f64 = 0.01;
/// Largest relative error of its p99: the margin of p99 in the verification of a clone.
const MAX_P99_ERROR: f64 = 0.08;

/// Accuracy of spinning on this host.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Certificate {
    /// Duration of one reading of the monotonic clock.
    pub clock_read_ns: f64,
    /// Duration of one reading of a thread's CPU clock; a service of CPU time needs two.
    pub cpu_clock_read_ns: u64,
    /// Results by length of spin.
    pub ladder: Vec<Rung>,
    /// The shortest service time from which all longer ones are trusted; absent if the longest is not trusted.
    pub trusted_from_us: Option<f64>,
    /// CPU time and switches of the spinning thread.
    pub host: ThreadHost,
    /// Interference with threads that only read the clock.
    pub noise: Noise,
}

/// Result for spins of one length.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Rung {
    /// Intended duration.
    pub intended_us: f64,
    /// Number of spins.
    pub spins: usize,
    /// Median of the achieved durations.
    pub p50_us: f64,
    /// 99th percentile; the maximum if there are fewer than a hundred spins.
    pub p99_us: f64,
    /// Longest duration.
    pub longest_us: f64,
    /// Share of the time in which the thread was on a CPU.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub cpu_share: f64,
    /// Whether median and p99 are accurate enough.
    pub trusted: bool,
}

impl Certificate {
    /// Spin for about 1.5 s on the first of `cpus`, and measure the noise of up to four of them.
    pub fn measure(cpus: Option<&[usize]>) -> Result<Self, SynthError> {
        let cpus = cpus.map_or_else(this_thread::allowed_cpus, <[usize]>::to_vec);
        for &cpu in &cpus {
            this_thread::can_pin(cpu).map_err(|source| SynthError::Pin { thread: 0, cpu, source })?;
        }
        let numbers: Vec<u32> = cpus.iter().map(|&cpu| cpu as u32).collect();
        let noise = Noise::measure(&numbers, LISTEN);
        let first = cpus.first().copied();
        let spin_ladder = move || {
            if let Some(cpu) = first {
                this_thread::pin(cpu).map_err(|source| SynthError::Pin { thread: 0, cpu, source })?;
            }
            let before = ThreadCounters::read_self();
            let mut gaps = Gaps::default();
            let ladder = LADDER.map(|us| Rung::spin(Nanos::from_micros(us), &mut gaps));
            let ladder = ladder.into_iter().collect::<Result<Vec<_>, _>>()?;
            let host = ThreadHost::new(&ThreadCounters::read_self().since(&before), gaps);
            Ok((ladder, host, cpu_clock_cost()))
        };
        let (ladder, host, cpu_clock) =
            std::thread::spawn(spin_ladder).join().unwrap_or(Err(SynthError::Panicked { thread: 0 }))?;
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

/// Return the shortest step of the unbroken row of trusted steps at the long end of the ladder.
fn trusted_from(ladder: &[Rung]) -> Option<f64> {
    ladder.iter().rev().take_while(|rung| rung.trusted).last().map(|rung| rung.intended_us)
}

impl Rung {
    fn spin(intended: Nanos, gaps: &mut Gaps) -> Result<Self, SynthError> {
        let spins = ((STEP.0 / intended.0) as usize).clamp(5, MAX_SPINS);
        let mut achieved = vec![Nanos::ZERO; spins];
        let cpu = this_thread::cpu_time_ns();
        let start_of_step = now();
        for time in &mut achieved {
            let start = now();
            *time = spin(start + intended, gaps, || Ok(true))? - start;
        }
        let wall = now() - start_of_step;
        let cpu_share = (this_thread::cpu_time_ns() - cpu) as f64 / wall.0.max(1) as f64;
        Ok(Self::from_durations(intended, achieved, cpu_share))
    }

    fn from_durations(intended: Nanos, mut achieved: Vec<Nanos>, cpu_share: f64) -> Self {
        achieved.sort_unstable();
        let us = |time: Nanos| time.0 as f64 / 1e3;
        let quantile = |q: f64| us(achieved[((q * achieved.len() as f64) as usize).min(achieved.len() - 1)]);
        let error = |achieved: f64| (achieved / us(intended) - 1.0).abs();
        Self {
            intended_us: us(intended),
            spins: achieved.len(),
            p50_us: quantile(0.5),
            p99_us: quantile(0.99),
            longest_us: quantile(1.0),
            cpu_share: cpu_share.min(1.0),
            trusted: error(quantile(0.5)) <= MAX_MEDIAN_ERROR && error(quantile(0.99)) <= MAX_P99_ERROR,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rung(intended_us: u64, achieved_us: &[u64]) -> Rung {
        let achieved = achieved_us.iter().map(|&us| Nanos::from_micros(us)).collect();
        Rung::from_durations(Nanos::from_micros(intended_us), achieved, 1.0)
    }

    #[test]
    fn a_step_is_trusted_if_median_and_p99_are_accurate() {
        assert!(rung(1_000, &[1_000; 200]).trusted);
        assert!(rung(1_000, &[[1_000; 199].as_slice(), &[5_000]].concat()).trusted, "one in 200");
        assert!(!rung(1_000, &[[1_000; 190].as_slice(), &[5_000; 10]].concat()).trusted, "one in 20");
        assert!(!rung(1_000, &[1_020; 200]).trusted);
    }

    #[test]
    fn trust_ends_at_the_longest_inaccurate_step() {
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
