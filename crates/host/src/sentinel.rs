//! Finds when a CPU was taken away, by a thread that sleeps on it.
//!
//! A thread with real-time priority wakes at regular intervals. Only other real-time threads, interrupts and the
//! hypervisor can make it late, so a late wake-up is CPU time that they took. Programs of normal priority, however
//! busy, delay it by at most one context switch.
//!
//! ```text
//!   scheduled  .    .    .    .    .    .
//!   woken      |    |           |  |    |
//!                   <- taken -->        from the last wake-up, which overstates it by at most a period
//! ```
//!
//! Without the right to real-time priority, it runs at the highest normal priority and may have to wait for its CPU
//! behind the server. The kernel reports how long (`run_delay`), and only the rest of the delay counts as
//! interference. The wait itself may be interference or the server's work; the two cannot be distinguished, so it
//! is stored separately as unsure.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hindmost_clock::{Clock, MonotonicClock, Nanos};
use hindmost_sys::this_thread;
use schemars::JsonSchema;
use serde::Serialize;

/// Wake-ups later than this are recorded. An idle CPU of a virtual machine takes about 20 us to wake, and
/// interrupts of a server's own traffic occupy it for about 30 us.
const LATE_THRESHOLD: Nanos = Nanos::from_micros(100);

/// How long `end` waits for a sentinel whose CPU is occupied.
const END_TIMEOUT: Duration = Duration::from_secs(2);

/// Interval at which `end` checks.
const CHECK_INTERVAL: Duration = Duration::from_micros(200);

/// Capacity for late wake-ups.
const CAPACITY: usize = 1 << 16;

/// Observations of one CPU, in nanoseconds of the monotonic clock.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(transform = make_unsure_optional)]
#[schemars(rename = "Watched")]
pub struct CpuObservations {
    /// The number of the CPU.
    pub cpu: u32,
    /// Start of the observation ...
    pub from_ns: u64,
    /// ... and its end.
    pub to_ns: u64,
    /// Interval between wake-ups.
    pub period_ns: u64,
    /// A wake-up later than this is late.
    pub late_ns: u64,
    /// Number of wake-ups.
    pub wakings: u64,
    /// CPU time of the sentinel.
    pub cpu_ns: u64,
    /// Late wake-ups: the previous wake-up, the scheduled time, and the actual time.
    pub spans_ns: Vec<[u64; 3]>,
    /// The sentinel's own waits for the CPU, in the same form: interference, or the server's work. Absent at
    /// real-time priority, where it waits for no other thread.
    pub unsure_ns: Option<Vec<[u64; 3]>>,
    /// Late wake-ups beyond the capacity.
    pub missed: u64,
}

/// Make `unsure_ns` optional: sentinels of early studies all had real-time priority.
fn make_unsure_optional(schema: &mut schemars::Schema) {
    if let Some(required) = schema.get_mut("required").and_then(|one| one.as_array_mut()) {
        required.retain(|name| name != "unsure_ns");
    }
}

/// A thread that observes one CPU until it is stopped.
#[derive(Debug)]
pub struct Sentinel {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<CpuObservations>>,
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
    }
}

impl Sentinel {
    /// Start to observe `cpu`, waking every `period`, at real-time priority if `real_time` is set and
    /// permitted.
    ///
    /// # Errors
    /// The kernel's error if the thread cannot be pinned to that CPU, or if neither real-time priority nor the
    /// time that it waited is available.
    pub fn start(cpu: u32, period: Nanos, real_time: bool) -> io::Result<Self> {
        let ends = Arc::new(AtomicBool::new(false));
        let stop = ends.clone();
        let (tell, ready) = sync_channel(1);
        let thread = std::thread::Builder::new().name(format!("sentinel-{cpu}")).spawn(move || {
            let mut watch = Watch::new();
            let prepared = this_thread::pin(cpu as usize).and_then(|()| {
                let denied = if real_time { this_thread::make_real_time().err() } else { None };
                if real_time && denied.is_none() {
                    return Ok(None);
                }
                WaitClock::open().map(Some).map_err(|e| denied.unwrap_or(e))
            });
            let sleep_until = |at: Nanos| this_thread::sleep_until(at.0);
            let before = this_thread::cpu_time_ns();
            let is_over = || stop.load(Ordering::Relaxed);
            let (span, waits) = match prepared {
                Ok(waits) => {
                    let _ = tell.send(Ok(()));
                    let waited = || waits.as_ref().map_or(Nanos::ZERO, WaitClock::total);
                    (watch.follow(&MonotonicClock, period, sleep_until, waited, is_over), waits.is_some())
                }
                Err(e) => {
                    let _ = tell.send(Err(e));
                    ((Nanos::ZERO, Nanos::ZERO), false)
                }
            };
            watch.into_watched(cpu, period, span, this_thread::cpu_time_ns() - before, waits)
        })?;
        ready.recv().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))?;
        Ok(Self { ends, thread: Some(thread) })
    }

    /// Stop the sentinel and return its observations, within a period, or within two seconds if its CPU is
    /// occupied.
    ///
    /// # Errors
    /// [`io::ErrorKind::TimedOut`] in the second case; the thread ends as soon as its CPU is free.
    pub fn end(self) -> io::Result<CpuObservations> {
        self.end_within(END_TIMEOUT)
    }

    fn end_within(mut self, patience: Duration) -> io::Result<CpuObservations> {
        self.ends.store(true, Ordering::Relaxed);
        let thread = self.thread.take().ok_or(io::ErrorKind::NotFound)?;
        let begun = Instant::now();
        while !thread.is_finished() {
            if begun.elapsed() > patience {
                let text =
                    format!("other threads have occupied the CPU for the last {} s", patience.as_secs_f64());
                return Err(io::Error::new(io::ErrorKind::TimedOut, text));
            }
            std::thread::sleep(CHECK_INTERVAL);
        }
        thread.join().map_err(|_| io::ErrorKind::Other.into())
    }
}

