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
//!
//! Without the right to real-time priority it wakes at the highest usual one there is, and may have to wait for its
//! processor behind the server. How long, the kernel says (`run_delay`): what is left of a lateness is taken. A wait
//! may itself be a theft, or the server's work: nobody can tell, so it is kept apart, as unsure.

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

/// Wakings later than this count. An idle processor of a virtual machine takes some 20 us to wake, and interrupts of
/// a server's own traffic hold it some 30 us.
const LATE: Nanos = Nanos::from_micros(100);

/// How long the end waits for a sentinel that has not had its processor.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often it looks meanwhile.
const LOOK: Duration = Duration::from_micros(200);

/// Late wakings that there is room for.
const ROOM: usize = 1 << 16;

/// A processor that was watched, in nanoseconds of the monotonic clock.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(transform = unsure_came_later)]
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
    /// Its own waits for the processor, in the same way: thefts, or the server's work. None at real-time priority, where it
    /// waits for nobody.
    pub unsure_ns: Option<Vec<[u64; 3]>>,
    /// Late wakings that there was no room for.
    pub missed: u64,
}

/// Sentinels of early studies all had real-time priority.
fn unsure_came_later(schema: &mut schemars::Schema) {
    if let Some(required) = schema.get_mut("required").and_then(|one| one.as_array_mut()) {
        required.retain(|name| name != "unsure_ns");
    }
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
    /// Watches `cpu` from now on, awake every `period`; `real_time`: before all others, if that is permitted.
    ///
    /// # Errors
    /// What the kernel says of a thread bound to that processor; where it may not have real-time priority, nor know how
    /// long it waited, of that priority.
    pub fn start(cpu: u32, period: Nanos, real_time: bool) -> io::Result<Self> {
        let ends = Arc::new(AtomicBool::new(false));
        let told = ends.clone();
        let (tell, ready) = sync_channel(1);
        let thread = std::thread::Builder::new().name(format!("sentinel-{cpu}")).spawn(move || {
            let mut watch = Watch::new();
            let prepared = this_thread::pin(cpu as usize).and_then(|()| {
                let denied = if real_time { this_thread::make_real_time().err() } else { None };
                if real_time && denied.is_none() {
                    return Ok(None);
                }
                OwnWaits::open().map(Some).map_err(|e| denied.unwrap_or(e))
            });
            let asleep = |at: Nanos| this_thread::sleep_until(at.0);
            let before = this_thread::cpu_time_ns();
            let over = || told.load(Ordering::Relaxed);
            let (span, waits) = match prepared {
                Ok(waits) => {
                    let _ = tell.send(Ok(()));
                    let waited = || waits.as_ref().map_or(Nanos::ZERO, OwnWaits::so_far);
                    (watch.follow(&MonotonicClock, period, asleep, waited, over), waits.is_some())
                }
                Err(e) => {
                    let _ = tell.send(Err(e));
                    ((Nanos::ZERO, Nanos::ZERO), false)
                }
            };
            watch.told(cpu, period, span, this_thread::cpu_time_ns() - before, waits)
        })?;
        ready.recv().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))?;
        Ok(Self { ends, thread: Some(thread) })
    }

    /// What was seen; returns within a period, or two seconds where others keep the processor for good.
    ///
    /// # Errors
    /// [`io::ErrorKind::TimedOut`] in that case; the thread ends when it has its processor again.
    pub fn end(self) -> io::Result<Watched> {
        self.end_within(PATIENCE)
    }

    fn end_within(mut self, patience: Duration) -> io::Result<Watched> {
        self.ends.store(true, Ordering::Relaxed);
        let thread = self.thread.take().ok_or(io::ErrorKind::NotFound)?;
        let begun = Instant::now();
        while !thread.is_finished() {
            if begun.elapsed() > patience {
                let text =
                    format!("others have kept the processor for {} s, to the end", patience.as_secs_f64());
                return Err(io::Error::new(io::ErrorKind::TimedOut, text));
            }
            std::thread::sleep(LOOK);
        }
        thread.join().map_err(|_| io::ErrorKind::Other.into())
    }
}

/// How long the calling thread has been ready to run while others had its processor (proc(5), `schedstat`).
struct OwnWaits(File);

impl OwnWaits {
    fn open() -> io::Result<Self> {
        // As much as may be: without the right to it, as all others.
        let _ = this_thread::make_urgent();
        this_thread::make_timers_precise();
        let waits = Self(File::open("/proc/thread-self/schedstat")?);
        waits.read().map(|_| waits)
    }

    fn so_far(&self) -> Nanos {
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
            let mut room = vec![[u64::MAX; 3]; ROOM]; // written, so that no page is first touched on the way
            room.clear();
            room
        });
        Self { spans, unsure, wakings: 0, missed: 0 }
    }

    /// Sleeps and wakes until `over`; returns from when until when. `waited`: how long it was kept from running so far,
    /// zero where nobody can.
    fn follow(
        &mut self,
        clock: &impl Clock,
        period: Nanos,
        asleep: impl Fn(Nanos),
        waited: impl Fn() -> Nanos,
        over: impl Fn() -> bool,
    ) -> (Nanos, Nanos) {
        let from = clock.now();
        let (mut alive, mut before) = (from, waited());
        while !over() {
            let due = alive + period;
            asleep(due);
            let woken = clock.now();
            self.wakings += 1;
            let total = waited();
            let wait = total.saturating_sub(before);
            let ready = woken.saturating_sub(wait);
            if ready.saturating_sub(due) > LATE {
                self.missed += keep(&mut self.spans, [alive.0, due.0, ready.0]);
            }
            if wait > LATE {
                self.missed += keep(&mut self.unsure, [alive.0, due.0, woken.0]);
            }
            (alive, before) = (woken, total);
        }
        (from, alive)
    }

    fn told(self, cpu: u32, period: Nanos, (from, to): (Nanos, Nanos), cpu_ns: u64, waits: bool) -> Watched {
        Watched {
            cpu,
            from_ns: from.0,
            to_ns: to.0,
            period_ns: period.0,
            late_ns: LATE.0,
            wakings: self.wakings,
            cpu_ns,
            spans_ns: self.spans,
            unsure_ns: waits.then_some(self.unsure),
            missed: self.missed,
        }
    }
}

