//! File locks, files opened without following links, and unbuffered reads.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Component, Path};

use rustix::fs::{
    fallocate, fcntl_getfl, fcntl_setfl, flock, fstatfs, openat, seek, FallocateFlags, FlockOperation, Mode,
    OFlags, SeekFrom, CWD,
};

/// For `OpenOptions::custom_flags`: refuse a symbolic link (open(2)).
pub const NO_FOLLOW: i32 = i32::from_ne_bytes(OFlags::NOFOLLOW.bits().to_ne_bytes());

/// Largest file that is read whole, in bytes: more than any file that Hindmost writes.
pub const LARGEST: u64 = 1 << 30;

/// Open a regular file for reading. Pipes and devices are refused without blocking.
///
/// # Errors
/// The error of open(2), or that it is not a regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let file = File::from(openat(CWD, path, OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    Ok(file)
}

fn open_to_read_whole(path: &Path) -> io::Result<File> {
    let file = open_regular(path)?;
    if file.metadata()?.len() > LARGEST {
        let why = format!("it is larger than {LARGEST} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(file)
}

/// Read a whole regular file.
///
/// # Errors
/// The error of [`open_regular`] or read(2), or that it has more than [`LARGEST`] bytes.
pub fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_to_read_whole(path)?.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Read a whole regular file of UTF-8, without the byte order mark that some editors write.
///
/// # Errors
/// The error of [`read_regular`], or which line is not UTF-8.
pub fn read_regular_text(path: &Path) -> io::Result<String> {
    let mut text = String::from_utf8(read_regular(path)?).map_err(|e| {
        let good = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        let line = good.split(|&byte| byte == b'\n').count();
        io::Error::new(io::ErrorKind::InvalidData, format!("line {line} is not UTF-8"))
    })?;
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Ok(text)
}

/// Read a kernel file, such as `/proc/PID/stat`; invalid bytes in names are replaced.
///
/// # Errors
/// The error of open(2) or read(2).
pub fn read_kernel(path: impl AsRef<Path>) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&std::fs::read(path)?).into_owned())
}

/// Return the next offset with data (lseek(2), `SEEK_DATA`); `None` if only a hole follows.
pub fn next_data(file: &File, from: u64) -> Option<u64> {
    seek(file, SeekFrom::Data(from)).ok()
}

/// Wait for a lock of the whole file, which is held until the file is closed (flock(2)).
///
/// # Errors
/// The error of flock(2).
pub fn lock(file: &File) -> io::Result<()> {
    Ok(flock(file, FlockOperation::LockExclusive)?)
}

/// Whether no process holds a lock of the file, not even a shared one (flock(2)). Takes the lock.
pub fn is_unlocked(file: &File) -> bool {
    try_lock(file)
}

/// Lock the whole file if no process holds a lock; held until the file is closed (flock(2)).
pub fn try_lock(file: &File) -> bool {
    flock(file, FlockOperation::NonBlockingLockExclusive).is_ok()
}

/// Allocate disk space for the first `bytes` of a file, which grows to that size (fallocate(2)).
///
/// # Errors
/// The error of fallocate(2): `ENOSPC` if the disk is full.
pub fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    Ok(fallocate(file, FallocateFlags::empty(), 0, bytes)?)
}

/// Return standard input, without the buffer of [`std::io::stdin`].
pub fn stdin() -> BorrowedFd<'static> {
    rustix::stdio::stdin()
}

/// Read available bytes (read(2)).
///
/// # Errors
/// The error of read(2).
pub fn read(from: BorrowedFd<'_>, into: &mut [u8]) -> io::Result<usize> {
    Ok(rustix::io::read(from, into)?)
}

/// Make reads return at once if no bytes are available.
///
/// # Errors
/// The error of fcntl(2).
pub fn set_nonblocking(file: &impl AsFd) -> io::Result<()> {
    Ok(fcntl_setfl(file, fcntl_getfl(file)? | OFlags::NONBLOCK)?)
}

/// Open a file for writing, and its folder. `path` is below `root`, and none of its parts below the root may be a
/// symbolic link (openat(2), `O_NOFOLLOW`). A pipe without a reader is refused.
///
/// # Errors
/// The error of openat(2): `ELOOP` or `ENOTDIR` for a link; `EINVAL` for a path with `..`.
pub fn open_without_links(root: &Path, path: &str) -> io::Result<(File, File)> {
    let as_folder = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut folder = openat(CWD, root, as_folder | OFlags::RDONLY, Mode::empty())?;
    let mut names = Vec::new();
    for part in Path::new(path.trim_start_matches('/')).components() {
        match part {
            Component::Normal(name) => names.push(name),
            _ => return Err(io::ErrorKind::InvalidInput.into()),
        }
    }
    let file = names.pop().ok_or(io::ErrorKind::InvalidInput)?;
    for name in names {
        folder = openat(&folder, name, as_folder | OFlags::RDONLY | OFlags::NOFOLLOW, Mode::empty())?;
    }
    let writable = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(&folder, file, writable, Mode::empty())?;
    Ok((file.into(), folder.into()))
}

/// Whether a file belongs to the kernel (proc, sysfs, cgroup), where users cannot create files (statfs(2)).
pub fn is_of_kernel(file: &File) -> bool {
    const MAGICS: [u64; 4] = [0x9fa0, 0x6265_6572, 0x0027_e0eb, 0x6367_7270];
    #[allow(clippy::cast_sign_loss, reason = "file system type numbers fit into 32 bits")]
    fstatfs(file).is_ok_and(|facts| MAGICS.contains(&(facts.f_type as u64 & 0xffff_ffff)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_byte_order_mark_is_removed_and_an_invalid_line_is_named() {
        let file = std::env::temp_dir().join(format!("hindmost-text-{}", std::process::id()));
        let read = |bytes: &[u8]| {
            std::fs::write(&file, bytes).unwrap();
            read_regular_text(&file)
        };
        assert_eq!(read(b"\xef\xbb\xbfk1\n\xef\xbb\xbf").unwrap(), "k1\n\u{feff}");
        let refused = read(b"a\nK\xf6ln\n").unwrap_err();
        assert_eq!(
            (refused.kind(), refused.to_string().contains("line 2")),
            (io::ErrorKind::InvalidData, true)
        );
        std::fs::remove_file(file).unwrap();
    }
}
