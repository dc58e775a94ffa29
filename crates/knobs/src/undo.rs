//! Restores original values: writes files, executes steps, removes folders; the last change first.

use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;

use crate::journal::{Entry, Place, Unread};
use crate::list::KnobFiles;
use crate::{write, KnobError, Knobs, Owner, Step};

/// A setting that was restored, or could not be.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "Restored")]
pub struct RestoredSetting {
    /// Name of the setting.
    pub name: String,
    /// The restored value.
    pub value: String,
    /// Why it was not restored.
    pub failure: Option<String>,
}

/// How long to wait for commands of a killed study that may still write.
const WRITER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a cgroup may still contain processes: a guard stops its server within this time, however Hindmost
/// ended.
const FOLDER_TIMEOUT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Prefix of cgroups that a study creates (`python/hindmost/core/knobs/kinds/cgroup.py`).
const PREFIX: &str = "hindmost-";

fn is_ours(folder: &str) -> bool {
    let mut parts = folder.split('/');
    parts.next_back().is_some_and(|name| name.starts_with(PREFIX)) && parts.all(|part| part != "..")
}

impl Knobs {
    /// Restore changes by hand and changes of ended processes. Failed ones stay in the journal. A change of a
    /// running process is not restored but reported.
    ///
    /// # Errors
    /// [`KnobError::Journal`] if the journal cannot be read or written.
    pub fn restore(&self) -> Result<Vec<RestoredSetting>, KnobError> {
        let unread = self.unread()?;
        if self.journal.entries()?.is_empty() {
            return Ok(unread);
        }
        let _lock = self.journal.lock()?;
        // A change by hand that a running study has changed again must stay: the study will restore its
        // value.
        let all = self.journal.entries()?;
        let running = |entry: &&Entry| entry.owner.is_some() && !entry.is_abandoned(&self.journal.boot);
        let running_entries: Vec<&Entry> = all.iter().filter(running).collect();
        let mut done =
            self.restore_entries(|entry, _| running_entries.iter().all(|other| other.place != entry.place))?;
        done.extend(running_entries.iter().filter_map(|entry| {
            let pid = entry.owner?.pid;
            let failure = Some(format!("process {pid} is running a study and will restore it"));
            Some(RestoredSetting { name: entry.knob.clone(), value: entry.found.clone(), failure })
        }));
        done.extend(unread);
        Ok(done)
    }

    /// Restore changes of ended processes.
    ///
    /// # Errors
    /// [`KnobError::Journal`] if the journal cannot be read or written.
    pub fn recover(&self) -> Result<Vec<RestoredSetting>, KnobError> {
        let mut done = self.restore_matching(Entry::is_abandoned)?;
        done.extend(self.unread()?);
        Ok(done)
    }

    /// Return the lines of the journal that cannot be parsed, as failures.
    fn unread(&self) -> Result<Vec<RestoredSetting>, KnobError> {
        let failure_of = |line: Unread| RestoredSetting {
            name: line.name(),
            value: String::new(),
            failure: Some(format!("{}; the line is kept", line.why)),
        };
        Ok(self.journal.lines()?.unread.into_iter().map(failure_of).collect())
    }

    /// Restore the changes of `owner` to one setting.
    ///
    /// # Errors
    /// [`KnobError::Journal`] if the journal cannot be read or written.
    pub fn undo(&self, name: &str, owner: Owner) -> Result<Vec<RestoredSetting>, KnobError> {
        self.restore_matching(|entry, _| entry.owner == Some(owner) && entry.knob == name)
    }

    /// Add a coming change to the journal, with the steps that undo it.
    ///
    /// # Errors
    /// [`KnobError::Journal`] if the journal cannot be written, [`KnobError::Held`] if another process made the
    /// same change.
    pub fn promise_steps(
        &self,
        name: &str,
        steps: Vec<Step>,
        found: &str,
        set: &str,
        owner: Owner,
    ) -> Result<(), KnobError> {
        self.promise(name, Place::Steps(steps), found, set, owner)
    }

    /// Keep a change of `owner`: it is undone by [`Knobs::restore`] instead of the owner.
    ///
    /// # Errors
    /// [`KnobError::Journal`] if the journal cannot be read or written.
    pub fn keep(&self, name: &str, owner: Owner) -> Result<(), KnobError> {
        let _lock = self.journal.lock()?;
        self.journal.release(|entry| entry.owner == Some(owner) && entry.knob == name)
    }

