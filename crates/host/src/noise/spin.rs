use std::thread;

use hindmost_clock::{Clock, MonotonicClock, Nanos};
use hindmost_sys::this_thread;
use schemars::JsonSchema;
use serde::Serialize;

use super::{quantile, Gaps};
use crate::counters::ThreadCounters;

/// Shorter pauses cannot be distinguished from a slow reading: a cache miss, a page walk, a burst of the sibling
/// thread.
const SHORTEST_GAP: Nanos = Nanos(1_000);

/// A gap is also at least this many readings long, because some clock sources are slow (hpet, 1 us).
const SHORTEST_GAP_IN_READINGS: f64 = 8.0;

/// Most gaps of a spin, which then ends early: a hundred thousand are sufficient.
const MOST_GAPS: usize = 100_000;

/// Measurements on one CPU while a thread pinned to it only read the clock.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct NoiseFloor {
    /// The CPU.
    pub cpu: u32,
    /// Whether the thread could be pinned; otherwise it ran on any CPU.
    pub pinned: bool,
    /// Length of the spin in nanoseconds.
    pub elapsed_ns: u64,
    /// Cost of one reading of `CLOCK_MONOTONIC` in nanoseconds (median of batches).
    pub read_cost_ns: f64,
    /// Statistics of all gaps.
    pub gaps: Gaps,
    /// Statistics of the gaps in which no other thread of this host ran: interrupts and, in a virtual machine,
    /// the hypervisor.
    pub outside: Gaps,
    /// Time that it waited for another thread of this host; `None` if the scheduler keeps no statistics.
    pub run_delay_ns: Option<u64>,
    /// How often another thread preempted it.
    pub involuntary_switches: u64,
}

/// One pause of the spinning thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Gap {
    length: Nanos,
    /// Whether another thread of this host ran in the gap.
    switched: bool,
}

impl Gap {
    const NONE: Self = Self { length: Nanos::MAX, switched: true };
}

/// Spin on all of `cpus` at the same time, as a measurement would. A CPU without a thread is skipped.
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
    // Written now, so that no page is first touched during the spin.
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
        gaps: Gaps::new(lengths(|_| true), elapsed),
        outside: Gaps::new(lengths(|gap| !gap.switched), elapsed),
        run_delay_ns: meanwhile.schedule.map(|schedule| schedule.run_delay_ns),
        involuntary_switches: meanwhile.involuntary_switches,
    }
}

/// Read the clock for `span` and store every gap of at least `shortest`, until `gaps` is full. Return the elapsed
/// time and the number of gaps. `turns_lost` returns how often the thread was preempted; it is called only after a
/// gap, and its own duration is excluded.
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

/// Return the cost of one reading in nanoseconds: the median of 65 batches of 256, which is robust against gaps.
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

    /// A clock whose readings take 20 ns, and longer at the given ones.
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

    /// Spin with that clock; `switches` are the successive values of the counter.
    fn record_spin(clock: &Halting, span: Nanos, switches: &[u64]) -> (Nanos, Vec<Gap>) {
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
    fn a_spin_records_gaps_only() {
        let clock = Halting::new(&[(10, 7_000), (20, 999), (30, 60_000)]);
        let (elapsed, gaps) = record_spin(&clock, Nanos::from_micros(100), &[]);
        assert_eq!(gaps, [gap(7_000, false), gap(60_000, false)]);
        assert!(elapsed >= Nanos::from_micros(100) && elapsed < Nanos::from_micros(101));
    }

    #[test]
    fn a_gap_without_a_switch_is_marked() {
        let clock = Halting::new(&[(10, 7_000), (20, 8_000), (30, 9_000), (40, 6_000)]);
        let (_, gaps) = record_spin(&clock, Nanos::from_micros(40), &[5, 5, 6, 6, 9]);
        let expected = [gap(7_000, false), gap(8_000, true), gap(9_000, false), gap(6_000, true)];
        assert_eq!(gaps, expected);
    }

    #[test]
    fn a_gap_beyond_the_end_counts_in_full() {
        let clock = Halting::new(&[(3, 10_000_000)]);
        let (elapsed, gaps) = record_spin(&clock, Nanos(200), &[]);
        assert_eq!(gaps, [gap(10_000_000, false)]);
        assert_eq!(elapsed, Nanos(10_000_060));
    }

    #[test]
    fn a_spin_ends_when_the_buffer_is_full() {
        let halts: Vec<(usize, u64)> = (1..100).map(|i| (2 * i, 5_000)).collect();
        let (elapsed, gaps) = record_spin(&Halting::new(&halts), Nanos::from_millis(5), &[]);
        assert_eq!(gaps.len(), 8);
        assert!(elapsed < Nanos::from_micros(50));
    }

    #[test]
    fn a_gap_does_not_change_the_cost_of_a_reading() {
        let clock = Halting::new(&[(100, 9_000_000), (700, 9_000_000)]);
        assert!((read_cost(&clock) - 20.0).abs() < 1e-9);
    }
}
