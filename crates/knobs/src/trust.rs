//! Protects the journal: it is created private whatever the umask, and is used only if no other user except root
//! can write it.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use hindmost_sys::file::NO_FOLLOW;
use hindmost_sys::process::effective_user;

const FOLDER: u32 = 0o700;
const FILE: u32 = 0o600;
/// Write permission of group and others.
const OTHERS_WRITE: u32 = 0o022;

/// Create a folder and its missing parents; an existing one stays unchanged.
pub(crate) fn folder(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(FOLDER).create(path)?;
    fs::set_permissions(path, Permissions::from_mode(FOLDER))
}

/// Open a file for writing, creating it if needed; links are not followed.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true).mode(FILE).custom_flags(NO_FOLLOW);
    let file = options.open(path)?;
    file.set_permissions(Permissions::from_mode(FILE))?;
    Ok(file)
}

/// Open a file for reading; links are not followed.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(NO_FOLLOW).open(path)
}

/// Refuse a folder that others can write: they could put their own journal there.
pub(crate) fn check(folder: &Path) -> io::Result<()> {
    judge(&fs::metadata(folder)?, folder)
}

/// Refuse a file that others can write. It is already open, so it cannot be exchanged before it is read.
pub(crate) fn check_file(file: &File, path: &Path) -> io::Result<()> {
    judge(&file.metadata()?, path)
}

fn judge(facts: &Metadata, path: &Path) -> io::Result<()> {
    let (path, own) = (path.display(), effective_user());
    let why = match (facts.uid(), facts.mode() & 0o7777) {
        (owner, _) if owner != own && owner != 0 => {
            format!("{path} belongs to user {owner}, but you are user {own}")
        }
        (_, mode) if mode & OTHERS_WRITE != 0 => format!("others can write {path} (mode {mode:04o})"),
        _ => return Ok(()),
    };
    Err(io::Error::other(format!("{why}; its content would be written and run with your rights")))
}
