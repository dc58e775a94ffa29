//! The system calls that have no file in `/proc`: the only `unsafe` of this crate.

pub(crate) mod ethtool;
pub(crate) mod net;

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::process::Child;

use hindmost_clock::Nanos;

/// How often the calling thread was switched off its CPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Switches {
    pub voluntary: u64,
    pub involuntary: u64,
}

/// Whose rights this process has (geteuid(2)); 0: root's.
pub(crate) fn effective_user() -> u32 {
    // SAFETY: the call takes nothing and always succeeds.
    unsafe { libc::geteuid() }
}

/// Waits for a lock of the whole file, which goes with it (flock(2)).
pub(crate) fn lock(file: &File) -> io::Result<()> {
    // SAFETY: the call takes a descriptor, which is open, and a number.
    match unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Whether nobody holds a lock of the file, not even a shared one (flock(2)).
pub(crate) fn is_free(file: &File) -> bool {
    // SAFETY: the call takes a descriptor, which is open, and a number.
    unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) == 0 }
}

/// Lets reads return at once when there is nothing to be read.
pub(crate) fn never_wait(file: &impl AsRawFd) {
    // SAFETY: fcntl(2) takes a descriptor, which is open, and numbers.
    unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
}

/// Kills a child that leads a process group, with all of the group; the child is not reaped yet.
pub(crate) fn end_group(child: &Child) {
    let Ok(group) = libc::pid_t::try_from(child.id()) else {
        return;
    };
    // SAFETY: kill(2) takes two numbers.
    unsafe { libc::kill(-group, libc::SIGKILL) };
}

/// Binds the calling thread to one CPU; `false` where the kernel refuses (offline, outside the cpuset).
pub(crate) fn pin_this_thread(cpu: u32) -> bool {
    let cpu = cpu as usize;
    if cpu >= libc::CPU_SETSIZE as usize {
        return false;
    }
    // SAFETY: a cpu_set_t is an array of integers, for which all zeroes is a value; `cpu` is below
    // CPU_SETSIZE; the call reads as many bytes as the set has, and 0 names the calling thread.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) == 0
    }
}

/// Lets the kernel delay the calling thread's timers by at most `slack` (prctl(2), `PR_SET_TIMERSLACK`).
pub(crate) fn set_timer_slack(slack: Nanos) -> bool {
    // SAFETY: this option takes one integer and touches no memory of ours.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, slack.0 as libc::c_ulong) == 0 }
}

/// Context switches of the calling thread (getrusage(2), `RUSAGE_THREAD`).
pub(crate) fn switches() -> Switches {
    // SAFETY: a rusage is made of integers, for which all zeroes is a value, and is ours to write.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
        usage
    };
    Switches { voluntary: usage.ru_nvcsw as u64, involuntary: usage.ru_nivcsw as u64 }
}

/// The CPU time that the calling thread has used so far.
pub(crate) fn thread_cpu_time() -> Nanos {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` is a valid timespec, and every Linux has this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut t) };
    Nanos(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
}

/// The resolution of `CLOCK_MONOTONIC` timers: 1 ns with high-resolution timers, a tick (1 to 10 ms)
/// without (`clock_getres(2)`, time(7)).
pub(crate) fn clock_resolution() -> Nanos {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` is a valid timespec, and CLOCK_MONOTONIC exists on every Linux.
    unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC, &raw mut t) };
    Nanos(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
}

/// The ticks a second in which `/proc` counts CPU time (`USER_HZ`, 100 almost everywhere).
pub(crate) fn ticks_per_second() -> u64 {
    // SAFETY: sysconf takes and returns integers.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    u64::try_from(ticks).ok().filter(|&ticks| ticks > 0).unwrap_or(100)
}

/// Reads a socket's option (getsockopt(2)) and tells how many bytes of it there are; `None` where it has none.
pub(crate) fn socket_option(fd: RawFd, level: i32, name: i32, into: &mut [u8]) -> Option<usize> {
    let mut length = into.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, which is the room that `into` has.
    let result = unsafe { libc::getsockopt(fd, level, name, into.as_mut_ptr().cast(), &raw mut length) };
    (result == 0).then_some((length as usize).min(into.len()))
}
