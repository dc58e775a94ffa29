use std::thread;

use hindmost_clock::{Clock, MonotonicClock, Nanos};
use hindmost_sys::this_thread;
use schemars::JsonSchema;
use serde::Serialize;

use super::{quantile, Gaps};
use crate::counters::ThreadCounters;

/// Shorter pauses are not told from a slow reading: a cache miss, a page walk, a sibling's burst.
const SHORTEST_GAP: Nanos = Nanos(1_000);

/// A gap is also at least so many readings long, for clock sources that are themselves slow (hpet, 1 us).
const SHORTEST_GAP_IN_READINGS: f64 = 8.0;

/// A spin that has met so many gaps ends early: a hundred thousand tell enough.
const MOST_GAPS: usize = 100_000;

/// What one CPU went through while a thread bound to it only read the clock.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct NoiseFloor {
    /// The CPU.
    pub cpu: u32,
    /// Whether the thread could be bound to it; if not, it ran anywhere.
    pub pinned: bool,
    /// How long it spun.
    pub elapsed_ns: u64,
    /// What one reading of `CLOCK_MONOTONIC` costs (median of batches).
    pub read_cost_ns: f64,
    /// All gaps that it met.
    pub gaps: Gaps,
    /// Those of them in which no other thread of this host got the CPU: interrupts and, in a virtual
    /// machine, the hypervisor.
    pub outside: Gaps,
    /// The part of the spin that it waited for another thread of this host; `None` where the scheduler
    /// keeps no account.
    pub run_delay_ns: Option<u64>,
    /// How often another thread took its CPU.
    pub involuntary_switches: u64,
}

/// One pause of the spinning thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Gap {
    length: Nanos,
    /// Whether another thread of this host ran meanwhile.
    switched: bool,
}

impl Gap {
    const NONE: Self = Self { length: Nanos::MAX, switched: true };
}

/// Spins on all of `cpus` at the same time, as a measurement would fill them. A CPU for which no
/// thread can be had is left out.
pub(super) fn on_each(cpus: &[u32], span: Nanos) -> Vec<NoiseFloor> {
    thread::scope(|scope| {
        let spinners: Vec<_> = cpus
            .iter()
            .filter_map(|&cpu| {
                let builder = thread::Builder::new().name(format!("spin-{cpu}"));
                builder.spawn_scoped(scope, move || on_this_thread(cpu, span)).ok()
            })
            .collect();
        spinners.into_iter().filter_map(|spinner| spinner.join().ok()).collect()
    })
}

fn on_this_thread(cpu: u32, span: Nanos) -> NoiseFloor {
    let pinned = this_thread::pin(cpu as usize).is_ok();
    let clock = MonotonicClock;
    let read_cost_ns = read_cost(&clock);
    let shortest = SHORTEST_GAP.max(Nanos((read_cost_ns * SHORTEST_GAP_IN_READINGS) as u64));
    // Written now, so that no page of it is first touched in the spin.
    let mut gaps = vec![Gap::NONE; MOST_GAPS];

    let before = ThreadCounters::read_self();
    let turns_lost = || this_thread::switches().involuntary;
    let (elapsed, found) = spin(&clock, turns_lost, span, shortest, &mut gaps);
    let meanwhile = ThreadCounters::read_self().since(&before);

    gaps.truncate(found);
    let lengths = |chosen: fn(&&Gap) -> bool| gaps.iter().filter(chosen).map(|gap| gap.length).collect();
    NoiseFloor {
        cpu,
        pinned,
        elapsed_ns: elapsed.0,
        read_cost_ns,
        gaps: Gaps::of(lengths(|_| true), elapsed),
        outside: Gaps::of(lengths(|gap| !gap.switched), elapsed),
        run_delay_ns: meanwhile.schedule.map(|schedule| schedule.run_delay_ns),
        involuntary_switches: meanwhile.involuntary_switches,
    }
}

/// Reads the clock for `span` and writes down every gap of at least `shortest`, until `gaps` is full.
/// Returns how long it took and how many there were. `turns_lost` counts how often the thread lost its
/// CPU; it is asked only after a gap, and the time that the answer takes is not looked at.
fn spin(
    clock: &impl Clock,
    mut turns_lost: impl FnMut() -> u64,
    span: Nanos,
    shortest: Nanos,
    gaps: &mut [Gap],
) -> (Nanos, usize) {
    let mut lost_before = turns_lost();
    let start = clock.now();
    let end = start.saturating_add(span);
    let mut last = start;
    let mut found = 0;
    while last < end && found < gaps.len() {
        let now = clock.now();
        let length = now.saturating_sub(last);
        last = now;
        if length >= shortest {
            let lost_now = turns_lost();
            let switched = lost_now != lost_before;
            gaps[found] = Gap { length, switched };
            found += 1;
            lost_before = lost_now;
            last = clock.now();
        }
    }
    (last.saturating_sub(start), found)
}

