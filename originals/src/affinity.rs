//! Which processors a thread may use.

use std::io;
use std::mem;

use crate::program::Fault;

/// Binds the calling thread to `cpus`; none: leaves it where it is.
pub fn bind(cpus: &[usize]) -> Result<(), Fault> {
    if cpus.is_empty() {
        return Ok(());
    }
    // SAFETY: an all-zero set is an empty set (CPU_SET(3)); `set` outlives the calls, numbers were checked to fit.
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
    Err(format!("cannot use processors {cpus:?}: {}", io::Error::last_os_error()).into())
}
