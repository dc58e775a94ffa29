//! What was found before it was changed: one line of JSON a file, on the disk before the change is made.
//!
//! `hindmost.knobs/1` (0.1.0) first version. A line is struck out by writing the journal anew beside itself and
//! renaming it, so that a crash leaves the old one or the new one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::KnobError;
use crate::Tree;

const SCHEMA: &str = "hindmost.knobs/1";

/// One file that was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// The knob.
    pub(super) knob: String,
    /// Its file, relative to the tree.
    pub(super) file: String,
    /// What was there.
    pub(super) found: String,
    /// What was set.
    pub(super) set: String,
}

#[derive(Serialize, Deserialize)]
struct Line {
    schema: String,
    /// The boot in which it was changed: what is below /proc and /sys does not outlive it.
    boot: String,
    #[serde(flatten)]
    entry: Entry,
}

/// The journal of one host.
pub(super) struct Journal {
    folder: PathBuf,
    boot: String,
}

/// Held while something is changed, so that two programs do not find each other's settings.
pub(super) struct Held(#[allow(dead_code, reason = "the lock goes with the file")] File);

impl Journal {
    pub(super) fn new(tree: &Tree, folder: &Path) -> Self {
        let boot = tree.text("proc/sys/kernel/random/boot_id").unwrap_or_default();
        Self { folder: folder.to_owned(), boot }
    }

    fn path(&self) -> PathBuf {
        self.folder.join("knobs.jsonl")
    }

    fn failed(&self, doing: &'static str) -> impl Fn(io::Error) -> KnobError + '_ {
        move |source| KnobError::Journal {
            file: self.path().display().to_string(),
            doing,
            said: source.to_string(),
        }
    }

    /// Waits until nobody else changes settings.
    #[allow(unsafe_code)]
    pub(super) fn lock(&self) -> Result<Held, KnobError> {
        fs::create_dir_all(&self.folder).map_err(self.failed("made"))?;
        let path = self.folder.join("knobs.lock");
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(path);
        let file = file.map_err(self.failed("locked"))?;
        // SAFETY: flock(2) takes a descriptor, which is open, and a number.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) } != 0 {
            return Err(self.failed("locked")(io::Error::last_os_error()));
        }
        Ok(Held(file))
    }

    /// What was changed since this host started, the first change first.
    pub(super) fn entries(&self) -> Result<Vec<Entry>, KnobError> {
        let text = match fs::read_to_string(self.path()) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(self.failed("read")(error)),
        };
        // A line that a crash cut off was not yet followed by a change.
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok());
        Ok(lines
            .filter(|line| line.schema == SCHEMA && line.boot == self.boot)
            .map(|line| line.entry)
            .collect())
    }

    /// Adds entries for files that have none yet, and returns those: of each file, only what was found first counts.
    pub(super) fn add(&self, entries: Vec<Entry>) -> Result<Vec<Entry>, KnobError> {
        let mut all = self.entries()?;
        let known = all.len();
        for entry in entries {
            if !all.iter().any(|other| other.file == entry.file) {
                all.push(entry);
            }
        }
        let added = all[known..].to_vec();
        if !added.is_empty() {
            self.store(&all)?;
        }
        Ok(added)
    }

    /// Strikes entries out.
    pub(super) fn strike(&self, entries: &[Entry]) -> Result<(), KnobError> {
        let mut all = self.entries()?;
        let before = all.len();
        all.retain(|entry| !entries.contains(entry));
        if all.len() == before {
            return Ok(());
        }
        self.store(&all)
    }

    /// Whole or not at all, and on the disk when this returns.
    fn store(&self, entries: &[Entry]) -> Result<(), KnobError> {
        let failed = self.failed("written");
        let mut text = Vec::new();
        for entry in entries {
            let line = Line { schema: SCHEMA.to_owned(), boot: self.boot.clone(), entry: entry.clone() };
            serde_json::to_writer(&mut text, &line).map_err(|error| failed(error.into()))?;
            text.push(b'\n');
        }
        let beside = self.folder.join("knobs.jsonl.new");
        let mut file = File::create(&beside).map_err(&failed)?;
        file.write_all(&text).and_then(|()| file.sync_all()).map_err(&failed)?;
        fs::rename(&beside, self.path()).map_err(&failed)?;
        File::open(&self.folder).and_then(|folder| folder.sync_all()).map_err(&failed)
    }
}
