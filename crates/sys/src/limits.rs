//! The limit of open files of this process (getrlimit(2), `RLIMIT_NOFILE`).

use std::io;

use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};

/// The limit of open files; `u64::MAX` if unlimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenFiles {
    /// The current limit.
    pub soft: u64,
    /// The highest value that this process may set.
    pub hard: u64,
}

impl OpenFiles {
    /// Read the limit.
    pub fn read() -> Self {
        let limit = getrlimit(Resource::Nofile);
        Self { soft: limit.current.unwrap_or(u64::MAX), hard: limit.maximum.unwrap_or(u64::MAX) }
    }

    /// Raise the soft limit to the hard one.
    ///
    /// # Errors
    /// The error of setrlimit(2).
    pub fn raise() -> io::Result<()> {
        let maximum = getrlimit(Resource::Nofile).maximum;
        Ok(setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?)
    }
}
