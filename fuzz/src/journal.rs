//! The journal of changed settings: any file can be read, and invalid entries are kept and not acted on.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use hindmost_host::Tree;
use hindmost_knobs::Knobs;

/// Read a journal of these bytes in an empty tree. No entry has a living owner, and no step that reaches outside
/// the tree is executed.
pub fn any_journal(bytes: &[u8]) {
    // Programs and processes are real: their steps are not executed here.
    let text = String::from_utf8_lossy(bytes);
    if ["run", "kill", "continue", "place", "schedule", "shape", "disconnect", "move"]
        .iter()
        .any(|one| text.contains(one))
    {
        return;
    }
    let place = std::env::temp_dir().join(format!("hindmost-fuzz-journal-{}", std::process::id()));
    let _ = fs::remove_dir_all(&place);
    fs::DirBuilder::new().mode(0o700).recursive(true).create(place.join("journal")).unwrap();
    write(&place.join("journal/knobs.jsonl"), bytes);
    write(&place.join("outside"), b"found");
    let knobs = Knobs::new(Tree::new(place.join("tree")), &place.join("journal"));
    let before = text.lines().filter(|line| !line.trim().is_empty()).count();
    if let Ok(left) = knobs.changes() {
        assert!(left.len() <= before);
        let done = knobs.restore().unwrap();
        assert!(done.len() <= 2 * before + 1);
    }
    assert_eq!(fs::read(place.join("outside")).unwrap(), b"found");
    let _ = fs::remove_dir_all(&place);
}

fn write(path: &Path, bytes: &[u8]) {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let mut file =
        fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path).unwrap();
    file.write_all(bytes).unwrap();
}
