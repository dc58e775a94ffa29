//! What a worker thread asks of the kernel before it starts.

use hindmost_plan::Thread;
use hindmost_sys::this_thread;

use crate::LoadError;

/// Pins the calling thread and makes its sleeps precise.
pub fn prepare(thread: Thread) -> Result<(), LoadError> {
    if let Some(cpu) = thread.cpu {
        this_thread::pin(cpu as usize).map_err(|source| LoadError::Pin { cpu, source })?;
    }
    // The default of 50 us would be added to every sleep.
    this_thread::make_timers_precise();
    Ok(())
}
