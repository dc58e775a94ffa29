//! What was found before it was changed: one line of JSON a file, on the disk before the change is made.
//!
//! `hindmost.journal/2`: what undoes a change is a list of steps ([`crate::Step`]); in version 1 it was a command for the
//! shell, which is not run any more. A line is struck out by writing the journal anew beside itself and
//! renaming it, so that a crash leaves the old one or the new one. A line that cannot be read here (another version's,
//! a broken one) is kept as it stands: it may be all that tells what the host was like.
//!
//! ```text
//!  thp         madvise -> never     by hand, `hindmost host knobs set`      stays until `hindmost host knobs restore`
//!  swappiness  60 -> 10             process 4711                       undone by it, or by whoever finds it dead
//!  swappiness  ...                  by hand below, a process above: each comes back to what it found
//! ```
//!
//! Whoever can write the journal decides what root writes and runs, so it is ours alone (0700, 0600), and neither read
//! nor written where somebody else could have written it ([`crate::trust`]).

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use hindmost_sys::file;
use serde::{Deserialize, Serialize};

use crate::{trust, KnobError, Owner, Step};
use hindmost_host::Tree;

const SCHEMA: &str = "hindmost.journal/2";
const BEFORE: &str = "hindmost.journal/1";

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
    /// The steps that undo it.
    Steps(Vec<Step>),
    /// A folder that was made (a cgroup), relative to the tree; it goes.
    Folder(String),
}

impl Entry {
    /// Whether it counts in this boot: what an earlier one changed below /proc and /sys has gone with it.
    fn counts(&self, boot: &str) -> bool {
        self.boot == boot
            || matches!(&self.place, Place::Steps(steps) if steps.iter().any(Step::outlives_boot))
    }

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

/// What the journal holds.
#[derive(Default)]
pub(crate) struct Lines {
    /// What was changed since this host started, and what commands changed before; the first change first.
    pub(crate) entries: Vec<Entry>,
    /// Lines that cannot be read here.
    pub(crate) unread: Vec<Unread>,
}

/// A line that cannot be read here; it stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unread {
    /// Counted from 1.
    number: usize,
    /// As it stands.
    text: String,
    /// Why not.
    pub(crate) why: String,
}

impl Unread {
    /// What it is called where knobs have names.
    pub(crate) fn name(&self) -> String {
        format!("line {} of the journal", self.number)
    }
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

    /// Waits until nobody else changes settings. Nothing is made in a folder that others can write.
    pub(crate) fn lock(&self) -> Result<Held, KnobError> {
        trust::folder(&self.folder).map_err(self.failed("made"))?;
        trust::check(&self.folder).map_err(self.failed("trusted"))?;
        let file = trust::create(&self.folder.join("knobs.lock")).map_err(self.failed("locked"))?;
        file::lock(&file).map_err(self.failed("locked"))?;
        Ok(Held(file))
    }

    /// Whether commands that set something still run: whoever runs one shares a lock of this file with it, and with
    /// all that it starts.
    pub(crate) fn commands_run(&self) -> bool {
        File::open(self.folder.join("commands.lock")).is_ok_and(|file| !file::is_unlocked(&file))
    }

    /// Whether it is root's, and we are not root.
    pub(crate) fn is_hidden(&self) -> bool {
        trust::open(&self.path()).is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
    }

    /// What is to be put back, one day; the first change first.
    pub(crate) fn entries(&self) -> Result<Vec<Entry>, KnobError> {
        Ok(self.lines()?.entries)
    }

    /// All that stands there. Below /proc and /sys, what an earlier boot changed is gone with it.
    pub(crate) fn lines(&self) -> Result<Lines, KnobError> {
        let mut lines = Lines::default();
        for (at, text) in self.text()?.lines().enumerate().filter(|(_, text)| !text.trim().is_empty()) {
            match parse(text) {
                Ok(entry) if entry.counts(&self.boot) => lines.entries.push(entry),
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
            Err(error) => return Err(self.failed("read")(error)),
        };
        trust::check(&self.folder).map_err(self.failed("trusted"))?;
        trust::check_file(&file, &self.path()).map_err(self.failed("trusted"))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(self.failed("read"))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Adds entries for places that have none yet by the same owner, and returns those: of each place, only what an
    /// owner found first counts.
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

    /// Takes the owner from entries: [`crate::Knobs::restore`] puts them back.
    pub(crate) fn release(&self, which: impl Fn(&Entry) -> bool) -> Result<(), KnobError> {
        let mut all = self.lines()?;
        for entry in all.entries.iter_mut().filter(|entry| which(entry)) {
            entry.owner = None;
        }
        self.store(&all)
    }

    /// Strikes entries out.
    pub(crate) fn strike(&self, entries: &[Entry]) -> Result<(), KnobError> {
        let mut all = self.lines()?;
        let before = all.entries.len();
        all.entries.retain(|entry| !entries.contains(entry));
        if all.entries.len() == before {
            return Ok(());
        }
        self.store(&all)
    }

    /// Whole or not at all, and on the disk when this returns.
    fn store(&self, lines: &Lines) -> Result<(), KnobError> {
        let failed = self.failed("written");
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
        let beside = self.folder.join("knobs.jsonl.new");
        // What a crash left there is not written through: it may be a link by now.
        match fs::remove_file(&beside) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let mut file = trust::create(&beside).map_err(&failed)?;
        file.write_all(&text).and_then(|()| file.sync_all()).map_err(&failed)?;
        fs::rename(&beside, self.path()).map_err(&failed)?;
        File::open(&self.folder).and_then(|folder| folder.sync_all()).map_err(&failed)
    }
}

/// One line as an entry, or why it is none.
fn parse(text: &str) -> Result<Entry, String> {
    #[derive(Deserialize)]
    struct Version {
        schema: String,
        undo: Option<String>,
    }
    let broken = |error: serde_json::Error| format!("it is no entry: {error}");
    let Version { schema, undo } = serde_json::from_str(text).map_err(broken)?;
    if ![SCHEMA, BEFORE].contains(&schema.as_str()) {
        return Err(format!("it is {schema}, and this Hindmost reads {SCHEMA}"));
    }
    if let Some(command) = undo {
        return Err(format!("it is undone by a command of the shell, which is only run by hand: {command}"));
    }
    serde_json::from_str::<Line>(text).map(|line| line.entry).map_err(broken)
}
