//! Pinning a thread to one CPU: the only unsafe code of this crate.

use std::io;

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
