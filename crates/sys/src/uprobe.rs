//! Attaches a BPF program to a place in the code of other programs: `perf_event_open(2)`.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::{fs, io};

use crate::perf::{self, Attributes};

/// File with the number of this event type.
const KIND: &str = "/sys/bus/event_source/devices/uprobe/type";
/// `_IOW('$', 8, __u32)` of `linux/perf_event.h`.
const SET_BPF: libc::Ioctl = 0x4004_2408;

/// Run the BPF program whenever a process reaches the offset `offset` of the file. `semaphore` is the file offset
/// of a 16-bit count of observers, which the kernel raises in every process meanwhile: many programs skip the place
/// while it is zero. Closing the descriptor detaches the program.
///
/// # Errors
/// If the kernel has no such events, the file is invalid, or this process lacks the permission.
pub fn attach(
    file: &Path,
    offset: u64,
    semaphore: Option<u64>,
    program: BorrowedFd<'_>,
) -> io::Result<OwnedFd> {
    let path = CString::new(file.as_os_str().as_bytes())?;
    let kind = fs::read_to_string(KIND)?;
    let event = Attributes {
        kind: kind.trim().parse().map_err(io::Error::other)?,
        config: semaphore.unwrap_or(0) << 32, // format/ref_ctr_offset
        config1: path.as_ptr() as u64,
        config2: offset,
        ..Attributes::default()
    };
    let (any, first) = (-1, 0);
    let open = perf::open(&event, any, first)?;
    // SAFETY: the call takes a number and no memory.
    if unsafe { libc::ioctl(open.as_raw_fd(), SET_BPF, program.as_raw_fd()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    perf::enable(&open)?;
    Ok(open)
}
