//! Writes files of a host: the only write access of the project.

use std::fs::OpenOptions;
use std::io::{self, Write};

use hindmost_host::Tree;
use hindmost_sys::ethtool;
use hindmost_sys::process::effective_user;

/// Write `text` into an existing file in one call, as kernel files require.
pub(crate) fn file(tree: &Tree, path: &str, text: &str) -> io::Result<()> {
    if let Some((interface, setting)) = tree.interface_setting(path) {
        let value = text.parse().map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        #[expect(clippy::disallowed_methods, reason = "the original value is in the journal")]
        return ethtool::write(interface, setting, value);
    }
    let mut file = OpenOptions::new().write(true).truncate(true).open(tree.locate(path))?;
    file.write_all(text.as_bytes())
}

/// Remove an empty folder, such as a cgroup.
pub(crate) fn remove_folder(tree: &Tree, path: &str) -> io::Result<()> {
    std::fs::remove_dir(tree.locate(path))
}

/// Return why a file cannot be written; `None` if it can.
pub(crate) fn refusal(tree: &Tree, path: &str) -> Option<io::Error> {
    if tree.interface_setting(path).is_some() {
        return (effective_user() != 0).then(|| io::ErrorKind::PermissionDenied.into());
    }
    OpenOptions::new().write(true).open(tree.locate(path)).err()
}
