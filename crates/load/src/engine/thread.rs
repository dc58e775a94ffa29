//! What a worker thread asks of the kernel before it starts.
#![allow(unsafe_code)]

use std::io;

use hindmost_plan::Thread;

use crate::LoadError;

/// Pins the calling thread and makes its sleeps precise.
pub fn prepare(thread: Thread) -> Result<(), LoadError> {
    if let Some(cpu) = thread.cpu {
        pin(cpu).map_err(|source| LoadError::Pin { cpu, source })?;
    }
    // SAFETY: PR_SET_TIMERSLACK takes a number; 1 ns is the least (prctl(2)). The default of 50 us
    // would be added to every sleep.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
    Ok(())
}

fn pin(cpu: u32) -> io::Result<()> {
    // SAFETY: an all-zero cpu_set_t is an empty set; CPU_SET stays inside it because of the check;
    // the set lives through the call; 0 is the calling thread.
    let result = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if cpu as usize >= 8 * size_of::<libc::cpu_set_t>() {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        libc::CPU_SET(cpu as usize, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set)
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
