//! CPU affinity of threads.

use std::io;
use std::mem;

use crate::program::Fault;

/// Pin the calling thread to `cpus`; an empty list changes nothing.
pub fn bind(cpus: &[usize]) -> Result<(), Fault> {
    if cpus.is_empty() {
        return Ok(());
    }
    // SAFETY: an all-zero set is an empty set (CPU_SET(3)); `set` outlives the calls, and the numbers were
    // checked to fit.
    let bound = unsafe {
        let mut set: libc::cpu_set_t = mem::zeroed();
        for &cpu in cpus {
            libc::CPU_SET(cpu, &mut set);
        }
        libc::sched_setaffinity(0, mem::size_of_val(&set), &raw const set)
    };
    if bound == 0 {
        return Ok(());
    }
    Err(format!("cannot use CPUs {cpus:?}: {}", io::Error::last_os_error()).into())
}
