//! Back to what was found: files are written, steps taken, folders removed; the last change first.

use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;

use crate::journal::{Entry, Place, Unread};
use crate::list::KnobFiles;
use crate::{write, KnobError, Knobs, Owner, Step};

/// One thing that was put back, or could not be.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Restored {
    /// The knob.
    pub name: String,
    /// What it is again.
    pub value: String,
    /// Why it is not.
    pub failure: Option<String>,
}

/// How long what a killed study's command has started may go on writing before it is undone.
const WRITER_PATIENCE: Duration = Duration::from_secs(10);
/// How long a cgroup may still hold processes: a guard stops its server within this, however Hindmost ended.
const FOLDER_PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(5);

/// How the names of groups begin that a study makes (`python/hindmost/knobs/kinds/cgroup.py`).
const OURS: &str = "hindmost-";

fn is_ours(folder: &str) -> bool {
    let mut parts = folder.split('/');
    parts.next_back().is_some_and(|name| name.starts_with(OURS)) && parts.all(|part| part != "..")
}

impl Knobs {
    /// Puts back all that was changed by hand, and what processes left that have ended. What cannot be put back stays
    /// in the journal; what a running process set is that process's, and said so.
    ///
    /// # Errors
    /// [`KnobError::Journal`] where the journal cannot be read or written.
    pub fn restore(&self) -> Result<Vec<Restored>, KnobError> {
        let unread = self.unread()?;
        if self.journal.entries()?.is_empty() {
            return Ok(unread);
        }
        let _held = self.journal.lock()?;
        // What a person set below a running study's setting: the study still has to come back to it.
        let all = self.journal.entries()?;
        let running = |entry: &&Entry| entry.owner.is_some() && !entry.abandoned(&self.journal.boot);
        let held: Vec<&Entry> = all.iter().filter(running).collect();
        let mut done = self.put_back_all(|entry, _| held.iter().all(|other| other.place != entry.place))?;
        done.extend(held.iter().filter_map(|entry| {
            let pid = entry.owner?.pid;
            let failure = Some(format!("process {pid} is running a study and puts it back itself"));
            Some(Restored { name: entry.knob.clone(), value: entry.found.clone(), failure })
        }));
        done.extend(unread);
        Ok(done)
    }

    /// Puts back what processes left that have ended.
    ///
    /// # Errors
    /// [`KnobError::Journal`] where the journal cannot be read or written.
    pub fn recover(&self) -> Result<Vec<Restored>, KnobError> {
        let mut done = self.locked(Entry::abandoned)?;
        done.extend(self.unread()?);
        Ok(done)
    }

    /// Lines of the journal that cannot be read here, as what was not put back.
    fn unread(&self) -> Result<Vec<Restored>, KnobError> {
        let told = |line: Unread| Restored {
            name: line.name(),
            value: String::new(),
            failure: Some(format!("{}; the line is kept", line.why)),
        };
        Ok(self.journal.lines()?.unread.into_iter().map(told).collect())
    }

    /// Puts back what `owner` did to one knob.
    ///
    /// # Errors
    /// [`KnobError::Journal`] where the journal cannot be read or written.
    pub fn undo(&self, name: &str, owner: Owner) -> Result<Vec<Restored>, KnobError> {
        self.locked(|entry, _| entry.owner == Some(owner) && entry.knob == name)
    }

    /// Journals a change that is about to be made, by the steps that undo it.
    ///
    /// # Errors
    /// [`KnobError::Journal`] where it cannot be written, [`KnobError::Held`] where another process did the same.
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

    /// Keeps what `owner` changed: it is no longer undone by it, but by [`Knobs::restore`].
    ///
    /// # Errors
    /// [`KnobError::Journal`] where the journal cannot be read or written.
    pub fn keep(&self, name: &str, owner: Owner) -> Result<(), KnobError> {
        let _held = self.journal.lock()?;
        self.journal.release(|entry| entry.owner == Some(owner) && entry.knob == name)
    }

    /// Journals a folder that is about to be made, a cgroup, and removed by the undo.
    ///
    /// # Errors
    /// [`KnobError::Journal`] where it cannot be written.
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
        let _held = self.journal.lock()?;
        self.put_back_all(Entry::abandoned)?;
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

    fn locked(&self, whose: impl Fn(&Entry, &str) -> bool) -> Result<Vec<Restored>, KnobError> {
        if self.journal.entries()?.is_empty() {
            return Ok(Vec::new());
        }
        let _held = self.journal.lock()?;
        self.put_back_all(whose)
    }

    /// Under the lock: whoever held it before may have put something back.
    pub(crate) fn put_back_all(
        &self,
        whose: impl Fn(&Entry, &str) -> bool,
    ) -> Result<Vec<Restored>, KnobError> {
        let mut done = Vec::new();
        for entry in self.journal.entries()?.iter().rev().filter(|entry| whose(entry, &self.journal.boot)) {
            let failure = self.put_back(entry).err().map(|failure| failure.to_string());
            if failure.is_none() {
                self.journal.strike(std::slice::from_ref(entry))?;
            }
            done.push(Restored { name: entry.knob.clone(), value: entry.found.clone(), failure });
        }
        Ok(done)
    }

    /// What is so already is not written: some files refuse even that.
    pub(crate) fn set_back(&self, place: &KnobFiles, file: &str, found: &str) -> Result<(), KnobError> {
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

    fn put_back(&self, entry: &Entry) -> Result<(), KnobError> {
        match &entry.place {
            // Whatever an interface was set to went with it.
            Place::File(file) if self.interface_is_gone(file) => Ok(()),
            Place::File(file) => {
                let place = self.files_of(&entry.knob)?;
                if !place.files.contains(file) {
                    let (name, file) = (entry.knob.clone(), file.clone());
                    return Err(KnobError::Foreign { name, file, files: place.files });
                }
                self.set_back(&place, file, &entry.found)
            }
            Place::Steps(steps) => {
                // A program that outlived its study might write after us.
                let deadline = Instant::now() + WRITER_PATIENCE;
                while steps.iter().any(Step::outlives_boot)
                    && entry.abandoned(&self.journal.boot)
                    && self.journal.commands_run()
                    && Instant::now() < deadline
                {
                    sleep(PAUSE);
                }
                let take = |step: &Step| {
                    let failed = |said: io::Error| (step.to_string(), said.to_string());
                    step.take(&self.tree).map_err(failed)
                };
                // All are taken, whatever fails.
                let done: Vec<_> = steps.iter().map(take).collect();
                let failed = done.into_iter().find_map(Result::err);
                failed.map_or(Ok(()), |(step, said)| Err(KnobError::Undo { step, said }))
            }
            Place::Folder(folder) if !is_ours(folder) => {
                let said = format!("it is not called {OURS}..., as those that Hindmost makes");
                Err(KnobError::Folder { folder: folder.clone(), said })
            }
            Place::Folder(folder) => {
                let deadline = Instant::now() + FOLDER_PATIENCE;
                loop {
                    match write::remove_folder(&self.tree, folder) {
                        Ok(()) => return Ok(()),
                        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                        Err(_) if Instant::now() < deadline => sleep(PAUSE),
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
