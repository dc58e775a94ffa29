//! System calls as safe functions: all that the engine asks of Linux beside the standard library and the bytes of its
//! transports.
//!
//! `rustix` makes the call where it knows it. The five files that allow `unsafe` are those of calls that it lacks:
//! `getrusage(2)` and `sched_setscheduler(2)` in [`this_thread`], `getsockopt(2)` of `TCP_INFO` in [`socket`], `getifaddrs(3)` and `ioctl(2)` about
//! interfaces in [`interface`], `signal(2)` in [`signal`], `perf_event_open(2)` in [`uprobe`].
//!
//! This is the lowest room: times are plain nanoseconds here, and units from `hindmost_clock` on.

pub mod clock;
pub mod diag;
pub mod ethtool;
pub mod file;
pub mod interface;
pub mod limits;
pub mod poll;
pub mod process;
pub mod signal;
pub mod socket;
pub mod this_thread;
pub mod uprobe;
