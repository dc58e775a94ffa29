//! The limit on open files. Each connection uses one, and the usual soft limit is 1,024.

use hindmost_sys::limits::OpenFiles;

use super::needs::Needs;
use crate::LoadError;

/// Raise this process's soft limit to its hard limit if `needs` exceeds the soft limit.
///
/// # Errors
/// [`LoadError::OpenFiles`] if the hard limit is too low. No connection has been opened yet.
pub fn make_room(needs: &Needs) -> Result<(), LoadError> {
    let limit = OpenFiles::read();
    if needs.files <= limit.soft {
        return Ok(());
    }
    if needs.files > limit.hard {
        return Err(LoadError::OpenFiles { connections: needs.ports, need: needs.files, limit: limit.hard });
    }
    OpenFiles::raise().map_err(LoadError::system("setrlimit failed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_files_than_the_hard_limit_are_refused_with_numbers() {
        let hard = OpenFiles::read().hard;
        if hard == u64::MAX {
            return; // no limit
        }
        let needs = Needs { files: hard + 1, ports: hard, memory_bytes: 0, connection_bytes: 0 };
        let error = make_room(&needs).unwrap_err();
        assert!(matches!(error, LoadError::OpenFiles { limit, .. } if limit == hard), "{error}");
        assert_eq!(error.code(), "open-files");
    }

    #[test]
    fn the_soft_limit_goes_up_to_the_hard_one_and_no_lower() {
        let before = OpenFiles::read();
        let needs = |files| Needs { files, ports: files, memory_bytes: 0, connection_bytes: 0 };
        make_room(&needs(1)).unwrap();
        assert_eq!(OpenFiles::read().soft, before.soft);
        make_room(&needs(before.hard)).unwrap();
        let after = OpenFiles::read();
        assert_eq!((after.soft, after.hard), (before.hard, before.hard));
    }
}
