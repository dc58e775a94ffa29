//! The seeds of all targets, for the tests of crates that replay them without the targets' own build.

use std::panic::{catch_unwind, resume_unwind, RefUnwindSafe};
use std::path::Path;
use std::{fs, io};

/// Gives every seed of a target to `check`, which panics where something does not hold.
///
/// # Panics
/// As `check` does, with the seed's name before it; and when the target has no seeds.
#[expect(clippy::print_stderr, reason = "names the seed above what a test panicked with")]
pub fn replay(target: &str, check: impl Fn(&[u8]) + RefUnwindSafe) {
    // Of the crate whose test this is.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
    let seeds = read(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    assert!(!seeds.is_empty(), "no seeds in {}", folder.display());
    for (name, bytes) in seeds {
        if let Err(panicked) = catch_unwind(|| check(&bytes)) {
            eprintln!("fuzz/seeds/{target}/{name} does not hold");
            resume_unwind(panicked);
        }
    }
}

fn read(folder: &Path) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut seeds = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        seeds.push((entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path())?));
    }
    seeds.sort();
    Ok(seeds)
}
