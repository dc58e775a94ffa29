//! Events of the kernel's performance counters: `perf_event_open(2)`, and the ring buffer of an event.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

const CLOEXEC: libc::c_ulong = 8;
/// `_IO('$', 0)` and `_IO('$', 1)` of `linux/perf_event.h`.
const ENABLE: libc::Ioctl = 0x2400;
const DISABLE: libc::Ioctl = 0x2401;
/// Places of the kernel's and the reader's position in the first page of the ring, in bytes.
const HEAD: usize = 1024;
const TAIL: usize = 1032;

/// `struct perf_event_attr` of `linux/perf_event.h`, up to version 5. [`open`] sets the size.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs, reason = "perf_event_open(2) describes the fields")]
pub struct Attributes {
    pub kind: u32,
    pub size: u32,
    pub config: u64,
    pub period: u64,
    pub sample_type: u64,
    pub read_format: u64,
    pub flags: u64,
    pub wakeup: u32,
    pub breakpoint: u32,
    /// The path of a uprobe.
    pub config1: u64,
    /// The offset of a uprobe.
    pub config2: u64,
    pub branches: u64,
    pub user_registers: u64,
    pub user_stack: u32,
    /// Clock of the samples' times.
    pub clock: i32,
    pub registers: u64,
    pub aux_watermark: u32,
    /// Most frames of a sample's stack.
    pub most_frames: u16,
    pub reserved: u16,
}

/// Open an event of a process (any: -1) on a CPU (any: -1).
///
/// # Errors
/// If the kernel has no such event, or this process lacks the permission.
pub fn open(attributes: &Attributes, process: i32, cpu: i32) -> io::Result<OwnedFd> {
    let event = Attributes { size: size_of::<Attributes>() as u32, ..*attributes };
    let no_group = -1;
    // SAFETY: the kernel reads `size` bytes of the event, which lives through the call. A path in it is the caller's
    // number; the kernel checks it as an address.
    let fd = unsafe {
        libc::syscall(libc::SYS_perf_event_open, &raw const event, process, cpu, no_group, CLOEXEC)
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// Start an event.
///
/// # Errors
/// The error of ioctl(2).
pub fn enable(event: &OwnedFd) -> io::Result<()> {
    control(event, ENABLE)
}

/// Stop an event until it is enabled again.
///
/// # Errors
/// The error of ioctl(2).
pub fn disable(event: &OwnedFd) -> io::Result<()> {
    control(event, DISABLE)
}

fn control(event: &OwnedFd, request: libc::Ioctl) -> io::Result<()> {
    // SAFETY: the calls take a number and no memory.
    match unsafe { libc::ioctl(event.as_raw_fd(), request, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The ring buffer of an event, unmapped when dropped.
pub struct Ring {
    start: *mut u8,
    page: usize,
    data: usize,
    event: OwnedFd,
    record: Vec<u8>,
}

// SAFETY: the mapping belongs to this value alone, and any thread may read it.
unsafe impl Send for Ring {}

impl Ring {
    /// Map the ring of an event, with `pages` pages of data: a power of two.
    ///
    /// # Errors
    /// The error of mmap(2): `EINVAL` if `pages` is no power of two, `EPERM` if this user may lock less memory.
    pub fn map(event: OwnedFd, pages: usize) -> io::Result<Self> {
        let page = rustix::param::page_size();
        let length = page * (1 + pages);
        // SAFETY: a new mapping at an address that the kernel chooses.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                event.as_raw_fd(),
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { start: start.cast(), page, data: page * pages, event, record: Vec::new() })
    }

    /// Return the event.
    pub fn event(&self) -> &OwnedFd {
        &self.event
    }

    /// Pass each unread record to `take`: its type, and the bytes after its header.
    pub fn read(&mut self, mut take: impl FnMut(u32, &[u8])) {
        let head = self.position(HEAD).load(Ordering::Acquire);
        let mut at = self.position(TAIL).load(Ordering::Relaxed);
        while at < head {
            let header = u64::from_ne_bytes(self.copy(at, 8).try_into().unwrap_or_default());
            let (kind, size) = (header as u32, header >> 48);
            if size < 8 {
                at = head; // not written by the kernel
                break;
            }
            take(kind, &self.copy(at, size as usize)[8..]);
            at += size;
        }
        self.position(TAIL).store(at, Ordering::Release);
    }

    fn position(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the first page is mapped while `self` lives, both offsets are multiples of 8, and the kernel also
        // accesses these words atomically.
        unsafe { AtomicU64::from_ptr(self.start.add(offset).cast()) }
    }

    /// Copy bytes of the ring from a position on; they may continue at its start.
    fn copy(&mut self, at: u64, length: usize) -> &[u8] {
        let (from, length) = (at as usize & (self.data - 1), length.min(self.data));
        let first = length.min(self.data - from);
        self.record.resize(length, 0);
        // SAFETY: both parts are inside the mapped data, and `record` has `length` bytes. The kernel does not write
        // between tail and head.
        unsafe {
            let data = self.start.add(self.page);
            std::ptr::copy_nonoverlapping(data.add(from), self.record.as_mut_ptr(), first);
            std::ptr::copy_nonoverlapping(data, self.record.as_mut_ptr().add(first), length - first);
        }
        &self.record
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: exactly this mapping was made, and nothing refers to it any more.
        unsafe { libc::munmap(self.start.cast(), self.page + self.data) };
    }
}
