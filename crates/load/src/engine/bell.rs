//! How a worker that ends wakes its coordinator, so that the coordinator need not look.
#![allow(unsafe_code)]

use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;

use hindmost_clock::Nanos;

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
    pub fn sleep(&mut self, link: RawFd, patience: Nanos) -> bool {
        let poll = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let mut both = [poll(self.ear.as_raw_fd()), poll(link)];
        let milliseconds = i32::try_from(patience.0.div_ceil(1_000_000)).unwrap_or(i32::MAX);
        // SAFETY: two valid pollfds, which live through the call.
        unsafe { libc::poll(both.as_mut_ptr(), 2, milliseconds) };
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
        assert!(bell.sleep(nothing.as_raw_fd(), FOR_EVER));
        assert!(worker.join().is_err());
    }

    #[test]
    fn a_word_from_outside_wakes() {
        let mut bell = Bell::new().unwrap();
        let (link, mut outside) = UnixStream::pair().unwrap();
        outside.write_all(b"stop").unwrap();
        assert!(!bell.sleep(link.as_raw_fd(), FOR_EVER));
    }
}
