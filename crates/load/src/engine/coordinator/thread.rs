//! Kernel settings of a worker thread.

use hindmost_plan::Thread;
use hindmost_sys::this_thread;

use crate::LoadError;

/// Pin the calling thread and minimise its timer slack.
pub fn prepare(thread: Thread) -> Result<(), LoadError> {
    if let Some(cpu) = thread.cpu {
        this_thread::pin(cpu as usize).map_err(|source| LoadError::Pin { cpu, source })?;
    }
    // The default slack of 50 µs would be added to every sleep.
    this_thread::make_timers_precise();
    Ok(())
}
