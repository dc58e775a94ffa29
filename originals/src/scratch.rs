//! A folder for what a program keeps in files; in memory where the system has such a place.

use std::fs;
use std::path::{Path, PathBuf};

use crate::program::Fault;

/// A folder that goes away with the value.
pub struct Scratch(PathBuf);

impl Scratch {
    /// Below `parent`, or below `/dev/shm` (tmpfs) where that is to be had, or below the folder for temporary files.
    pub fn new(parent: Option<&Path>) -> Result<Self, Fault> {
        let memory = Path::new("/dev/shm");
        let name = format!("originals-{}", std::process::id());
        let made = match parent {
            Some(parent) => make(parent.join(name)),
            None => make(memory.join(&name)).or_else(|_| make(std::env::temp_dir().join(&name))),
        };
        made.map(Self)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

fn make(path: PathBuf) -> Result<PathBuf, Fault> {
    match fs::create_dir(&path) {
        Ok(()) => Ok(path),
        Err(error) => Err(format!("cannot make {}: {error}", path.display()).into()),
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing better can be done with a fault than to leave the folder.
        let _ = fs::remove_dir_all(&self.0);
    }
}
