//! What was found before it was changed: one line of JSON a file, on the disk before the change is made.
//!
//! `hindmost.journal/1` (0.1.0) first version. A line is struck out by writing the journal anew beside itself and
//! renaming it, so that a crash leaves the old one or the new one.
//!
//! ```text
//!  thp         madvise -> never     by hand, `hindmost knobs set`      stays until `hindmost knobs restore`
//!  swappiness  60 -> 10             process 4711                       undone by it, or by whoever finds it dead
//!  swappiness  ...                  by hand below, a process above: each comes back to what it found
//! ```

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use hindmost_sys::file;
use hindmost_sys::process::effective_user;
use serde::{Deserialize, Serialize};

use crate::{KnobError, Owner};
use hindmost_host::Tree;

const SCHEMA: &str = "hindmost.journal/1";

/// One thing that was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// The knob.
    pub(crate) knob: String,
    /// Where, or how it is undone.
    #[serde(flatten)]
    pub(crate) place: Place,
    /// What was there.
    pub(crate) found: String,
    /// What was set.
    pub(crate) set: String,
    /// Who puts it back; absent: a person, by a restore.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) owner: Option<Owner>,
    /// The boot in which it was changed.
    pub(crate) boot: String,
}

/// What an entry is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Place {
    /// A file, relative to the tree.
    File(String),
    /// A command for the shell that undoes it.
    Undo(String),
    /// A folder that was made (a cgroup), relative to the tree; it goes.
    Folder(String),
}

impl Entry {
    /// Whether nobody is left who would put it back.
    pub(crate) fn abandoned(&self, boot: &str) -> bool {
        self.owner.is_some_and(|owner| self.boot != boot || !owner.alive())
    }
}

#[derive(Serialize, Deserialize)]
struct Line {
    schema: String,
    #[serde(flatten)]
    entry: Entry,
}

/// The journal of one host.
pub(crate) struct Journal {
    folder: PathBuf,
    /// This boot: what is below /proc and /sys does not outlive it.
    pub(crate) boot: String,
}

/// Held while something is changed, so that two programs do not find each other's settings.
pub(crate) struct Held(#[allow(dead_code, reason = "the lock goes with the file")] File);

impl Journal {
    pub(crate) fn new(tree: &Tree, folder: &Path) -> Self {
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
    pub(crate) fn lock(&self) -> Result<Held, KnobError> {
        fs::create_dir_all(&self.folder).map_err(self.failed("made"))?;
        let path = self.folder.join("knobs.lock");
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(path);
        let file = file.map_err(self.failed("locked"))?;
        file::lock(&file).map_err(self.failed("locked"))?;
        Ok(Held(file))
    }

    /// Whether commands that set something still run: whoever runs one shares a lock of this file with it, and with
    /// all that it starts.
    pub(crate) fn commands_run(&self) -> bool {
        File::open(self.folder.join("commands.lock")).is_ok_and(|file| !file::is_unlocked(&file))
    }

    /// Commands of the journal are run only where nobody but us, or root, can have written them.
    pub(crate) fn trusted(&self) -> Result<(), KnobError> {
        for path in [self.folder.clone(), self.path()] {
            let facts = fs::metadata(path).map_err(self.failed("read"))?;
            let stranger = facts.uid() != effective_user() && facts.uid() != 0;
            let open = facts.mode() & 0o022 != 0;
            if stranger || open {
                let said = "others can write it, so its commands are not run".to_owned();
                return Err(self.failed("trusted")(io::Error::other(said)));
            }
        }
        Ok(())
    }

    /// What was changed since this host started, and what commands changed before; the first change first.
    pub(crate) fn entries(&self) -> Result<Vec<Entry>, KnobError> {
        let text = match fs::read_to_string(self.path()) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(self.failed("read")(error)),
        };
        // A line that a crash cut off was not yet followed by a change.
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok());
        Ok(lines
            .filter(|line| line.schema == SCHEMA)
            .map(|line| line.entry)
            .filter(|entry| entry.boot == self.boot || matches!(entry.place, Place::Undo(_)))
            .collect())
    }

    /// Adds entries for places that have none yet by the same owner, and returns those: of each place, only what an
    /// owner found first counts.
    pub(crate) fn add(&self, entries: Vec<Entry>) -> Result<Vec<Entry>, KnobError> {
        let mut all = self.entries()?;
        let known = all.len();
        for entry in entries {
            if !all.iter().any(|other| other.place == entry.place && other.owner == entry.owner) {
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
    pub(crate) fn strike(&self, entries: &[Entry]) -> Result<(), KnobError> {
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
            let line = Line { schema: SCHEMA.to_owned(), entry: entry.clone() };
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