    /// Add the coming creation of a folder (a cgroup) to the journal; the undo removes it.
    ///
    /// # Errors
    /// [`KnobError::Journal`] if the journal cannot be written.
    pub fn promise_folder(&self, name: &str, folder: &str, set: &str, owner: Owner) -> Result<(), KnobError> {
        self.promise(name, Place::Folder(folder.to_owned()), "", set, owner)
    }

    fn promise(
        &self,
        name: &str,
        place: Place,
        found: &str,
        set: &str,
        owner: Owner,
    ) -> Result<(), KnobError> {
        let _lock = self.journal.lock()?;
        self.restore_entries(Entry::is_abandoned)?;
        let entry = Entry {
            knob: name.to_owned(),
            place,
            found: found.to_owned(),
            set: set.to_owned(),
            owner: Some(owner),
            boot: self.journal.boot.clone(),
        };
        self.refuse_held(std::slice::from_ref(&entry))?;
        self.journal.add(vec![entry]).map(drop)
    }

    fn restore_matching(
        &self,
        matches: impl Fn(&Entry, &str) -> bool,
    ) -> Result<Vec<RestoredSetting>, KnobError> {
        if self.journal.entries()?.is_empty() {
            return Ok(Vec::new());
        }
        let _lock = self.journal.lock()?;
        self.restore_entries(matches)
    }

    /// Call this with the lock held: the previous holder may have restored something.
    pub(crate) fn restore_entries(
        &self,
        matches: impl Fn(&Entry, &str) -> bool,
    ) -> Result<Vec<RestoredSetting>, KnobError> {
        let mut done = Vec::new();
        for entry in self.journal.entries()?.iter().rev().filter(|entry| matches(entry, &self.journal.boot)) {
            let failure = self.restore_entry(entry).err().map(|failure| failure.to_string());
            if failure.is_none() {
                self.journal.remove(std::slice::from_ref(entry))?;
            }
            done.push(RestoredSetting { name: entry.knob.clone(), value: entry.found.clone(), failure });
        }
        Ok(done)
    }

    /// A value that is already restored is not written: some files refuse even that.
    pub(crate) fn restore_file(&self, place: &KnobFiles, file: &str, found: &str) -> Result<(), KnobError> {
        if self.verify(place, file, found).is_ok() {
            return Ok(());
        }
        self.write(place.known, file, found)?;
        self.verify(place, file, found)
    }

    fn interface_is_gone(&self, file: &str) -> bool {
        let below = file.strip_prefix("sys/class/net/").or_else(|| file.strip_prefix("ethtool/"));
        let interface = below.and_then(|path| path.split('/').next());
        interface.is_some_and(|name| self.tree.names("sys/class/net").iter().all(|other| other != name))
    }

    fn restore_entry(&self, entry: &Entry) -> Result<(), KnobError> {
        match &entry.place {
            // The settings of an interface disappear with it.
            Place::File(file) if self.interface_is_gone(file) => Ok(()),
            Place::File(file) => {
                let place = self.files_of(&entry.knob)?;
                if !place.files.contains(file) {
                    let (name, file) = (entry.knob.clone(), file.clone());
                    return Err(KnobError::Foreign { name, file, files: place.files });
                }
                self.restore_file(&place, file, &entry.found)
            }
            Place::Steps(steps) => {
                // A program that outlived its study might write later.
                let deadline = Instant::now() + WRITER_TIMEOUT;
                while steps.iter().any(Step::outlives_boot)
                    && entry.is_abandoned(&self.journal.boot)
                    && self.journal.commands_run()
                    && Instant::now() < deadline
                {
                    sleep(POLL_INTERVAL);
                }
                let take = |step: &Step| {
                    let failed = |said: io::Error| (step.to_string(), said.to_string());
                    step.execute(&self.tree).map_err(failed)
                };
                // Execute all steps, even after a failure.
                let done: Vec<_> = steps.iter().map(take).collect();
                let failed = done.into_iter().find_map(Result::err);
                failed.map_or(Ok(()), |(step, said)| Err(KnobError::Undo { step, said }))
            }
            Place::Folder(folder) if !is_ours(folder) => {
                let said = format!("its name does not start with {PREFIX}, as in all cgroups of Hindmost");
                Err(KnobError::Folder { folder: folder.clone(), said })
            }
            Place::Folder(folder) => {
                let deadline = Instant::now() + FOLDER_TIMEOUT;
                loop {
                    match write::remove_folder(&self.tree, folder) {
                        Ok(()) => return Ok(()),
                        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                        Err(_) if Instant::now() < deadline => sleep(POLL_INTERVAL),
                        Err(error) => {
                            let (folder, said) = (folder.clone(), error.to_string());
                            return Err(KnobError::Folder { folder, said });
                        }
                    }
                }
            }
        }
    }
}
