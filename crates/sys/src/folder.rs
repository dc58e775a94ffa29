//! Notices of changed files in a folder (inotify(7)).

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::inotify::{add_watch, init, CreateFlags, WatchFlags};

/// A folder whose changes the kernel reports.
#[derive(Debug)]
pub struct FolderWatch(OwnedFd);

impl FolderWatch {
    /// Watch for files that are written, renamed or removed.
    ///
    /// # Errors
    /// The error of `inotify_add_watch(2)`: `ENOENT` if there is no such folder.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let inotify = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        let changes =
            WatchFlags::CLOSE_WRITE | WatchFlags::MOVED_TO | WatchFlags::MOVED_FROM | WatchFlags::DELETE;
        add_watch(&inotify, folder, changes | WatchFlags::ONLYDIR)?;
        Ok(Self(inotify))
    }

    /// Whether a file has changed since the last call.
    pub fn has_changed(&self) -> bool {
        let mut changed = false;
        while rustix::io::read(&self.0, &mut [0; 4096]).is_ok_and(|count| count > 0) {
            changed = true;
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_of_a_file_is_noticed_once() {
        let folder = std::env::temp_dir().join(format!("hindmost-folder-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let watch = FolderWatch::open(&folder).unwrap();
        assert!(!watch.has_changed());
        let (one, other) = (folder.join("a.toml"), folder.join("b.toml"));
        std::fs::write(&one, "x").unwrap();
        assert!(watch.has_changed() && !watch.has_changed());
        std::fs::rename(&one, &other).unwrap();
        assert!(watch.has_changed() && !watch.has_changed());
        std::fs::remove_file(&other).unwrap();
        assert!(watch.has_changed() && !watch.has_changed());
        std::fs::remove_dir(&folder).unwrap();
        assert!(FolderWatch::open(&folder).is_err());
    }
}
