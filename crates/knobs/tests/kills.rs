//! Settings of the real host are restored, even if the process that changes them is killed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use hindmost_host::Tree;
use hindmost_knobs::Knobs;

/// Environment variable with the folder in which this test, started as a child process, changes settings until it
/// is killed.
const VICTIM: &str = "HINDMOST_KNOBS_VICTIM";
/// Environment variable with the number of kills; nightly tests use more.
const KILLS: &str = "HINDMOST_KNOBS_KILLS";

const FILES: [(&str, &str); 4] = [
    ("proc/sys/kernel/random/boot_id", "6f2f"),
    ("proc/sys/vm/swappiness", "60"),
    ("proc/sys/net/core/busy_poll", "0"),
    ("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456"),
];

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("hindmost-knobs-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// Create the files of a host below a folder.
fn lay_out(host: &Path) {
    for (path, text) in FILES {
        let path = host.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn knobs(host: &Path) -> Knobs {
    Knobs::new(Tree::new(host), &host.join("journal"))
}

#[test]
fn a_victim_sets_knobs_until_it_is_killed() {
    let Some(host) = std::env::var_os(VICTIM) else {
        return;
    };
    let host = PathBuf::from(host);
    for round in 0_u32.. {
        let value = (round % 100).to_string();
        knobs(&host).set("swappiness", &value, None).unwrap();
        knobs(&host).set("busy_poll", &value, None).unwrap();
        knobs(&host).set("tcp_rmem", "4096 65536 131072", None).unwrap();
        if round % 7 == 6 {
            assert!(knobs(&host).restore().unwrap().iter().all(|one| one.failure.is_none()));
        }
    }
}

fn victim(host: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_victim_sets_knobs_until_it_is_killed"])
        .env(VICTIM, host)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn a_kill_at_any_time_leaves_a_host_that_can_be_restored() {
    let kills: u32 = std::env::var(KILLS).map_or(40, |text| text.parse().unwrap());
    let host = folder("kills");
    lay_out(&host);
    let mut changed = 0;
    for kill in 0..kills {
        let mut child = victim(&host);
        // Kill it at times from before its first change to many rounds later, in steps that do not divide a
        // round.
        std::thread::sleep(Duration::from_micros(u64::from(1_500 + 977 * (kill % 23))));
        child.kill().unwrap();
        child.wait().unwrap();
        changed += knobs(&host).restore().unwrap().len();
        for (path, text) in FILES {
            let found = fs::read_to_string(host.join(path)).unwrap();
            assert!(found.split_whitespace().eq(text.split_whitespace()), "kill {kill}: {path} is {found:?}");
        }
        assert!(knobs(&host).restore().unwrap().is_empty());
    }
    assert!(changed > 0, "no kill came after a change");
    fs::remove_dir_all(host).unwrap();
}

#[test]
fn a_journal_is_private_whatever_the_umask() {
    if let Some(host) = std::env::var_os(VICTIM) {
        return knobs(Path::new(&host)).set("swappiness", "10", None).map(drop).unwrap();
    }
    for umask in ["000", "022", "077", "777"] {
        let host = folder("umask");
        lay_out(&host);
        let program = std::env::current_exe().unwrap();
        let command = format!(
            "umask {umask}; exec {} --exact a_journal_is_private_whatever_the_umask",
            program.display()
        );
        let done = Command::new("sh").args(["-c", &command]).env(VICTIM, &host).output().unwrap();
        assert!(done.status.success(), "{umask}: {done:?}");
        let mode = |path: &str| fs::metadata(host.join(path)).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode("journal"), 0o700, "umask {umask}");
        assert_eq!(mode("journal/knobs.jsonl"), 0o600, "umask {umask}");
        assert_eq!(mode("journal/knobs.lock"), 0o600, "umask {umask}");
        fs::remove_dir_all(host).unwrap();
    }
}

#[test]
fn a_setting_of_this_host_is_changed_and_restored() {
    const FILE: &str = "/proc/sys/net/ipv4/tcp_autocorking";
    let journal = folder("real");
    let knobs = Knobs::new(Tree::new("/"), &journal);
    let before = knobs.get("tcp_autocorking").unwrap();
    // Try to write the file directly instead of asking the crate under test: if it found everything read-only,
    // the test would show nothing.
    if fs::OpenOptions::new().write(true).open(FILE).is_err() {
        assert!(before.missing.is_some(), "{before:?}");
        fs::remove_dir_all(journal).unwrap();
        return;
    }
    assert_eq!(before.missing, None);
    let other = if before.value.as_deref() == Some("on") { "off" } else { "on" };
    assert_eq!(knobs.set("tcp_autocorking", other, None).unwrap().value.as_deref(), Some(other));
    assert_eq!(fs::read_to_string(FILE).unwrap().trim(), if other == "on" { "1" } else { "0" });
    let done = knobs.restore().unwrap();
    assert!(done.iter().all(|one| one.failure.is_none()), "{done:?}");
    assert_eq!(knobs.get("tcp_autocorking").unwrap().value, before.value);
    fs::remove_dir_all(journal).unwrap();
}
