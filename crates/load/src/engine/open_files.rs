//! Open files: a connection takes one, and the usual limit is 1,024.
#![allow(unsafe_code)]

use std::io;

use super::needs::Needs;
use crate::LoadError;

/// Beside connections: result files, epoll, what the interpreter holds open. 30 were counted.
pub const SPARE: u64 = 64;

/// Raises this process's soft limit to its hard one where `needs` asks for it.
///
/// # Errors
/// [`LoadError::OpenFiles`] if the hard limit is too low: known before the first connection.
pub fn make_room(needs: &Needs) -> Result<(), LoadError> {
    let mut limit = read().map_err(LoadError::system("getrlimit failed"))?;
    if needs.files <= limit.rlim_cur {
        return Ok(());
    }
    if needs.files > limit.rlim_max {
        return Err(LoadError::OpenFiles {
            connections: needs.ports,
            need: needs.files,
            limit: limit.rlim_max,
        });
    }
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: `limit` is a whole rlimit and lives through the call.
    if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) } != 0 {
        return Err(LoadError::system("setrlimit failed")(io::Error::last_os_error()));
    }
    Ok(())
}

fn read() -> io::Result<libc::rlimit> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a whole rlimit, which the kernel fills.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_files_than_the_hard_limit_are_refused_with_numbers() {
        let hard = read().unwrap().rlim_max;
        if hard == libc::RLIM_INFINITY {
            return; // nothing is too much
        }
        let needs = Needs { files: hard + 1, ports: hard, memory_bytes: 0, connection_bytes: 0 };
        let error = make_room(&needs).unwrap_err();
        assert!(matches!(error, LoadError::OpenFiles { limit, .. } if limit == hard), "{error}");
        assert_eq!(error.code(), "open_files");
    }

    #[test]
    fn the_soft_limit_goes_up_to_the_hard_one_and_no_lower() {
        let before = read().unwrap();
        let needs = |files| Needs { files, ports: files, memory_bytes: 0, connection_bytes: 0 };
        make_room(&needs(1)).unwrap();
        assert_eq!(read().unwrap().rlim_cur, before.rlim_cur);
        make_room(&needs(before.rlim_max)).unwrap();
        let after = read().unwrap();
        assert_eq!((after.rlim_cur, after.rlim_max), (before.rlim_max, before.rlim_max));
    }
}
