//! A fake root directory with the files of a test.

use std::fs;
use std::path::{Path, PathBuf};

pub(crate) struct Tree(PathBuf);

impl Tree {
    pub(crate) fn new(name: &str) -> Self {
        let root = std::env::temp_dir().join(format!("hindmost-{name}-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        Self(root)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.0
    }

    /// Write in place: readers that have the file open see the new contents.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
