//! The calling thread: its CPUs, timers and resource usage.
#![allow(unsafe_code)]

use std::io;
use std::num::NonZeroU64;

use rustix::io::Errno;
use rustix::thread::{
    clock_nanosleep_absolute, gettid, sched_getaffinity, sched_setaffinity, set_current_timer_slack, CpuSet,
};
use rustix::time::{clock_gettime, ClockId};

use crate::clock::{nanoseconds, timespec};

/// Return the id of the calling thread.
pub fn id() -> u32 {
    gettid().as_raw_nonzero().get().unsigned_abs()
}

/// Pin the calling thread to one CPU.
///
/// # Errors
/// The error of the kernel: `EINVAL` if the CPU is offline, outside the cpuset, or beyond the supported maximum.
pub fn pin(cpu: usize) -> io::Result<()> {
    if cpu >= CpuSet::MAX_CPU {
        return Err(Errno::INVAL.into());
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(None, &set)?)
}

/// Check whether a thread of this process can be pinned to `cpu`, with a thread that tries.
pub fn can_pin(cpu: usize) -> io::Result<()> {
    std::thread::spawn(move || pin(cpu)).join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
}

/// Return the CPUs that the calling thread may run on.
pub fn allowed_cpus() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(None) else {
        return Vec::new();
    };
    (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect()
}

/// Set the timer slack of the calling thread to 1 ns, the minimum, instead of the usual 50 us (prctl(2),
/// `PR_SET_TIMERSLACK`).
pub fn make_timers_precise() {
    // Every Linux from 2.6.28 on supports it; otherwise each sleep is longer, which the noise floor shows.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
}

/// Give the calling thread precedence over all threads without real-time priority (sched(7), `SCHED_FIFO` at its
/// lowest priority).
///
/// # Errors
/// The error of the kernel: `EPERM` without `CAP_SYS_NICE` and `RLIMIT_RTPRIO`, or in a cgroup without a real-time
/// share.
pub fn make_real_time() -> io::Result<()> {
    // SAFETY: a sched_param consists of integers (more of them in musl), for which zero is valid; the call reads
    // one, which lives until it returns; 0 is the calling thread.
    let done = unsafe {
        let mut lowest: libc::sched_param = std::mem::zeroed();
        lowest.sched_priority = 1;
        libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const lowest)
    };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Give the calling thread the highest normal priority (setpriority(2), -20).
///
/// # Errors
/// The error of the kernel: `EACCES` without `CAP_SYS_NICE` and `RLIMIT_NICE`.
pub fn make_urgent() -> io::Result<()> {
    Ok(rustix::process::setpriority_process(None, -20)?)
}

/// Sleep until `CLOCK_MONOTONIC` reaches `at_ns`, or a signal arrives.
pub fn sleep_until(at_ns: u64) {
    let _ = clock_nanosleep_absolute(ClockId::Monotonic, &timespec(at_ns));
}

/// Return the CPU time of the calling thread. A system call: 1.5 us on a virtual machine where the monotonic clock
/// takes 0.08 us.
#[inline]
pub fn cpu_time_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ThreadCPUTime))
}

/// Number of context switches of the calling thread.
#[derive(Clone, Copy, Debug)]
pub struct Switches {
    /// It waited.
    pub voluntary: u64,
    /// It was preempted.
    pub involuntary: u64,
}

/// Return the context switches of the calling thread (getrusage(2), `RUSAGE_THREAD`).
pub fn switches() -> Switches {
    // SAFETY: a rusage consists of integers, for which zero is valid, and belongs to us.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
        usage
    };
    Switches { voluntary: usage.ru_nvcsw as u64, involuntary: usage.ru_nivcsw as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_runs_where_it_was_pinned() {
        let last = *allowed_cpus().last().unwrap();
        let seen = std::thread::spawn(move || pin(last).map(|()| allowed_cpus())).join().unwrap();
        assert_eq!(seen.unwrap(), [last]);
        assert!(can_pin(last).is_ok());
    }

    #[test]
    fn impossible_and_absent_cpus_are_refused_alike() {
        for cpu in [CpuSet::MAX_CPU - 1, CpuSet::MAX_CPU, usize::MAX] {
            let error = can_pin(cpu).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::EINVAL), "{cpu}");
        }
    }

    #[test]
    fn a_sleep_ends_no_sooner_than_asked() {
        let at = crate::clock::monotonic_ns() + 2_000_000;
        sleep_until(at);
        assert!(crate::clock::monotonic_ns() >= at);
        sleep_until(at); // over already
    }

    #[test]
    fn timers_become_precise_for_the_calling_thread_only() {
        let slack = || rustix::thread::current_timer_slack().unwrap();
        let before = slack();
        let inside = std::thread::spawn(move || {
            make_timers_precise();
            slack()
        });
        assert_eq!((inside.join().unwrap(), slack()), (1, before));
    }

    #[test]
    fn what_a_thread_uses_only_grows() {
        let (time, switches_before) = (cpu_time_ns(), switches());
        std::thread::yield_now();
        std::thread::sleep(std::time::Duration::from_millis(1));
        assert!(cpu_time_ns() > time);
        assert!(switches().voluntary > switches_before.voluntary);
        assert!(switches().involuntary >= switches_before.involuntary);
    }
}
