//! Locks of whole files, and reads past the standard library's buffers.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{fallocate, fcntl_getfl, fcntl_setfl, flock, FallocateFlags, FlockOperation, OFlags};

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
    try_lock(file)
}

/// Takes a lock of the whole file if nobody holds one; it goes with the file (flock(2)).
pub fn try_lock(file: &File) -> bool {
    flock(file, FlockOperation::NonBlockingLockExclusive).is_ok()
}

/// Takes room on the disk for the first `bytes` of a file, which grows to that size (fallocate(2)).
///
/// # Errors
/// What fallocate(2) says: `ENOSPC` where the disk is full.
pub fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    Ok(fallocate(file, FallocateFlags::empty(), 0, bytes)?)
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
