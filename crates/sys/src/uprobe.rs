//! A program of the kernel's that runs where others' programs come to a place in their code: `perf_event_open(2)`.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::{fs, io};

/// Where the kernel says which number this kind of event has.
const KIND: &str = "/sys/bus/event_source/devices/uprobe/type";
/// `_IOW('$', 8, __u32)` and `_IO('$', 0)` of `linux/perf_event.h`.
const SET_BPF: libc::Ioctl = 0x4004_2408;
const ENABLE: libc::Ioctl = 0x2400;
const CLOEXEC: libc::c_ulong = 8;
/// Up to `config2`, all that such an event has.
const SIZE: u32 = 72;

/// `struct perf_event_attr` of `linux/perf_event.h`, as far as it is used.
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

/// Has the BPF program run whenever any process comes to the place `offset` of the file. At `semaphore` of the same file
/// stands a count of those who look (16 bits), which the kernel raises meanwhile in every process: without it many
/// programs leave the place out. Closed, the descriptor ends it.
///
/// # Errors
/// Where the kernel has no such events, the file is none, or this process may not.
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
    // SAFETY: it is new, and nobody else's.
    let open = unsafe { OwnedFd::from_raw_fd(fd as i32) };
    // SAFETY: both take a number, and no memory.
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
