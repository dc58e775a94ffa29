use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::Tree;

/// A folder of small files that stands for a host's `/proc` and `/sys` in tests; removed when dropped.
pub struct FakeTree(PathBuf);

impl FakeTree {
    /// A tree of these files: path and content.
    ///
    /// # Panics
    /// Where the folder of temporary files cannot be written.
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

    /// Adds or replaces one file.
    ///
    /// # Panics
    /// Where it cannot be written.
    pub fn write(&self, path: &str, content: &[u8]) {
        let path = self.0.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// What reads it.
    pub fn tree(&self) -> Tree {
        Tree::new(&self.0)
    }
}

impl Drop for FakeTree {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
