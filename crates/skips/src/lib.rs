//! For tests only: a test that cannot show its claim on this host says so.
//!
//! libtest knows no word for it. A test that returns early counts as passed, and what it prints is swallowed; so the
//! reason goes into the register that `make test` prints at its end (`setup/skips.py`).

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

/// Names the file that every ring appends its skips to.
const REGISTER: &str = "HINDMOST_SKIPS";

/// Registers that the running test, or a part of it, shows nothing here, and why.
///
/// # Panics
/// When the register cannot be written: a skip must not be lost.
#[expect(clippy::print_stderr, reason = "for whoever runs one test by hand")]
pub fn skipped(reason: &str) {
    let test = test();
    eprintln!("skipped: {test}: {reason}");
    if let Some(register) = std::env::var_os(REGISTER) {
        append(Path::new(&register), &test, reason);
    }
}

/// `CRATE::BINARY::TEST`. libtest names each thread after its test.
fn test() -> String {
    let package = std::env::var("CARGO_PKG_NAME").unwrap_or_default();
    let program = std::env::current_exe().unwrap_or_default();
    let stem = program.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let binary = stem.rsplit_once('-').map_or(stem.as_str(), |(name, _hash)| name);
    let thread = std::thread::current();
    format!("{package}::{binary}::{}", thread.name().unwrap_or("?"))
}

/// One line by one write, so that tests of several processes do not mix theirs.
fn append(register: &Path, test: &str, reason: &str) {
    let line = format!("{test}\t{}\n", reason.split_whitespace().collect::<Vec<_>>().join(" "));
    let mut file = OpenOptions::new().create(true).append(true).open(register).unwrap();
    file.write_all(line.as_bytes()).unwrap();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skip_is_one_line_with_the_test_and_the_reason() {
        let register = std::env::temp_dir().join(format!("hindmost-skips-{}", std::process::id()));
        append(&register, &test(), "no such\n\tthing");
        append(&register, "another", "reason");
        let told = std::fs::read_to_string(&register).unwrap();
        std::fs::remove_file(&register).unwrap();
        let name = "hindmost-skips::hindmost_skips::tests::a_skip_is_one_line_with_the_test_and_the_reason";
        assert_eq!(told, format!("{name}\tno such thing\nanother\treason\n"));
    }
}
