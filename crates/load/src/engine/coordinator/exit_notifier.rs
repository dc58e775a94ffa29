//! Wakes the coordinator when a worker exits, so that the coordinator need not poll.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use hindmost_clock::Nanos;
use hindmost_sys::poll;

/// The coordinator's end of the notifier.
pub struct ExitNotifier {
    listening: UnixStream,
    notifying: UnixStream,
}

/// A worker's end of the notifier. It notifies when dropped, so a panic notifies as well.
pub struct ExitGuard(UnixStream);

impl ExitNotifier {
    /// Create a notifier for workers that have not started yet.
    pub fn new() -> io::Result<Self> {
        let (listening, notifying) = UnixStream::pair()?;
        listening.set_nonblocking(true)?;
        Ok(Self { listening, notifying })
    }

    /// Create the guard of another worker.
    pub fn guard(&self) -> io::Result<ExitGuard> {
        self.notifying.try_clone().map(ExitGuard)
    }

    /// Sleep until a worker exits, `commands` is readable, or `patience` has passed. Return whether a worker
    /// exited.
    pub fn wait(&mut self, commands: BorrowedFd<'_>, patience: Nanos) -> bool {
        let _ = poll::readable([self.listening.as_fd(), commands], Duration::from_nanos(patience.0));
        // Each worker sends one byte, so one read takes them all.
        self.listening.read(&mut [0; 64]).is_ok()
    }
}

impl Drop for ExitGuard {
    fn drop(&mut self) {
        let _ = self.0.write(&[1]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOR_EVER: Nanos = Nanos(3_600_000_000_000);

    #[test]
    fn a_worker_that_panics_wakes_the_coordinator() {
        let mut exits = ExitNotifier::new().unwrap();
        let (nothing, _open) = UnixStream::pair().unwrap();
        let guard = exits.guard().unwrap();
        let worker = std::thread::spawn(move || {
            let _guard = guard;
            std::panic::resume_unwind(Box::new(()));
        });
        assert!(exits.wait(nothing.as_fd(), FOR_EVER));
        assert!(worker.join().is_err());
    }

    #[test]
    fn a_command_wakes_the_coordinator() {
        let mut exits = ExitNotifier::new().unwrap();
        let (commands, mut controller) = UnixStream::pair().unwrap();
        controller.write_all(b"stop").unwrap();
        assert!(!exits.wait(commands.as_fd(), FOR_EVER));
    }
}
