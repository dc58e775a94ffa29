//! Waits for file descriptors (poll(2)).

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{poll, PollFd, PollFlags, Timespec};

/// Sleep until one of `descriptors` is readable (or closed), the timeout is over, or a signal arrives; return
/// whether one is readable.
///
/// # Errors
/// The error of poll(2).
pub fn readable<const N: usize>(descriptors: [BorrowedFd<'_>; N], timeout: Duration) -> io::Result<bool> {
    let mut all = descriptors.map(|one| PollFd::from_borrowed_fd(one, PollFlags::IN));
    let timeout = Timespec::try_from(timeout).ok();
    match poll(&mut all, timeout.as_ref()) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn input_on_either_or_a_close_wakes() {
        let (first, _open) = UnixStream::pair().unwrap();
        let (second, mut outside) = UnixStream::pair().unwrap();
        let both = || readable([first.as_fd(), second.as_fd()], Duration::ZERO).unwrap();
        assert!(!both());
        outside.write_all(b"x").unwrap();
        assert!(both());
        drop(outside);
        assert!(readable([second.as_fd()], Duration::MAX).unwrap());
    }
}
