//! Protects the journal: it is created private whatever the umask, and is used only if no other user except root
//! can write it.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use hindmost_sys::file::NO_FOLLOW;
use hindmost_sys::process::effective_user;
use thiserror::Error;

use crate::error::JournalFault;

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
    let (owner, user, mode) = (facts.uid(), effective_user(), facts.mode() & 0o7777);
    if owner != user && owner != 0 {
        Err(io::Error::other(Distrust::Owner { path: path.to_owned(), owner, user }))
    } else if mode & OTHERS_WRITE != 0 {
        Err(io::Error::other(Distrust::Mode { path: path.to_owned(), mode }))
    } else {
        Ok(())
    }
}

/// Return what keeps the journal from being used, by the error of an operation on it.
pub(crate) fn fault(error: &io::Error) -> JournalFault {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Distrust>()) {
        Some(Distrust::Mode { path, .. }) => JournalFault::OthersWrite(path.clone()),
        Some(Distrust::Owner { path, .. }) => JournalFault::OwnedByOther(path.clone()),
        None if error.kind() == io::ErrorKind::PermissionDenied => JournalFault::Denied,
        None => JournalFault::Other,
    }
}

/// Why a file or folder is not trusted.
#[derive(Debug, Error)]
enum Distrust {
    #[error("{} belongs to user {owner}, but you are user {user}; {DANGER}", path.display())]
    Owner { path: PathBuf, owner: u32, user: u32 },
    #[error("others can write {} (mode {mode:04o}); {DANGER}", path.display())]
    Mode { path: PathBuf, mode: u32 },
}

const DANGER: &str = "its content would be written and run with your rights";
