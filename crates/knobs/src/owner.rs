//! The process that changed a setting, identified by pid and start time.

use std::io;

use hindmost_sys::process::Handle;
use serde::{Deserialize, Serialize};

/// A process that changes settings and restores them. If it ends first, the next process restores them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Process id.
    pub pid: u32,
    /// Start time, in clock ticks since boot (`proc_pid_stat(5)`, starttime).
    pub started: u64,
}

impl Owner {
    /// Return the process with this pid; `None` if there is none, or if it is a zombie.
    pub fn find(pid: u32) -> Option<Self> {
        let stat = hindmost_sys::file::read_kernel(format!("/proc/{pid}/stat")).ok()?;
        // After the last ')' (a name may contain spaces and brackets), the state is first and the start time
        // twentieth.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        if matches!(*fields.first()?, "Z" | "X") {
            return None;
        }
        Some(Self { pid, started: fields.get(19)?.parse().ok()? })
    }

    /// Signal the process if it still runs; a later process with the same pid is never signalled.
    pub(crate) fn signal(self, send: impl Fn(&Handle) -> io::Result<()>) -> io::Result<()> {
        let Ok(handle) = Handle::open(self.pid) else {
            return Ok(());
        };
        if self.is_alive() {
            send(&handle)?;
        }
        Ok(())
    }

    /// Change the process if it still runs.
    pub(crate) fn only_if_alive(self, change: impl Fn() -> io::Result<()>) -> io::Result<()> {
        let done = if self.is_alive() { change() } else { Ok(()) };
        // It may have ended meanwhile.
        if self.is_alive() {
            done
        } else {
            Ok(())
        }
    }

    /// Whether it still runs.
    pub(crate) fn is_alive(self) -> bool {
        Self::find(self.pid) == Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_process_with_the_same_pid_is_another() {
        let own = Owner::find(std::process::id()).unwrap();
        assert!(own.is_alive());
        assert!(!Owner { started: own.started + 1, ..own }.is_alive());
        assert_eq!(Owner::find(u32::MAX), None);
    }
}
