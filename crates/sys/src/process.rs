//! This process and its children.

use std::process::Child;

use rustix::process::{geteuid, getppid, kill_process_group, Pid, Signal};

/// Whose rights this process has (geteuid(2)); 0: root's.
pub fn effective_user() -> u32 {
    geteuid().as_raw()
}

/// The parent's number, 0 where it is outside our namespace (getppid(2)): the least that a call can do.
pub fn parent() -> i32 {
    getppid().map_or(0, Pid::as_raw_pid)
}

/// Kills a child that leads a process group, with all of the group; the child is not reaped yet.
pub fn kill_group(child: &Child) {
    // It may have ended meanwhile, which is what was wanted.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
}

/// The ticks a second in which `/proc` counts CPU time (`USER_HZ`, 100 almost everywhere).
pub fn ticks_per_second() -> u64 {
    rustix::param::clock_ticks_per_second()
}