/// Time that the calling thread was ready to run while others had its CPU (proc(5), `schedstat`).
struct WaitClock(File);

impl WaitClock {
    fn open() -> io::Result<Self> {
        // Raise the priority if permitted; otherwise keep the normal one.
        let _ = this_thread::make_urgent();
        this_thread::make_timers_precise();
        let waits = Self(File::open("/proc/thread-self/schedstat")?);
        waits.read().map(|_| waits)
    }

    fn total(&self) -> Nanos {
        self.read().unwrap_or(Nanos::ZERO)
    }

    fn read(&self) -> io::Result<Nanos> {
        let mut text = [0; 64];
        let long = self.0.read_at(&mut text, 0)?;
        let second =
            std::str::from_utf8(&text[..long]).ok().and_then(|text| text.split(' ').nth(1)?.parse().ok());
        second.map(Nanos).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

struct Watch {
    spans: Vec<[u64; 3]>,
    unsure: Vec<[u64; 3]>,
    wakings: u64,
    missed: u64,
}

impl Watch {
    fn new() -> Self {
        let [spans, unsure] = [(); 2].map(|()| {
            let mut room = vec![[u64::MAX; 3]; CAPACITY]; // written, so that no page is first touched during the observation
            room.clear();
            room
        });
        Self { spans, unsure, wakings: 0, missed: 0 }
    }

    /// Sleep and wake until `is_over`; return start and end of the observation. `waited` returns the total time
    /// that the thread was ready but not running; zero at real-time priority.
    fn follow(
        &mut self,
        clock: &impl Clock,
        period: Nanos,
        sleep_until: impl Fn(Nanos),
        waited: impl Fn() -> Nanos,
        is_over: impl Fn() -> bool,
    ) -> (Nanos, Nanos) {
        let from = clock.now();
        let (mut alive, mut before) = (from, waited());
        while !is_over() {
            let scheduled = alive + period;
            sleep_until(scheduled);
            let woken = clock.now();
            self.wakings += 1;
            let total = waited();
            let wait = total.saturating_sub(before);
            let ready = woken.saturating_sub(wait);
            if ready.saturating_sub(scheduled) > LATE_THRESHOLD {
                self.missed += store(&mut self.spans, [alive.0, scheduled.0, ready.0]);
            }
            if wait > LATE_THRESHOLD {
                self.missed += store(&mut self.unsure, [alive.0, scheduled.0, woken.0]);
            }
            (alive, before) = (woken, total);
        }
        (from, alive)
    }

    fn into_watched(
        self,
        cpu: u32,
        period: Nanos,
        (from, to): (Nanos, Nanos),
        cpu_ns: u64,
        waits: bool,
    ) -> CpuObservations {
        CpuObservations {
            cpu,
            from_ns: from.0,
            to_ns: to.0,
            period_ns: period.0,
            late_ns: LATE_THRESHOLD.0,
            wakings: self.wakings,
            cpu_ns,
            spans_ns: self.spans,
            unsure_ns: waits.then_some(self.unsure),
            missed: self.missed,
        }
    }
}

/// Store a span if there is room; return the number of dropped spans (0 or 1).
fn store(spans: &mut Vec<[u64; 3]>, span: [u64; 3]) -> u64 {
    let room = spans.len() < CAPACITY;
    if room {
        spans.push(span);
    }
    u64::from(!room)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use hindmost_clock::FakeClock;

    use super::*;

    #[test]
    fn only_late_wakeups_are_stored_with_the_previous_one() {
        let clock = FakeClock::new(Nanos::from_millis(5));
        let (turn, mut watch) = (Cell::new(0), Watch::new());
        let sleep_until = |at: Nanos| {
            turn.set(turn.get() + 1);
            // The third is 3 ms late; the fifth is late by exactly the limit, which does not count.
            let late = [0, 0, 3_000_000, 7_000, 100_000][turn.get() - 1];
            clock.set(at + Nanos(late));
        };
        let (from, to) =
            watch.follow(&clock, Nanos::from_millis(1), sleep_until, || Nanos::ZERO, || turn.get() == 5);
        assert_eq!((from.0, to.0), (5_000_000, 13_107_000));
        assert_eq!((watch.wakings, watch.missed), (5, 0));
        assert_eq!(watch.spans, [[7_000_000, 8_000_000, 11_000_000]]);
    }

    #[test]
    fn a_sentinel_stops_on_request_and_reports_its_cost() {
        let cpu = this_thread::allowed_cpus()[0] as u32;
        let Ok(sentinel) = Sentinel::start(cpu, Nanos::from_millis(1), true) else {
            return; // real-time priority is not permitted here
        };
        std::thread::sleep(std::time::Duration::from_millis(30));
        let seen = sentinel.end().unwrap();
        assert!(seen.wakings > 0 && seen.to_ns > seen.from_ns, "{seen:?}");
        assert!(seen.cpu_ns > 0 && seen.cpu_ns < (seen.to_ns - seen.from_ns) / 2, "{seen:?}");
    }

    #[test]
    fn its_own_waits_are_stored_as_unsure_and_not_as_interference() {
        let clock = FakeClock::new(Nanos::from_millis(5));
        let (turn, waited, mut watch) = (Cell::new(0), Cell::new(0), Watch::new());
        let sleep_until = |at: Nanos| {
            // A wait of 2 ms behind the server; an interruption of 3 ms; both, the interruption first;
            // 50 us, which is ignored.
            let (interference, wait) =
                [(0, 2_000_000), (3_000_000, 0), (1_000_000, 500_000), (0, 50_000)][turn.get()];
            turn.set(turn.get() + 1);
            waited.set(waited.get() + wait);
            clock.set(at + Nanos(interference + wait));
        };
        let total = || Nanos(waited.get());
        watch.follow(&clock, Nanos::from_millis(1), sleep_until, total, || turn.get() == 4);
        assert_eq!(watch.spans, [[8_000_000, 9_000_000, 12_000_000], [12_000_000, 13_000_000, 14_000_000]]);
        assert_eq!(watch.unsure, [[5_000_000, 6_000_000, 8_000_000], [12_000_000, 13_000_000, 14_500_000]]);
    }

    #[test]
    fn without_real_time_priority_it_reports_its_waits() {
        let cpu = this_thread::allowed_cpus()[0] as u32;
        let sentinel = Sentinel::start(cpu, Nanos::from_millis(1), false).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(30));
        let seen = sentinel.end().unwrap();
        assert!(seen.wakings > 0 && seen.unsure_ns.is_some(), "{seen:?}");
    }

    #[test]
    fn late_wakeups_beyond_the_capacity_are_counted() {
        let clock = FakeClock::new(Nanos::from_millis(5));
        let (turn, mut watch) = (Cell::new(0), Watch::new());
        let late = |at: Nanos| {
            turn.set(turn.get() + 1);
            clock.set(at + Nanos::from_millis(1));
        };
        watch.follow(&clock, Nanos::from_millis(1), late, || Nanos::ZERO, || turn.get() == CAPACITY + 7);
        assert_eq!((watch.spans.len(), watch.missed), (CAPACITY, 7));
    }

    #[test]
    fn an_endless_interruption_does_not_block_the_end() {
        let ends = Arc::new(AtomicBool::new(false));
        let thread = std::thread::spawn(|| {
            std::thread::sleep(Duration::from_secs(60));
            unreachable!("the test has ended")
        });
        let sentinel = Sentinel { ends: ends.clone(), thread: Some(thread) };
        let error = sentinel.end_within(Duration::from_millis(50)).unwrap_err();
        assert!(ends.load(Ordering::Relaxed), "the thread was asked to stop");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_refused() {
        let error = Sentinel::start(u32::MAX, Nanos::from_millis(1), true).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }
}
