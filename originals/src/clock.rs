//! The two clocks of the log: wall time (`CLOCK_MONOTONIC`) and CPU time of one thread.

use std::thread;
use std::time::Duration;

/// Return nanoseconds of `CLOCK_MONOTONIC`, the clock of every Hindmost stamp on this host.
pub fn wall_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Return the CPU time of the calling thread in nanoseconds; a system call, about 1.5 us on a VM
/// (`clock_gettime(2)`).
fn cpu_ns() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the result; both clocks exist on every Linux.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Measures services on one thread: wall and CPU time.
///
/// ```text
///   cpu clock │ start ── service ── end │ cpu clock
/// ```
/// The CPU clock is read outside `start` and `end`, so it does not extend the wall time. The CPU time of the
/// readings is measured at the thread's start and subtracted. An interrupt between two clocks can add more, but a
/// service never has more CPU time than wall time.
pub struct Stopwatch {
    cpu: bool,
    own_ns: u64,
}

/// Start, end and CPU time of a service; the CPU time is `None` if it is not measured.
#[allow(clippy::struct_field_names)] // the unit
pub struct Service {
    pub start_ns: u64,
    pub end_ns: u64,
    pub cpu_ns: Option<u64>,
}

impl Stopwatch {
    /// Create a stopwatch for the calling thread; `cpu` enables CPU time.
    pub fn new(cpu: bool) -> Self {
        let mut own_ns = 0;
        if cpu {
            let mut empty: Vec<u64> = (0..1000)
                .map(|_| {
                    let before = cpu_ns();
                    let _between = (wall_ns(), wall_ns());
                    cpu_ns() - before
                })
                .collect();
            empty.sort_unstable();
            own_ns = empty[empty.len() / 2];
        }
        Self { cpu, own_ns }
    }

    /// Return the CPU time in nanoseconds that reading the clocks costs, which has been subtracted.
    pub fn own_ns(&self) -> u64 {
        self.own_ns
    }

    /// Run `work` between stamps.
    pub fn time<T>(&self, work: impl FnOnce() -> T) -> (Service, T) {
        let cpu = if self.cpu { cpu_ns() } else { 0 };
        let start_ns = wall_ns();
        let result = work();
        let end_ns = wall_ns();
        let cpu_ns = self.cpu.then(|| {
            let taken = (cpu_ns() - cpu).saturating_sub(self.own_ns);
            taken.min(end_ns - start_ns)
        });
        (Service { start_ns, end_ns, cpu_ns }, result)
    }
}

/// Wait until `scheduled_ns`: sleep while it is far, then spin, so that no wake-up delays the start.
pub fn wait_until(scheduled_ns: u64) {
    // A sleeper wakes late by the timer slack of 50 us and by the wake-up time of a virtual CPU.
    const SPIN_NS: u64 = 300_000;
    let left = scheduled_ns.saturating_sub(wall_ns());
    if left > SPIN_NS {
        thread::sleep(Duration::from_nanos(left - SPIN_NS));
    }
    while wall_ns() < scheduled_ns {
        std::hint::spin_loop();
    }
}
