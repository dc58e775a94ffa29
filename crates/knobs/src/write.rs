//! Write access to the files of a host: the only one that there is.

use std::fs::OpenOptions;
use std::io::{self, Write};

use hindmost_host::Tree;
use hindmost_sys::ethtool;
use hindmost_sys::process::effective_user;

/// Writes `text` into a file that is there, in one call, as the kernel's files want it.
pub(crate) fn file(tree: &Tree, path: &str, text: &str) -> io::Result<()> {
    if let Some((interface, setting)) = tree.interface_setting(path) {
        let value = text.parse().map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        #[expect(clippy::disallowed_methods, reason = "what was found is in the journal")]
        return ethtool::write(interface, setting, value);
    }
    let mut file = OpenOptions::new().write(true).truncate(true).open(tree.locate(path))?;
    file.write_all(text.as_bytes())
}

/// Removes a folder that holds nothing of its own, such as a cgroup.
pub(crate) fn remove_folder(tree: &Tree, path: &str) -> io::Result<()> {
    std::fs::remove_dir(tree.locate(path))
}

/// Why a file cannot be written; `None` where it can.
pub(crate) fn refusal(tree: &Tree, path: &str) -> Option<String> {
    if tree.interface_setting(path).is_some() {
        return (effective_user() != 0).then(|| "Operation not permitted".to_owned());
    }
    OpenOptions::new().write(true).open(tree.locate(path)).err().map(|error| error.to_string())
}
