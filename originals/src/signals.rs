//! SIGTERM and SIGINT, received by one thread that waits for them, so that no handler interrupts a service.

use std::io;
use std::thread;

/// The signals that end a run, blocked in this thread and in all threads that it starts.
pub struct Signals(libc::sigset_t);

/// Block the signals.
pub fn block() -> io::Result<Signals> {
    // SAFETY: sigemptyset initialises the set before anything reads it; the other calls only read or change it.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGTERM);
        libc::sigaddset(&raw mut set, libc::SIGINT);
        match libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) {
            0 => Ok(Signals(set)),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }
}

impl Signals {
    /// Call `then` when one of them arrives, from a separate thread that sleeps until then.
    pub fn on_end(self, then: impl FnOnce() + Send + 'static) {
        thread::spawn(move || {
            let mut signal = 0;
            // SAFETY: the set is initialised, and `signal` is a valid place for the result.
            unsafe { libc::sigwait(&raw const self.0, &raw mut signal) };
            then();
        });
    }
}
