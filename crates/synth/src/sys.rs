//! The system calls that the standard library does not have: the only unsafe code of this crate.

use std::io;
use std::os::fd::AsRawFd;

use hindmost_clock::Nanos;

/// Pins the calling thread to `cpu`.
pub(crate) fn pin(cpu: usize) -> io::Result<()> {
    // Shifting by more than the set holds would write outside of it (libc indexes the array, and
    // would panic).
    if cpu >= libc::CPU_SETSIZE as usize {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: a cpu_set_t is an array of integers, for which all zeroes is a valid value (no CPU).
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `cpu` lies within the set, as checked above.
    unsafe { libc::CPU_SET(cpu, &mut set) };
    // SAFETY: `set` is a valid set of the size given, and 0 means the calling thread.
    match unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Whether a thread of this process may run on `cpu`, found out by a thread that tries.
pub(crate) fn check(cpu: usize) -> io::Result<()> {
    std::thread::spawn(move || pin(cpu)).join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
}

/// The CPUs that the calling thread may run on.
pub(crate) fn allowed_cpus() -> Vec<usize> {
    // SAFETY: as in `pin`.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is ours to write, of the size given.
    if unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) } != 0 {
        return Vec::new();
    }
    // SAFETY: every CPU asked for lies within the set.
    (0..libc::CPU_SETSIZE as usize).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) }).collect()
}

/// The CPU time that the calling thread has used. A system call: 1.5 us here, where the monotonic clock takes 0.08.
pub(crate) fn thread_cpu_time() -> Nanos {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` is a valid timespec, and every Linux has this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut t) };
    Nanos(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
}

/// A queue for new connections as long as the host allows (`net.core.somaxconn`); the library's of 128
/// drops connections that come in hundreds, and each tries again after a second.
pub(crate) fn lengthen_queue(listener: &impl AsRawFd) -> io::Result<()> {
    // SAFETY: no pointers are passed; a second listen(2) on a listening socket changes its queue's length.
    if unsafe { libc::listen(listener.as_raw_fd(), i32::MAX) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
