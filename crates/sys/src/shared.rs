//! Memory that several processes share, as words with atomic access: `memfd_create(2)` and `mmap(2)`.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::slice;
use std::sync::atomic::AtomicU64;

use rustix::fs::{fcntl_add_seals, fstat, ftruncate, memfd_create, MemfdFlags, SealFlags};

/// A shared mapping of zeroed words.
#[derive(Debug)]
pub struct SharedWords {
    start: NonNull<AtomicU64>,
    words: usize,
}

// SAFETY: the mapping belongs to this value alone, and all access to its words is atomic.
unsafe impl Send for SharedWords {}
// SAFETY: as above.
unsafe impl Sync for SharedWords {}

impl SharedWords {
    /// Create memory of `words` words in a file without a name, whose size is fixed.
    ///
    /// # Errors
    /// The error of `memfd_create(2)`, ftruncate(2) or mmap(2).
    pub fn create(words: usize) -> io::Result<(OwnedFd, Self)> {
        let file = memfd_create("hindmost-counters", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&file, (words * size_of::<AtomicU64>()) as u64)?;
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let memory = Self::map(&file)?;
        Ok((file, memory))
    }

    /// Map all memory of a file that [`SharedWords::create`] made. Its pages are mapped now, not when they are used.
    ///
    /// # Errors
    /// The error of fstat(2) or mmap(2), or that the file has another origin.
    pub fn map(file: impl AsFd) -> io::Result<Self> {
        let file = file.as_fd();
        let is_fixed = rustix::fs::fcntl_get_seals(file).is_ok_and(|seals| seals.contains(SealFlags::SHRINK));
        let words = fstat(file)?.st_size as usize / size_of::<AtomicU64>();
        if !is_fixed || words == 0 {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "it is not shared memory of a fixed size",
            ));
        }
        // SAFETY: a new mapping at an address that the kernel chooses.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                words * size_of::<AtomicU64>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_POPULATE,
                file.as_raw_fd(),
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, words })
    }

    /// Return the words.
    #[inline]
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping has this many words and lives as long as `self`. It is aligned to a page, and the file
        // cannot shrink below it.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.words) }
    }
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        // SAFETY: exactly this mapping was made, and nothing refers to it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.words * size_of::<AtomicU64>()) };
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn two_mappings_share_their_words_and_the_size_is_fixed() {
        let (file, mine) = SharedWords::create(3).unwrap();
        let theirs = SharedWords::map(&file).unwrap();
        theirs.words()[2].store(7, Ordering::Relaxed);
        assert_eq!(
            mine.words().iter().map(|word| word.load(Ordering::Relaxed)).collect::<Vec<_>>(),
            [0, 0, 7]
        );
        assert!(ftruncate(&file, 8).is_err());
        assert!(SharedWords::map(File::open("/proc/self/exe").unwrap()).is_err());
    }
}
