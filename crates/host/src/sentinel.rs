//! When a processor was away, seen by a thread of ours that sleeps on it.
//!
//! A thread at real-time priority wakes every so often; nobody in this system but other real-time threads and
//! interrupts can make it late, so that a late waking is the time of the hypervisor or theirs. Whose programs run
//! there at usual priority, and how busy they are, delays it by a context switch at most.
//!
//! ```text
//!   asked for  .    .    .    .    .    .
//!   woken      |    |           |  |    |
//!                   <- taken -->        from the last sign of life, which is a period too much at most
//! ```

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::Arc;
use std::thread::JoinHandle;

use hindmost_clock::{Clock, MonotonicClock, Nanos};
use hindmost_sys::this_thread;
use schemars::JsonSchema;
use serde::Serialize;

/// Wakings later than this count. An idle processor of a virtual machine takes some 20 us to wake, and interrupts of
/// a server's own traffic hold it some 30 us.
const LATE: Nanos = Nanos::from_micros(100);

/// Late wakings that there is room for.
const ROOM: usize = 1 << 16;

/// A processor that was watched, in nanoseconds of the monotonic clock.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Watched {
    /// The processor.
    pub cpu: u32,
    /// From when ...
    pub from_ns: u64,
    /// ... until when.
    pub to_ns: u64,
    /// How often the sentinel asked to be woken.
    pub period_ns: u64,
    /// It counts as late above this.
    pub late_ns: u64,
    /// How often it woke.
    pub wakings: u64,
    /// What that cost the processor.
    pub cpu_ns: u64,
    /// Late wakings: the last sign of life, when the waking was due, and when it came.
    pub spans_ns: Vec<[u64; 3]>,
    /// Late wakings that there was no room for.
    pub missed: u64,
}

/// A thread that watches one processor until it is told to end.
#[derive(Debug)]
pub struct Sentinel {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<Watched>>,
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
    }
}

impl Sentinel {
    /// Watches `cpu` from now on, awake every `period`.
    ///
    /// # Errors
    /// What the kernel says of a thread bound to that processor at real-time priority.
    pub fn start(cpu: u32, period: Nanos) -> io::Result<Self> {
        let ends = Arc::new(AtomicBool::new(false));
        let told = ends.clone();
        let (tell, ready) = sync_channel(1);
        let thread = std::thread::Builder::new().name(format!("sentinel-{cpu}")).spawn(move || {
            let mut watch = Watch::new();
            let prepared = this_thread::pin(cpu as usize).and_then(|()| this_thread::make_real_time());
            let well = prepared.is_ok();
            let _ = tell.send(prepared);
            let asleep = |at: Nanos| this_thread::sleep_until(at.0);
            let before = this_thread::cpu_time_ns();
            let span = if well {
                watch.follow(&MonotonicClock, period, asleep, || told.load(Ordering::Relaxed))
            } else {
                (Nanos::ZERO, Nanos::ZERO)
            };
            watch.told(cpu, period, span, this_thread::cpu_time_ns() - before)
        })?;
        ready.recv().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))?;
        Ok(Self { ends, thread: Some(thread) })
    }

    /// What was seen; returns within a period.
    ///
    /// # Errors
    /// If the thread died.
    pub fn end(mut self) -> io::Result<Watched> {
        self.ends.store(true, Ordering::Relaxed);
        let thread = self.thread.take().ok_or(io::ErrorKind::NotFound)?;
        thread.join().map_err(|_| io::ErrorKind::Other.into())
    }
}

struct Watch {
    spans: Vec<[u64; 3]>,
    wakings: u64,
    missed: u64,
}

impl Watch {
    fn new() -> Self {
        let mut spans = vec![[u64::MAX; 3]; ROOM]; // written, so that no page is first touched on the way
        spans.clear();
        Self { spans, wakings: 0, missed: 0 }
    }

    /// Sleeps and wakes until `over`; returns from when until when.
    fn follow(
        &mut self,
        clock: &impl Clock,
        period: Nanos,
        asleep: impl Fn(Nanos),
        over: impl Fn() -> bool,
    ) -> (Nanos, Nanos) {
        let from = clock.now();
        let mut alive = from;
        while !over() {
            let due = alive + period;
            asleep(due);
            let woken = clock.now();
            self.wakings += 1;
            if woken.saturating_sub(due) > LATE {
                self.keep([alive.0, due.0, woken.0]);
            }
            alive = woken;
        }
        (from, alive)
    }

    fn keep(&mut self, span: [u64; 3]) {
        if self.spans.len() < ROOM {
            self.spans.push(span);
        } else {
            self.missed += 1;
        }
    }

    fn told(self, cpu: u32, period: Nanos, (from, to): (Nanos, Nanos), cpu_ns: u64) -> Watched {
        Watched {
            cpu,
            from_ns: from.0,
            to_ns: to.0,
            period_ns: period.0,
            late_ns: LATE.0,
            wakings: self.wakings,
            cpu_ns,
            spans_ns: self.spans,
            missed: self.missed,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use hindmost_clock::FakeClock;

    use super::*;

    #[test]
    fn a_late_waking_is_kept_with_the_last_sign_of_life_and_none_else() {
        let clock = FakeClock::at(Nanos::from_millis(5));
        let (turn, mut watch) = (Cell::new(0), Watch::new());
        let asleep = |at: Nanos| {
            turn.set(turn.get() + 1);
            // The third is 3 ms late, the fifth as late as none counts.
            let late = [0, 0, 3_000_000, 7_000, 100_000][turn.get() - 1];
            clock.set(at + Nanos(late));
        };
        let (from, to) = watch.follow(&clock, Nanos::from_millis(1), asleep, || turn.get() == 5);
        assert_eq!((from.0, to.0), (5_000_000, 13_107_000));
        assert_eq!((watch.wakings, watch.missed), (5, 0));
        assert_eq!(watch.spans, [[7_000_000, 8_000_000, 11_000_000]]);
    }

    #[test]
    fn a_sentinel_ends_when_told_and_says_what_it_cost() {
        let cpu = this_thread::allowed_cpus()[0] as u32;
        let Ok(sentinel) = Sentinel::start(cpu, Nanos::from_millis(1)) else {
            hindmost_skips::skipped("no thread may have real-time priority here");
            return;
        };
        std::thread::sleep(std::time::Duration::from_millis(30));
        let seen = sentinel.end().unwrap();
        assert!(seen.wakings > 0 && seen.to_ns > seen.from_ns, "{seen:?}");
        assert!(seen.cpu_ns > 0 && seen.cpu_ns < (seen.to_ns - seen.from_ns) / 2, "{seen:?}");
    }

    #[test]
    fn a_processor_that_cannot_be_had_is_refused() {
        let error = Sentinel::start(u32::MAX, Nanos::from_millis(1)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }
}
