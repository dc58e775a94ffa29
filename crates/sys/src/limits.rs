//! How many files this process may have open (getrlimit(2), `RLIMIT_NOFILE`).

use std::io;

use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};

/// The limit of open files; `u64::MAX` where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenFiles {
    /// What counts now.
    pub soft: u64,
    /// What this process may raise it to.
    pub hard: u64,
}

impl OpenFiles {
    /// Asks the kernel.
    pub fn read() -> Self {
        let limit = getrlimit(Resource::Nofile);
        Self { soft: limit.current.unwrap_or(u64::MAX), hard: limit.maximum.unwrap_or(u64::MAX) }
    }

    /// Raises the soft limit to the hard one.
    ///
    /// # Errors
    /// What setrlimit(2) says.
    pub fn raise() -> io::Result<()> {
        let maximum = getrlimit(Resource::Nofile).maximum;
        Ok(setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?)
    }
}
