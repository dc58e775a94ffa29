use std::fs::File;
use std::io::Read;

use hindmost_clock::{Clock, MonotonicClock};
use hindmost_sys::this_thread;
use schemars::JsonSchema;
use serde::Serialize;

use super::share;

/// Three numbers of at most 20 digits.
const SCHEDSTAT_BYTES: usize = 128;

/// Counters of the calling thread since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct ThreadCounters {
    /// Time of the reading (`CLOCK_MONOTONIC`, nanoseconds).
    pub at_ns: u64,
    /// CPU time used (`CLOCK_THREAD_CPUTIME_ID`).
    pub cpu_ns: u64,
    /// How often the thread gave up its CPU, to sleep or to wait.
    pub voluntary_switches: u64,
    /// How often it was preempted while it was ready to run.
    pub involuntary_switches: u64,
    /// Scheduler statistics; `None` on kernels without them.
    pub schedule: Option<Schedule>,
}

/// `/proc/thread-self/schedstat` (Documentation/scheduler/sched-stats.rst of the kernel).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Schedule {
    /// Time on a CPU.
    pub on_cpu_ns: u64,
    /// Time in a run queue: ready to run, while another thread of this host had the CPU.
    pub run_delay_ns: u64,
    /// Number of time slices.
    pub timeslices: u64,
}

impl Schedule {
    /// Read the calling thread's statistics without heap allocation: a worker may call this during a
    /// measurement.
    fn of_this_thread() -> Option<Self> {
        let mut bytes = [0_u8; SCHEDSTAT_BYTES];
        let read = File::open("/proc/thread-self/schedstat").ok()?.read(&mut bytes).ok()?;
        Self::parse(std::str::from_utf8(&bytes[..read]).ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_ascii_whitespace().map(|word| word.parse().ok());
        Some(Self { on_cpu_ns: words.next()??, run_delay_ns: words.next()??, timeslices: words.next()?? })
    }
}

impl ThreadCounters {
    /// Read the calling thread's counters: three system calls and one small file.
    pub fn read_self() -> Self {
        let schedule = Schedule::of_this_thread();
        let switches = this_thread::switches();
        Self {
            schedule,
            voluntary_switches: switches.voluntary,
            involuntary_switches: switches.involuntary,
            cpu_ns: this_thread::cpu_time_ns(),
            at_ns: MonotonicClock.now().0,
        }
    }

    /// Return the difference to `earlier`, a reading of the same thread.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> ThreadSpan {
        let schedule = self.schedule.zip(earlier.schedule);
        ThreadSpan {
            wall_ns: self.at_ns.saturating_sub(earlier.at_ns),
            cpu_ns: self.cpu_ns.saturating_sub(earlier.cpu_ns),
            voluntary_switches: self.voluntary_switches.saturating_sub(earlier.voluntary_switches),
            involuntary_switches: self.involuntary_switches.saturating_sub(earlier.involuntary_switches),
            schedule: schedule.map(|(now, then)| Schedule {
                on_cpu_ns: now.on_cpu_ns.saturating_sub(then.on_cpu_ns),
                run_delay_ns: now.run_delay_ns.saturating_sub(then.run_delay_ns),
                timeslices: now.timeslices.saturating_sub(then.timeslices),
            }),
        }
    }
}

/// Counters of a thread between two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct ThreadSpan {
    /// Time between the readings.
    pub wall_ns: u64,
    /// CPU time used.
    pub cpu_ns: u64,
    /// How often the thread gave up its CPU, to sleep or to wait.
    pub voluntary_switches: u64,
    /// How often it was preempted while it was ready to run.
    pub involuntary_switches: u64,
    /// Scheduler statistics, if the kernel has them.
    pub schedule: Option<Schedule>,
}

impl ThreadSpan {
    /// Return the fraction of the time that the thread was on a CPU, 0 to 1.
    pub fn busy_share(&self) -> f64 {
        share(self.cpu_ns, self.wall_ns)
    }

    /// Return the fraction of the time that it waited while another thread of this host had the CPU.
    pub fn run_delay_share(&self) -> Option<f64> {
        Some(share(self.schedule?.run_delay_ns, self.wall_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedstat_has_three_numbers_or_is_none() {
        let schedule = Schedule { on_cpu_ns: 57_276, run_delay_ns: 49_579, timeslices: 2 };
        for (text, expected) in
            [("57276 49579 2\n", Some(schedule)), ("57276 49579\n", None), ("0 x 2", None), ("", None)]
        {
            assert_eq!(Schedule::parse(text), expected, "{text:?}");
        }
    }

    #[test]
    fn shares_refer_to_the_time_between_the_readings() {
        let reading = |at_ns, cpu_ns, run_delay_ns| ThreadCounters {
            at_ns,
            cpu_ns,
            schedule: Some(Schedule { run_delay_ns, ..Schedule::default() }),
            ..ThreadCounters::default()
        };
        let span = reading(3_000, 900, 60).since(&reading(1_000, 400, 40));
        assert!((span.busy_share() - 0.25).abs() < 1e-12);
        assert!((span.run_delay_share().unwrap() - 0.01).abs() < 1e-12);
        let blind = ThreadCounters::default();
        assert_eq!(reading(3_000, 900, 60).since(&blind).run_delay_share(), None);
        assert!(blind.since(&blind).busy_share().abs() < 1e-12);
    }

    #[test]
    fn a_busy_thread_uses_cpu_time_and_a_sleeping_one_switches() {
        let before = ThreadCounters::read_self();
        let mut sum = 0_u64;
        while this_thread::cpu_time_ns() == before.cpu_ns {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
        let span = ThreadCounters::read_self().since(&before);
        assert!(span.cpu_ns > 0 && span.wall_ns >= 1_000_000);
        assert!(span.voluntary_switches >= 1);
    }
}
