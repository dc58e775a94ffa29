use std::thread;
use std::time::Duration;

use hindmost_clock::{Clock, MonotonicClock, Nanos};
use hindmost_sys::this_thread;
use schemars::JsonSchema;
use serde::Serialize;

use super::quantile;

/// As long as a thread sleeps between requests at 10,000 a second.
const ASKED: Nanos = Nanos::from_micros(100);

/// Enough for a p99 that two of them exceed, in about 40 ms.
const SLEEPS: usize = 200;

/// How much later than asked a sleep ends, with the smallest timer slack (1 ns): what is left is the
/// timer's interrupt, the wake-up of an idle CPU and the way through the run queue. A thread that
/// sleeps between requests sends them that much late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Oversleep {
    /// The length of the sleeps.
    pub asked_ns: u64,
    /// How many there were.
    pub sleeps: usize,
    /// Median of the time beyond.
    pub p50_ns: u64,
    /// 99th percentile of it.
    pub p99_ns: u64,
}

impl Oversleep {
    /// Sleeps on a thread of its own, bound to `cpu`; `None` where no thread can be had.
    pub fn measure(cpu: u32) -> Option<Self> {
        let sleeper = move || {
            let _ = this_thread::pin(cpu as usize);
            this_thread::make_timers_precise();
            let clock = MonotonicClock;
            let mut late: Vec<Nanos> = (0..SLEEPS)
                .map(|_| {
                    let start = clock.now();
                    thread::sleep(Duration::from_nanos(ASKED.0));
                    clock.now().saturating_sub(start.saturating_add(ASKED))
                })
                .collect();
            late.sort_unstable();
            Self::of(&late)
        };
        let builder = thread::Builder::new().name("sleep".to_owned());
        builder.spawn(sleeper).ok()?.join().ok()?
    }

    fn of(sorted: &[Nanos]) -> Option<Self> {
        Some(Self {
            asked_ns: ASKED.0,
            sleeps: sorted.len(),
            p50_ns: quantile(sorted, 0.5)?.0,
            p99_ns: quantile(sorted, 0.99)?.0,
        })
    }
}
