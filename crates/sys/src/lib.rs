//! System calls as safe functions: everything that the engine needs from Linux beyond the standard library, except
//! I/O on the bytes of its transports.
//!
//! `rustix` makes a call if it supports it. Seven files allow `unsafe` for calls that it lacks: `getrusage(2)` and
//! `sched_setscheduler(2)` in [`this_thread`], `getsockopt(2)` of `TCP_INFO` in [`socket`], `getifaddrs(3)` and
//! `ioctl(2)` for interfaces in [`interface`], `signal(2)` in [`signal`], `perf_event_open(2)` in [`perf`],
//! `ioctl(2)` for its programs in [`uprobe`], and `mmap(2)` of shared memory in [`shared`].
//!
//! This is the lowest layer: times are plain nanoseconds here; `hindmost_clock` adds units.

pub mod clock;
pub mod diag;
pub mod ethtool;
pub mod file;
pub mod folder;
pub mod interface;
pub mod limits;
pub mod perf;
pub mod poll;
pub mod process;
pub mod shared;
pub mod signal;
pub mod socket;
pub mod this_thread;
pub mod uprobe;
