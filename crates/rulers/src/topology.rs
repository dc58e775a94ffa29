//! How two processors of this virtual machine stand to each other now: the host may move them at any time.
//!
//! Two signs: how long a line takes from one to the other (ping-pong), and whether rulers of one port slow each other.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Barrier;

use hindmost_clock::{Clock, MonotonicClock};
use hindmost_sys::this_thread::pin;
use serde::Serialize;

use crate::burst::CoreClock;
use crate::stream::{Stream, ROUND};
use crate::{Class, RulerError};

/// How two processors stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// Two threads of one core.
    Siblings,
    /// Cores that share their last cache.
    Near,
    /// Cores that do not.
    Far,
    /// The host took a processor away while we looked.
    Unknown,
}

/// What was seen of two processors.
#[derive(Clone, Debug, Serialize)]
pub struct Topology {
    /// How they stand.
    pub placement: Placement,
    /// One way of the ping-pong, nanoseconds, the least of several rounds.
    pub one_way_ns: f64,
    /// What a ruler keeps of its rate beside itself on the other: 0.5 on siblings, 1 else.
    pub same_port: Option<f64>,
    /// The clock of each, GHz: looked at before and after a window, it tells whether that changed meanwhile.
    pub ghz: [f64; 2],
}

/// Same slice 27-44 ns, other slice 152-177 (measured on Zen 4); siblings about 10. Between two groups the middle.
const NEAR_BELOW: f64 = 90.0;
const SIBLINGS_BELOW: f64 = 20.0;
/// Two rulers of one port on siblings get half each; on two cores nobody lost more than 2 %.
const SHARED_BELOW: f64 = 0.75;
/// More than any two processors of one machine take: somebody else had one of them.
const NOT_BELIEVED: f64 = 1000.0;

/// The verdict on what was seen.
pub fn placement(one_way_ns: f64, same_port: Option<f64>) -> Placement {
    match same_port {
        Some(kept) if kept < SHARED_BELOW && one_way_ns < NEAR_BELOW => Placement::Siblings,
        _ if !one_way_ns.is_finite() || one_way_ns > NOT_BELIEVED => Placement::Unknown,
        None if one_way_ns < SIBLINGS_BELOW => Placement::Siblings,
        _ if one_way_ns < NEAR_BELOW => Placement::Near,
        _ => Placement::Far,
    }
}

impl Topology {
    /// Looks at two processors: 3 ms, and as much again with `ports`.
    ///
    /// # Errors
    /// Where one of them may not be used.
    pub fn look(a: usize, b: usize, ports: bool) -> Result<Self, RulerError> {
        let one_way_ns = ping_pong(a, b)?;
        let same_port = if ports { Some(same_port(a, b)?) } else { None };
        Ok(Self { placement: placement(one_way_ns, same_port), one_way_ns, same_port, ghz: clocks(a, b)? })
    }
}

/// Runs one function on each of two processors, from one moment on.
fn beside<T: Send>(
    (a, first): (usize, impl FnOnce() -> T + Send),
    (b, second): (usize, impl FnOnce() -> T + Send),
) -> Result<(T, T), RulerError> {
    for cpu in [a, b] {
        hindmost_sys::this_thread::can_pin(cpu).map_err(|source| RulerError::Processor { cpu, source })?;
    }
    let meet = &Barrier::new(2);
    // Tried just now; a processor that went since only makes what is seen unbelievable.
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

/// A line of its own.
#[repr(align(128))]
struct Line(AtomicU32);

fn ping_pong(a: usize, b: usize) -> Result<f64, RulerError> {
    const TURNS: u32 = 200;
    const ROUNDS: u32 = 24;
    /// Where the other does not answer, it is not running: 2 ms.
    const PATIENCE: u64 = 2_000_000;
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
                    if spins % 4096 == 0 && clock.now().0 - begun > PATIENCE {
                        std::thread::yield_now();
                    }
                }
                line.0.store(turn + 1, Ordering::Release);
            }
            least = least.min((clock.now().0 - begun) as f64 / f64::from(2 * TURNS));
        }
        least
    };
    let (first, second) = beside((a, || play(0)), (b, || play(1)))?;
    Ok(first.min(second))
}

fn same_port(a: usize, b: usize) -> Result<f64, RulerError> {
    /// 600 multiplications at two a tick, 150 times: 12 us, often enough to find calm ones.
    const ROUNDS: u64 = 150;
    const BURSTS: usize = 60;
    let clock = MonotonicClock;
    let run = |class: Class| {
        let mut stream = Stream::of(class, ROUND)?;
        Ok(move || {
            let times: Vec<f64> = (0..BURSTS)
                .map(|_| {
                    let begun = clock.now().0;
                    stream.run(ROUNDS);
                    (clock.now().0 - begun) as f64
                })
                .collect();
            // The second quarter of the burst's ranks: beside the other for sure, and not preempted.
            let mut ranked = times[BURSTS / 4..BURSTS * 3 / 4].to_vec();
            crate::burst::quantile(&mut ranked, 0.25)
        })
    };
    let solo = beside((a, run(Class::FpMul)?), (b, || f64::NAN))?.0;
    let both = beside((a, run(Class::FpMul)?), (b, run(Class::FpMul)?))?.0;
    Ok(solo / both)
}

/// Clocks of both, by chains that run beside each other: 0.2 ms.
fn clocks(a: usize, b: usize) -> Result<[f64; 2], RulerError> {
    let (mut first, mut second) = (CoreClock::new()?, CoreClock::new()?);
    let seen = beside((a, || first.calm_ghz()), (b, || second.calm_ghz()))?;
    Ok([seen.0, seen.1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placements_follow_from_both_signs() {
        for (ns, kept, expected) in [
            (9.0, Some(0.51), Placement::Siblings),
            (9.0, None, Placement::Siblings),
            (35.0, Some(1.0), Placement::Near),
            (35.0, None, Placement::Near),
            (160.0, Some(0.99), Placement::Far),
            // Half the rate on cores that are far from each other: a neighbour of the host, no sibling.
            (160.0, Some(0.5), Placement::Far),
            (5000.0, Some(1.0), Placement::Unknown),
            (f64::INFINITY, None, Placement::Unknown),
        ] {
            assert_eq!(placement(ns, kept), expected, "{ns} {kept:?}");
        }
    }

    #[test]
    fn two_processors_of_this_host_stand_somewhere() {
        let cpus = hindmost_sys::this_thread::allowed_cpus();
        if let [a, b, ..] = cpus[..] {
            let seen = Topology::look(a, b, true).unwrap();
            assert!(seen.one_way_ns > 0.0 && seen.same_port.unwrap() > 0.0, "{seen:?}");
            assert!(seen.ghz.iter().all(|ghz| (0.01..20.0).contains(ghz)), "{seen:?}");
        }
        assert!(matches!(Topology::look(0, 4000, false), Err(RulerError::Processor { cpu: 4000, .. })));
    }
}
