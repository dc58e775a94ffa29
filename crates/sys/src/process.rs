//! This process and its children.

use std::process::Child;

use rustix::process::{geteuid, kill_process_group, Pid, Signal};

/// Whose rights this process has (geteuid(2)); 0: root's.
pub fn effective_user() -> u32 {
    geteuid().as_raw()
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
