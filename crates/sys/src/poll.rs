//! Waiting for descriptors (poll(2)).

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{poll, PollFd, PollFlags, Timespec};

/// Sleeps until one of `descriptors` can be read (or has ended), `patience` is over, or a signal came; says whether
/// one can be read.
///
/// # Errors
/// What poll(2) says.
pub fn readable<const N: usize>(descriptors: [BorrowedFd<'_>; N], patience: Duration) -> io::Result<bool> {
    let mut all = descriptors.map(|one| PollFd::from_borrowed_fd(one, PollFlags::IN));
    let patience = Timespec::try_from(patience).ok();
    match poll(&mut all, patience.as_ref()) {
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
    fn either_of_two_wakes_and_so_does_an_end() {
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
