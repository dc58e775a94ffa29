//! How a worker that ends wakes its coordinator, so that the coordinator need not look.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use hindmost_clock::Nanos;
use hindmost_sys::poll;

/// The coordinator's end.
pub(super) struct Bell {
    ear: UnixStream,
    rope: UnixStream,
}

/// A worker's end: rings when it is dropped, however the worker ends.
pub(super) struct Rope(UnixStream);

impl Bell {
    /// A bell that nobody has rung yet.
    pub fn new() -> io::Result<Self> {
        let (ear, rope) = UnixStream::pair()?;
        ear.set_nonblocking(true)?;
        Ok(Self { ear, rope })
    }

    /// A rope for one more worker.
    pub fn rope(&self) -> io::Result<Rope> {
        self.rope.try_clone().map(Rope)
    }

    /// Sleeps until somebody rings, something can be read from `link`, or `patience` is over; says whether
    /// somebody rang.
    pub fn sleep(&mut self, link: BorrowedFd<'_>, patience: Nanos) -> bool {
        let _ = poll::readable([self.ear.as_fd(), link], Duration::from_nanos(patience.0));
        // One ring a worker, so one read takes them all.
        self.ear.read(&mut [0; 64]).is_ok()
    }
}

impl Drop for Rope {
    fn drop(&mut self) {
        let _ = self.0.write(&[1]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOR_EVER: Nanos = Nanos(3_600_000_000_000);

    #[test]
    fn the_end_of_a_worker_wakes_even_if_it_panics() {
        let mut bell = Bell::new().unwrap();
        let (nothing, _open) = UnixStream::pair().unwrap();
        let rope = bell.rope().unwrap();
        let worker = std::thread::spawn(move || {
            let _rope = rope;
            std::panic::resume_unwind(Box::new(()));
        });
        assert!(bell.sleep(nothing.as_fd(), FOR_EVER));
        assert!(worker.join().is_err());
    }

    #[test]
    fn a_word_from_outside_wakes() {
        let mut bell = Bell::new().unwrap();
        let (link, mut outside) = UnixStream::pair().unwrap();
        outside.write_all(b"stop").unwrap();
        assert!(!bell.sleep(link.as_fd(), FOR_EVER));
    }
}
