use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::Tree;

/// A folder of small files that replaces `/proc` and `/sys` in tests; removed when dropped.
pub struct FakeTree(PathBuf);

impl FakeTree {
    /// Create a tree of these files, given as path and content.
    ///
    /// # Panics
    /// If the temporary folder cannot be written.
    pub fn new(files: &[(&str, &str)]) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("hindmost-host-{}-{number}", std::process::id());
        let fake = Self(std::env::temp_dir().join(name));
        std::fs::create_dir_all(&fake.0).unwrap();
        for (path, content) in files {
            fake.write(path, content.as_bytes());
        }
        fake
    }

    /// Add or replace one file.
    ///
    /// # Panics
    /// If the file cannot be written.
    pub fn write(&self, path: &str, content: &[u8]) {
        let path = self.0.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// Return the path of the folder.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Return a reader of the folder.
    pub fn tree(&self) -> Tree {
        Tree::new(&self.0)
    }
}

impl Drop for FakeTree {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
