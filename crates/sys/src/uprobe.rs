//! Attaches a BPF program to a place in the code of other programs: `perf_event_open(2)`.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::{fs, io};

/// File with the number of this event type.
const KIND: &str = "/sys/bus/event_source/devices/uprobe/type";
/// `_IOW('$', 8, __u32)` and `_IO('$', 0)` of `linux/perf_event.h`.
const SET_BPF: libc::Ioctl = 0x4004_2408;
const ENABLE: libc::Ioctl = 0x2400;
const CLOEXEC: libc::c_ulong = 8;
/// Size of the structure up to `config2`, which is all that this event uses.
const SIZE: u32 = 72;

/// The part of `struct perf_event_attr` of `linux/perf_event.h` that is used.
#[repr(C)]
#[derive(Default)]
struct Event {
    kind: u32,
    size: u32,
    config: u64,
    unused: [u64; 4],
    wakeup: u32,
    breakpoint: u32,
    path: u64,
    offset: u64,
}

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
    let event = Event {
        kind: kind.trim().parse().map_err(io::Error::other)?,
        size: SIZE,
        config: semaphore.unwrap_or(0) << 32, // format/ref_ctr_offset
        path: path.as_ptr() as u64,
        offset,
        ..Event::default()
    };
    let (any, first, none) = (-1, 0, -1);
    // SAFETY: the kernel reads `SIZE` bytes of the event and the path, which both live through the call.
    let fd = unsafe { libc::syscall(libc::SYS_perf_event_open, &raw const event, any, first, none, CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and has no other owner.
    let open = unsafe { OwnedFd::from_raw_fd(fd as i32) };
    // SAFETY: both calls take a number and no memory.
    let done = unsafe {
        libc::ioctl(open.as_raw_fd(), SET_BPF, program.as_raw_fd()) == 0
            && libc::ioctl(open.as_raw_fd(), ENABLE, 0) == 0
    };
    if done {
        Ok(open)
    } else {
        Err(io::Error::last_os_error())
    }
}
