//! The journal of changes: the original values, one line of JSON per file, on disk before a change is made.
//!
//! `hindmost.journal/2`: an undo is a list of steps ([`crate::Step`]). In version 1 it was a shell command, which
//! is not run. A line is removed by writing a new journal next to the old one and renaming it, so that a crash
//! leaves either the old or the new journal. A line that cannot be parsed (of another version, or damaged) is kept
//! unchanged: it may be the only record of the original state.
//!
//! ```text
//!  thp         madvise -> never     by hand, `hindmost host knobs set`      stays until `hindmost host knobs restore`
//!  swappiness  60 -> 10             process 4711                       undone by it, or by the next process after its death
//!  swappiness  ...                  first by hand, then by a process: each undo restores the value before its change
//! ```
//!
//! A writer of the journal decides what root writes and runs. The journal is therefore private (0700, 0600), and is
//! not used if another user could have written it ([`crate::trust`]).

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use hindmost_sys::file;
use serde::{Deserialize, Serialize};

use crate::{trust, KnobError, Owner, Step};
use hindmost_host::Tree;

const SCHEMA: &str = "hindmost.journal/2";
const PREVIOUS_SCHEMA: &str = "hindmost.journal/1";

/// One change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// Name of the setting.
    pub(crate) knob: String,
    /// The file, or how to undo the change.
    #[serde(flatten)]
    pub(crate) place: Place,
    /// The original value.
    pub(crate) found: String,
    /// The new value.
    pub(crate) set: String,
    /// The process that restores it; absent: a person does, by `restore`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) owner: Option<Owner>,
    /// The boot in which it was changed.
    pub(crate) boot: String,
}

/// What an entry changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Place {
    /// A file, relative to the tree.
    File(String),
    /// A change that these steps undo.
    Steps(Vec<Step>),
    /// A created folder (a cgroup), relative to the tree, which the undo removes.
    Folder(String),
}

impl Entry {
    /// Whether the entry is valid in this boot: changes below /proc and /sys are lost at reboot.
    fn is_current(&self, boot: &str) -> bool {
        self.boot == boot
            || matches!(&self.place, Place::Steps(steps) if steps.iter().any(Step::outlives_boot))
    }

    /// Whether the process that would restore it has ended.
    pub(crate) fn is_abandoned(&self, boot: &str) -> bool {
        self.owner.is_some_and(|owner| self.boot != boot || !owner.is_alive())
    }
}

#[derive(Serialize, Deserialize)]
struct Line {
    schema: String,
    #[serde(flatten)]
    entry: Entry,
}

/// The content of the journal.
#[derive(Default)]
pub(crate) struct Lines {
    /// Changes of this boot, and commands of earlier boots, in order of time.
    pub(crate) entries: Vec<Entry>,
    /// Lines that cannot be parsed.
    pub(crate) unread: Vec<Unread>,
}

/// A line that cannot be parsed and is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unread {
    /// Number of the line, from 1.
    number: usize,
    /// Its text.
    text: String,
    /// The reason.
    pub(crate) why: String,
}

impl Unread {
    /// Return a name for the line, used like the name of a setting.
    pub(crate) fn name(&self) -> String {
        format!("line {} of the journal", self.number)
    }
}

/// The journal of a host.
pub(crate) struct Journal {
    folder: PathBuf,
    /// Id of this boot. Changes below /proc and /sys do not survive a reboot.
    pub(crate) boot: String,
}

