//! Who set something: a process, told from a later one of the same number by the time at which it started.

use std::io;

use hindmost_sys::process::Handle;
use serde::{Deserialize, Serialize};

/// A process that sets knobs and puts them back itself. What it leaves is undone by whoever comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Its number.
    pub pid: u32,
    /// When it started, in clock ticks since the boot (`proc_pid_stat(5)`, starttime).
    pub started: u64,
}

impl Owner {
    /// The process of that number; `None` where there is none, or it has ended and waits to be reaped.
    pub fn of(pid: u32) -> Option<Self> {
        let stat = hindmost_sys::file::read_kernel(format!("/proc/{pid}/stat")).ok()?;
        // After the last ')' (a name may hold spaces and brackets) the state is first, the start twentieth.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        if matches!(*fields.first()?, "Z" | "X") {
            return None;
        }
        Some(Self { pid, started: fields.get(19)?.parse().ok()? })
    }

    /// Signals it, if it still runs; nothing reaches a later process of the same number.
    pub(crate) fn signal(self, send: impl Fn(&Handle) -> io::Result<()>) -> io::Result<()> {
        let Ok(handle) = Handle::open(self.pid) else {
            return Ok(());
        };
        if self.alive() {
            send(&handle)?;
        }
        Ok(())
    }

    /// Changes it, if it still runs.
    pub(crate) fn only_if_alive(self, change: impl Fn() -> io::Result<()>) -> io::Result<()> {
        let done = if self.alive() { change() } else { Ok(()) };
        // It may have ended meanwhile.
        if self.alive() {
            done
        } else {
            Ok(())
        }
    }

    /// Whether it still runs.
    pub(crate) fn alive(self) -> bool {
        Self::of(self.pid) == Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_process_of_the_same_number_is_another() {
        let own = Owner::of(std::process::id()).unwrap();
        assert!(own.alive());
        assert!(!Owner { started: own.started + 1, ..own }.alive());
        assert_eq!(Owner::of(u32::MAX), None);
    }
}
