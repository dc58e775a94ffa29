//! epoll(7) with nanosecond timeouts.
//!
//! Written directly on libc: `rustix` offers either millisecond timeouts or `epoll_pwait2` without a
//! fallback.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use hindmost_clock::Nanos;

use super::Ready;

/// Most connections reported ready by one call. The bound keeps a burst of replies from delaying a send;
/// level triggering reports the rest in the next call.
const BATCH: usize = 64;

/// While nothing is expected, only one poll in this many is made. That is enough to notice a server that
/// hangs up, and no system call delays a scheduled request.
const SKIPS: u32 = 256;

/// An epoll instance.
pub struct Poller {
    epoll: OwnedFd,
    events: [libc::epoll_event; BATCH],
    /// `epoll_pwait2` (Linux 5.11) takes nanoseconds. Without it, timeouts are rounded down to milliseconds.
    fine: bool,
    /// Polls skipped since the last one.
    skipped: u32,
}

impl Poller {
    pub fn new() -> io::Result<Self> {
        // SAFETY: no pointers are passed.
        let fd = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        // SAFETY: `fd` was just created and has no other owner.
        let epoll = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { epoll, events: [libc::epoll_event { events: 0, u64: 0 }; BATCH], fine: true, skipped: 0 })
    }

    pub fn add(&self, fd: RawFd, slot: u32, writes: bool) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, slot, writes)
    }

    pub fn change(&self, fd: RawFd, slot: u32, writes: bool) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, slot, writes)
    }

    /// Remove a descriptor; call this before closing it. If another process also holds it, as a child does
    /// from `fork` to `exec`, closing alone leaves it in the set, and it keeps reporting events for its slot
    /// (epoll(7), Q6).
    pub fn remove(&self, fd: RawFd) {
        // This fails only for a descriptor that is not in the set.
        let _ = self.control(libc::EPOLL_CTL_DEL, fd, 0, false);
    }

    fn control(&self, operation: i32, fd: RawFd, slot: u32, writes: bool) -> io::Result<()> {
        let events = libc::EPOLLIN | libc::EPOLLRDHUP | if writes { libc::EPOLLOUT } else { 0 };
        let mut event = libc::epoll_event { events: events as u32, u64: u64::from(slot) };
        // SAFETY: `event` lives through the call; the kernel copies it.
        check(unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), operation, fd, &raw mut event) }).map(drop)
    }

    /// Same as [`super::Transport::wait`].
    #[inline]
    pub fn wait(&mut self, timeout: Nanos, expected: bool, ready: &mut Vec<Ready>) -> io::Result<()> {
        ready.clear();
        if timeout == Nanos::ZERO && !expected && self.skipped < SKIPS {
            self.skipped += 1;
            std::hint::spin_loop();
            return Ok(());
        }
        self.skipped = 0;
        self.poll_events(timeout, ready)
    }

    fn poll_events(&mut self, timeout: Nanos, ready: &mut Vec<Ready>) -> io::Result<()> {
        let n = match check(self.poll(timeout)) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => 0,
            Err(e) if self.fine && e.raw_os_error() == Some(libc::ENOSYS) => {
                self.fine = false;
                check(self.poll(timeout))?
            }
            other => other?,
        };
        for event in &self.events[..n as usize] {
            let flags = event.events as i32;
            ready.push(Ready {
                slot: event.u64 as u32,
                readable: flags & (libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLHUP) != 0,
                writable: flags & (libc::EPOLLOUT | libc::EPOLLERR) != 0,
                stamped: flags & libc::EPOLLERR != 0,
            });
        }
        Ok(())
    }

    fn poll(&mut self, timeout: Nanos) -> i32 {
        let (fd, events, room) = (self.epoll.as_raw_fd(), self.events.as_mut_ptr(), BATCH as i32);
        if timeout == Nanos::ZERO || !self.fine {
            // SAFETY: `events` has room for BATCH events.
            return unsafe { libc::epoll_wait(fd, events, room, (timeout.0 / 1_000_000) as i32) };
        }
        let span = libc::timespec {
            tv_sec: (timeout.0 / 1_000_000_000) as i64,
            tv_nsec: (timeout.0 % 1_000_000_000) as i64,
        };
        // SAFETY: `events` has room for BATCH events, `span` lives through the call, and a null
        // signal mask leaves the mask alone.
        unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                fd,
                events,
                room,
                &raw const span,
                std::ptr::null::<u8>(),
                8usize,
            ) as i32
        }
    }
}

fn check(result: i32) -> io::Result<i32> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}