/// Lock that is held during a change, so that two programs do not read each other's temporary values.
pub(crate) struct JournalLock(#[allow(dead_code, reason = "the lock goes with the file")] File);

impl Journal {
    pub(crate) fn new(tree: &Tree, folder: &Path) -> Self {
        let boot = tree.text("proc/sys/kernel/random/boot_id").unwrap_or_default();
        Self { folder: folder.to_owned(), boot }
    }

    fn path(&self) -> PathBuf {
        self.folder.join("knobs.jsonl")
    }

    fn journal_error(&self, doing: &'static str) -> impl Fn(io::Error) -> KnobError + '_ {
        move |source| KnobError::Journal {
            file: self.path().display().to_string(),
            doing,
            said: source.to_string(),
            fault: trust::fault(&source),
        }
    }

    /// Wait for the lock. Nothing is created in a folder that others can write.
    pub(crate) fn lock(&self) -> Result<JournalLock, KnobError> {
        trust::folder(&self.folder).map_err(self.journal_error("made"))?;
        trust::check(&self.folder).map_err(self.journal_error("trusted"))?;
        let file = trust::create(&self.folder.join("knobs.lock")).map_err(self.journal_error("locked"))?;
        file::lock(&file).map_err(self.journal_error("locked"))?;
        Ok(JournalLock(file))
    }

    /// Whether commands that change settings still run. A caller that runs one holds a shared lock of this
    /// file, which the command and its children inherit.
    pub(crate) fn commands_run(&self) -> bool {
        File::open(self.folder.join("commands.lock")).is_ok_and(|file| !file::is_unlocked(&file))
    }

    /// Whether it belongs to root and this process is not root.
    pub(crate) fn is_hidden(&self) -> bool {
        trust::open(&self.path()).is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
    }

    /// Return the changes to restore, in order of time.
    pub(crate) fn entries(&self) -> Result<Vec<Entry>, KnobError> {
        Ok(self.lines()?.entries)
    }

    /// Return all lines except changes below /proc and /sys of an earlier boot.
    pub(crate) fn lines(&self) -> Result<Lines, KnobError> {
        let mut lines = Lines::default();
        for (at, text) in self.text()?.lines().enumerate().filter(|(_, text)| !text.trim().is_empty()) {
            match parse(text) {
                Ok(entry) if entry.is_current(&self.boot) => lines.entries.push(entry),
                Ok(_) => {}
                Err(why) => lines.unread.push(Unread { number: at + 1, text: text.to_owned(), why }),
            }
        }
        Ok(lines)
    }

    fn text(&self) -> Result<String, KnobError> {
        let mut file = match trust::open(&self.path()) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
            Err(error) => return Err(self.journal_error("read")(error)),
        };
        trust::check(&self.folder).map_err(self.journal_error("trusted"))?;
        trust::check_file(&file, &self.path()).map_err(self.journal_error("trusted"))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(self.journal_error("read"))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Add entries for places where the same owner has none yet, and return those: for each place, only the
    /// first original value of an owner counts.
    pub(crate) fn add(&self, entries: Vec<Entry>) -> Result<Vec<Entry>, KnobError> {
        let mut all = self.lines()?;
        let known = all.entries.len();
        for entry in entries {
            if !all.entries.iter().any(|other| other.place == entry.place && other.owner == entry.owner) {
                all.entries.push(entry);
            }
        }
        let added = all.entries[known..].to_vec();
        if !added.is_empty() {
            self.store(&all)?;
        }
        Ok(added)
    }

    /// Remove the owner from entries, so that [`crate::Knobs::restore`] restores them.
    pub(crate) fn release(&self, which: impl Fn(&Entry) -> bool) -> Result<(), KnobError> {
        let mut all = self.lines()?;
        for entry in all.entries.iter_mut().filter(|entry| which(entry)) {
            entry.owner = None;
        }
        self.store(&all)
    }

    /// Remove entries.
    pub(crate) fn remove(&self, entries: &[Entry]) -> Result<(), KnobError> {
        let mut all = self.lines()?;
        let before = all.entries.len();
        all.entries.retain(|entry| !entries.contains(entry));
        if all.entries.len() == before {
            return Ok(());
        }
        self.store(&all)
    }

    /// Replace the journal atomically; it is on disk when this returns.
    fn store(&self, lines: &Lines) -> Result<(), KnobError> {
        let failed = self.journal_error("written");
        let mut text = Vec::new();
        for Unread { text: line, .. } in &lines.unread {
            text.extend_from_slice(line.as_bytes());
            text.push(b'\n');
        }
        for entry in &lines.entries {
            let line = Line { schema: SCHEMA.to_owned(), entry: entry.clone() };
            serde_json::to_writer(&mut text, &line).map_err(|error| failed(error.into()))?;
            text.push(b'\n');
        }
        let new_path = self.folder.join("knobs.jsonl.new");
        // A file left by a crash is removed first and not opened: it may have been replaced by a link.
        match fs::remove_file(&new_path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let mut file = trust::create(&new_path).map_err(&failed)?;
        file.write_all(&text).and_then(|()| file.sync_all()).map_err(&failed)?;
        fs::rename(&new_path, self.path()).map_err(&failed)?;
        File::open(&self.folder).and_then(|folder| folder.sync_all()).map_err(&failed)
    }
}

/// Parse one line; the error says why it is not an entry.
fn parse(text: &str) -> Result<Entry, String> {
    #[derive(Deserialize)]
    struct Version {
        schema: String,
        undo: Option<String>,
    }
    let broken = |error: serde_json::Error| format!("it is not an entry: {error}");
    let Version { schema, undo } = serde_json::from_str(text).map_err(broken)?;
    if ![SCHEMA, PREVIOUS_SCHEMA].contains(&schema.as_str()) {
        return Err(format!("it is {schema}, but this Hindmost reads {SCHEMA}"));
    }
    if let Some(command) = undo {
        return Err(format!("its undo is a shell command, which you must run yourself: {command}"));
    }
    serde_json::from_str::<Line>(text).map(|line| line.entry).map_err(broken)
}
