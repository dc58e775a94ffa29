//! The seeds of all targets, for the tests of crates that replay them without building the targets.

use std::panic::{catch_unwind, resume_unwind, RefUnwindSafe};
use std::path::Path;
use std::{fs, io};

/// Pass every seed of a target to `check`, which panics if a property does not hold.
///
/// # Panics
/// Like `check`, after printing the seed's name; and if the target has no seeds.
#[expect(clippy::print_stderr, reason = "prints the name of the seed before the panic")]
pub fn replay(target: &str, check: impl Fn(&[u8]) + RefUnwindSafe) {
    // Relative to the crate of the calling test.
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
