//! Locks of whole files, files opened without links, and reads past the standard library's buffers.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Component, Path};

use rustix::fs::{
    fallocate, fcntl_getfl, fcntl_setfl, flock, fstatfs, openat, seek, FallocateFlags, FlockOperation, Mode,
    OFlags, SeekFrom, CWD,
};

/// For `OpenOptions::custom_flags`: a symbolic link is refused (open(2)).
pub const NO_FOLLOW: i32 = i32::from_ne_bytes(OFlags::NOFOLLOW.bits().to_ne_bytes());

/// The most bytes of a file that is read whole: more than any that Hindmost writes.
pub const LARGEST: u64 = 1 << 30;

/// Opens a regular file for reading. A pipe is not waited for, and a device that never ends not read.
///
/// # Errors
/// What open(2) says; that it is no regular file.
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

/// Reads a whole regular file.
///
/// # Errors
/// What [`open_regular`] and read(2) say; that it has more than [`LARGEST`] bytes.
pub fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_to_read_whole(path)?.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a whole regular file of UTF-8, without the byte order mark that some editors write at its start.
///
/// # Errors
/// As [`read_regular`]; that a line is not UTF-8.
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

/// Reads a file of the kernel's, such as `/proc/PID/stat`; a name there may hold any bytes, which are replaced.
///
/// # Errors
/// What open(2) and read(2) say.
pub fn read_kernel(path: impl AsRef<Path>) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&std::fs::read(path)?).into_owned())
}

/// Where a file has data from an offset on (lseek(2), `SEEK_DATA`); `None` where only a hole follows.
pub fn next_data(file: &File, from: u64) -> Option<u64> {
    seek(file, SeekFrom::Data(from)).ok()
}

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

/// Opens a file for writing, and the folder that holds it: `path` lies below `root`, and none of its parts below that
/// may be a symbolic link (openat(2), `O_NOFOLLOW`). A pipe without a reader is refused.
///
/// # Errors
/// What openat(2) says: `ELOOP` or `ENOTDIR` for a link; `EINVAL` for a path with `..`.
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

/// Whether a file is one of the kernel's (proc, sysfs, cgroup): nobody makes others there (statfs(2)).
pub fn is_of_kernel(file: &File) -> bool {
    const MAGICS: [u64; 4] = [0x9fa0, 0x6265_6572, 0x0027_e0eb, 0x6367_7270];
    #[allow(clippy::cast_sign_loss, reason = "numbers of types of file systems fit into 32 bits")]
    fstatfs(file).is_ok_and(|facts| MAGICS.contains(&(facts.f_type as u64 & 0xffff_ffff)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_no_byte_order_mark_and_a_line_of_other_bytes_is_named() {
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
