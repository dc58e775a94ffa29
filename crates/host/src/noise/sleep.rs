use std::thread;
use std::time::Duration;

use hindmost_clock::{Clock, MonotonicClock, Nanos};
use hindmost_sys::this_thread;
use schemars::JsonSchema;
use serde::Serialize;

use super::quantile;

/// Length of a sleep between requests at 10,000 requests/s.
const SLEEP_LENGTH: Nanos = Nanos::from_micros(100);

/// Enough for a p99 that two sleeps exceed, in about 40 ms.
const SLEEPS: usize = 200;

/// How late a sleep ends with the smallest timer slack (1 ns). The delay consists of the timer interrupt, the
/// wake-up of an idle CPU and the run queue. A thread that sleeps between requests sends them this much late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Oversleep {
    /// Length of the sleeps in nanoseconds.
    pub asked_ns: u64,
    /// Number of sleeps.
    pub sleeps: usize,
    /// Median delay in nanoseconds.
    pub p50_ns: u64,
    /// 99th percentile of the delay in nanoseconds.
    pub p99_ns: u64,
}

impl Oversleep {
    /// Sleep on a new thread pinned to `cpu`; `None` if no thread can be created.
    pub fn measure(cpu: u32) -> Option<Self> {
        let sleeper = move || {
            let _ = this_thread::pin(cpu as usize);
            this_thread::make_timers_precise();
            let clock = MonotonicClock;
            let mut late: Vec<Nanos> = (0..SLEEPS)
                .map(|_| {
                    let start = clock.now();
                    thread::sleep(Duration::from_nanos(SLEEP_LENGTH.0));
                    clock.now().saturating_sub(start.saturating_add(SLEEP_LENGTH))
                })
                .collect();
            late.sort_unstable();
            Self::summarise(&late)
        };
        let builder = thread::Builder::new().name("sleep".to_owned());
        builder.spawn(sleeper).ok()?.join().ok()?
    }

    fn summarise(sorted: &[Nanos]) -> Option<Self> {
        Some(Self {
            asked_ns: SLEEP_LENGTH.0,
            sleeps: sorted.len(),
            p50_ns: quantile(sorted, 0.5)?.0,
            p99_ns: quantile(sorted, 0.99)?.0,
        })
    }
}
