//! A folder for a program's files, in memory if possible.

use std::fs;
use std::path::{Path, PathBuf};

use crate::program::Fault;

/// A folder that is removed when the value is dropped.
pub struct Scratch(PathBuf);

impl Scratch {
    /// Create it below `parent`, else below `/dev/shm` (tmpfs) if it exists, else below the folder for
    /// temporary files.
    pub fn new(parent: Option<&Path>) -> Result<Self, Fault> {
        let memory = Path::new("/dev/shm");
        let name = format!("originals-{}", std::process::id());
        let made = match parent {
            Some(parent) => make(parent.join(name)),
            None => make(memory.join(&name)).or_else(|_| make(std::env::temp_dir().join(&name))),
        };
        made.map(Self)
    }

    /// Return its path.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

fn make(path: PathBuf) -> Result<PathBuf, Fault> {
    match fs::create_dir(&path) {
        Ok(()) => Ok(path),
        Err(error) => Err(format!("cannot create {}: {error}", path.display()).into()),
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A failure leaves the folder behind; nothing better is possible.
        let _ = fs::remove_dir_all(&self.0);
    }
}