/// Keeps a span if there is room; returns how many there was none for.
fn keep(spans: &mut Vec<[u64; 3]>, span: [u64; 3]) -> u64 {
    let room = spans.len() < ROOM;
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
    fn a_late_waking_is_kept_with_the_last_sign_of_life_and_none_else() {
        let clock = FakeClock::at(Nanos::from_millis(5));
        let (turn, mut watch) = (Cell::new(0), Watch::new());
        let asleep = |at: Nanos| {
            turn.set(turn.get() + 1);
            // The third is 3 ms late, the fifth as late as none counts.
            let late = [0, 0, 3_000_000, 7_000, 100_000][turn.get() - 1];
            clock.set(at + Nanos(late));
        };
        let (from, to) =
            watch.follow(&clock, Nanos::from_millis(1), asleep, || Nanos::ZERO, || turn.get() == 5);
        assert_eq!((from.0, to.0), (5_000_000, 13_107_000));
        assert_eq!((watch.wakings, watch.missed), (5, 0));
        assert_eq!(watch.spans, [[7_000_000, 8_000_000, 11_000_000]]);
    }

    #[test]
    fn a_sentinel_ends_when_told_and_says_what_it_cost() {
        let cpu = this_thread::allowed_cpus()[0] as u32;
        let Ok(sentinel) = Sentinel::start(cpu, Nanos::from_millis(1), true) else {
            return; // no thread may have real-time priority here
        };
        std::thread::sleep(std::time::Duration::from_millis(30));
        let seen = sentinel.end().unwrap();
        assert!(seen.wakings > 0 && seen.to_ns > seen.from_ns, "{seen:?}");
        assert!(seen.cpu_ns > 0 && seen.cpu_ns < (seen.to_ns - seen.from_ns) / 2, "{seen:?}");
    }

    #[test]
    fn what_it_waited_itself_is_no_theft_and_is_kept_as_unsure() {
        let clock = FakeClock::at(Nanos::from_millis(5));
        let (turn, waited, mut watch) = (Cell::new(0), Cell::new(0), Watch::new());
        let asleep = |at: Nanos| {
            // Behind the server for 2 ms; a theft of 3 ms; both, the theft first; 50 us, of which nothing is made.
            let (theft, wait) =
                [(0, 2_000_000), (3_000_000, 0), (1_000_000, 500_000), (0, 50_000)][turn.get()];
            turn.set(turn.get() + 1);
            waited.set(waited.get() + wait);
            clock.set(at + Nanos(theft + wait));
        };
        let so_far = || Nanos(waited.get());
        watch.follow(&clock, Nanos::from_millis(1), asleep, so_far, || turn.get() == 4);
        assert_eq!(watch.spans, [[8_000_000, 9_000_000, 12_000_000], [12_000_000, 13_000_000, 14_000_000]]);
        assert_eq!(watch.unsure, [[5_000_000, 6_000_000, 8_000_000], [12_000_000, 13_000_000, 14_500_000]]);
    }

    #[test]
    fn without_real_time_it_watches_all_the_same_and_knows_what_it_waited() {
        let cpu = this_thread::allowed_cpus()[0] as u32;
        let sentinel = Sentinel::start(cpu, Nanos::from_millis(1), false).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(30));
        let seen = sentinel.end().unwrap();
        assert!(seen.wakings > 0 && seen.unsure_ns.is_some(), "{seen:?}");
    }

    #[test]
    fn late_wakings_beyond_the_room_are_counted() {
        let clock = FakeClock::at(Nanos::from_millis(5));
        let (turn, mut watch) = (Cell::new(0), Watch::new());
        let late = |at: Nanos| {
            turn.set(turn.get() + 1);
            clock.set(at + Nanos::from_millis(1));
        };
        watch.follow(&clock, Nanos::from_millis(1), late, || Nanos::ZERO, || turn.get() == ROOM + 7);
        assert_eq!((watch.spans.len(), watch.missed), (ROOM, 7));
    }

    #[test]
    fn a_theft_without_end_does_not_hold_up_the_end() {
        let ends = Arc::new(AtomicBool::new(false));
        let thread = std::thread::spawn(|| {
            std::thread::sleep(Duration::from_secs(60));
            unreachable!("the test is over")
        });
        let sentinel = Sentinel { ends: ends.clone(), thread: Some(thread) };
        let error = sentinel.end_within(Duration::from_millis(50)).unwrap_err();
        assert!(ends.load(Ordering::Relaxed), "it was told to end, when it can");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn a_processor_that_cannot_be_had_is_refused() {
        let error = Sentinel::start(u32::MAX, Nanos::from_millis(1), true).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }
}
