//! Locks of whole files, and reads past the standard library's buffers.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{fcntl_getfl, fcntl_setfl, flock, FlockOperation, OFlags};

/// For `OpenOptions::custom_flags`: a symbolic link is refused (open(2)).
pub const NO_FOLLOW: i32 = i32::from_ne_bytes(OFlags::NOFOLLOW.bits().to_ne_bytes());

/// Waits for a lock of the whole file, which goes with it (flock(2)).
///
/// # Errors
/// What flock(2) says.
pub fn lock(file: &File) -> io::Result<()> {
    Ok(flock(file, FlockOperation::LockExclusive)?)
}

/// Whether nobody holds a lock of the file, not even a shared one (flock(2)). Takes the lock.
pub fn is_unlocked(file: &File) -> bool {
    flock(file, FlockOperation::NonBlockingLockExclusive).is_ok()
}

/// Standard input, without the buffer of [`std::io::stdin`].
pub fn stdin() -> BorrowedFd<'static> {
    rustix::stdio::stdin()
}

/// Takes what is there (read(2)).
///
/// # Errors
/// What read(2) says.
pub fn read(from: BorrowedFd<'_>, into: &mut [u8]) -> io::Result<usize> {
    Ok(rustix::io::read(from, into)?)
}

/// Lets reads return at once when there is nothing to be read.
///
/// # Errors
/// What fcntl(2) says.
pub fn set_nonblocking(file: &impl AsFd) -> io::Result<()> {
    Ok(fcntl_setfl(file, fcntl_getfl(file)? | OFlags::NONBLOCK)?)
}