/// The cost of one reading, in nanoseconds: the median of 65 batches of 256, which no gap can move.
fn read_cost(clock: &impl Clock) -> f64 {
    const BATCH: u32 = 256;
    let mut batches: Vec<Nanos> = (0..65)
        .map(|_| {
            let start = clock.now();
            let mut end = start;
            for _ in 0..BATCH {
                end = clock.now();
            }
            end.saturating_sub(start)
        })
        .collect();
    batches.sort_unstable();
    quantile(&batches, 0.5).map_or(0.0, |median| median.0 as f64 / f64::from(BATCH))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Each reading takes 20 ns; at the given readings, longer.
    struct Halting<'a> {
        now: Cell<u64>,
        reading: Cell<usize>,
        halts: &'a [(usize, u64)],
    }

    impl<'a> Halting<'a> {
        fn new(halts: &'a [(usize, u64)]) -> Self {
            Self { now: Cell::new(5_000), reading: Cell::new(0), halts }
        }
    }

    impl Clock for Halting<'_> {
        fn now(&self) -> Nanos {
            let reading = self.reading.get();
            let halt = self.halts.iter().find(|(at, _)| *at == reading);
            self.reading.set(reading + 1);
            self.now.set(self.now.get() + halt.map_or(20, |(_, halt)| *halt));
            Nanos(self.now.get())
        }
    }

    /// Spins on that clock; `switches` are what the counter says from one question to the next.
    fn spun(clock: &Halting, span: Nanos, switches: &[u64]) -> (Nanos, Vec<Gap>) {
        let mut answers = switches.iter().copied();
        let mut gaps = [Gap::NONE; 8];
        let count = || answers.next().unwrap_or(0);
        let (elapsed, found) = spin(clock, count, span, SHORTEST_GAP, &mut gaps);
        (elapsed, gaps[..found].to_vec())
    }

    fn gap(length: u64, switched: bool) -> Gap {
        Gap { length: Nanos(length), switched }
    }

    #[test]
    fn a_spin_writes_down_the_gaps_and_nothing_else() {
        let clock = Halting::new(&[(10, 7_000), (20, 999), (30, 60_000)]);
        let (elapsed, gaps) = spun(&clock, Nanos::from_micros(100), &[]);
        assert_eq!(gaps, [gap(7_000, false), gap(60_000, false)]);
        assert!(elapsed >= Nanos::from_micros(100) && elapsed < Nanos::from_micros(101));
    }

    #[test]
    fn a_gap_without_a_switch_came_from_outside() {
        let clock = Halting::new(&[(10, 7_000), (20, 8_000), (30, 9_000), (40, 6_000)]);
        let (_, gaps) = spun(&clock, Nanos::from_micros(40), &[5, 5, 6, 6, 9]);
        let expected = [gap(7_000, false), gap(8_000, true), gap(9_000, false), gap(6_000, true)];
        assert_eq!(gaps, expected);
    }

    #[test]
    fn a_gap_that_reaches_beyond_the_end_counts_whole() {
        let clock = Halting::new(&[(3, 10_000_000)]);
        let (elapsed, gaps) = spun(&clock, Nanos(200), &[]);
        assert_eq!(gaps, [gap(10_000_000, false)]);
        assert_eq!(elapsed, Nanos(10_000_060));
    }

    #[test]
    fn a_spin_ends_when_there_is_no_room_for_another_gap() {
        let halts: Vec<(usize, u64)> = (1..100).map(|i| (2 * i, 5_000)).collect();
        let (elapsed, gaps) = spun(&Halting::new(&halts), Nanos::from_millis(5), &[]);
        assert_eq!(gaps.len(), 8);
        assert!(elapsed < Nanos::from_micros(50));
    }

    #[test]
    fn a_gap_does_not_move_the_cost_of_a_reading() {
        let clock = Halting::new(&[(100, 9_000_000), (700, 9_000_000)]);
        assert!((read_cost(&clock) - 20.0).abs() < 1e-9);
    }
}
