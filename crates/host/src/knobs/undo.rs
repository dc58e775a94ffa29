//! Back to what was found: files are written, commands run, folders removed; the last change first.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::journal::{Entry, Place};
use super::{KnobError, Knobs, Owner, Restored};

/// How long a command may take; others wait for the journal's lock meanwhile.
const COMMAND_PATIENCE: Duration = Duration::from_secs(60);
/// How long a cgroup may still hold processes: a guard stops its server within this, however Hindmost ended.
const FOLDER_PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(5);

impl Knobs {
    /// Puts back all that was changed by hand, and what processes left that have ended. What cannot be put back stays
    /// in the journal; what a running process set is that process's, and said so.
    ///
    /// # Errors
    /// [`KnobError::Journal`] where the journal cannot be read or written.
    pub fn restore(&self) -> Result<Vec<Restored>, KnobError> {
        self.locked(|entry, boot| entry.owner.is_none() || entry.abandoned(boot), true)
    }

    /// Puts back what processes left that have ended.
    ///
    /// # Errors
    /// [`KnobError::Journal`] where the journal cannot be read or written.
    pub fn recover(&self) -> Result<Vec<Restored>, KnobError> {
        self.locked(Entry::abandoned, false)
    }

    /// Puts back what `owner` did to one knob.
    ///
    /// # Errors
    /// [`KnobError::Journal`] where the journal cannot be read or written.
    pub fn undo(&self, name: &str, owner: Owner) -> Result<Vec<Restored>, KnobError> {
        self.locked(|entry, _| entry.owner == Some(owner) && entry.knob == name, false)
    }

    /// Journals a change that a command will make, and the command for the shell that undoes it.
    ///
    /// # Errors
    /// [`KnobError::Journal`] where it cannot be written, [`KnobError::Held`] where another process did the same.
    pub fn promise_command(
        &self,
        name: &str,
        undo: &str,
        found: &str,
        set: &str,
        owner: Owner,
    ) -> Result<(), KnobError> {
        self.promise(name, Place::Undo(undo.to_owned()), found, set, owner)
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

    fn locked(
        &self,
        whose: impl Fn(&Entry, &str) -> bool,
        tell_of_others: bool,
    ) -> Result<Vec<Restored>, KnobError> {
        if self.journal.entries()?.is_empty() {
            return Ok(Vec::new());
        }
        let _held = self.journal.lock()?;
        let mut done = self.put_back_all(whose)?;
        if tell_of_others {
            let left =
                self.journal.entries()?.into_iter().filter(|entry| !entry.abandoned(&self.journal.boot));
            done.extend(left.filter_map(|entry| {
                let pid = entry.owner?.pid;
                let failure = Some(format!("process {pid} is running a study and puts it back itself"));
                Some(Restored { name: entry.knob, value: entry.found, failure })
            }));
        }
        Ok(done)
    }

    /// Under the lock: whoever held it before may have put something back.
    pub(super) fn put_back_all(
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

    fn put_back(&self, entry: &Entry) -> Result<(), KnobError> {
        match &entry.place {
            Place::File(file) => {
                let place = self.place(&entry.knob)?;
                self.write(place.known, file, &entry.found)?;
                self.verify(&place, file, &entry.found)
            }
            Place::Undo(command) => {
                self.journal.trusted()?;
                run(command).map_err(|said| KnobError::Undo { command: command.clone(), said })
            }
            Place::Folder(folder) => {
                let deadline = Instant::now() + FOLDER_PATIENCE;
                loop {
                    match self.tree.remove_folder(folder) {
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

/// Runs a command in the shell, in a group of its own so that its children end with it; how it failed, in words.
fn run(command: &str) -> Result<(), String> {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]).current_dir("/").process_group(0);
    shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = shell.spawn().map_err(|error| error.to_string())?;
    let deadline = Instant::now() + COMMAND_PATIENCE;
    loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(format!("ended with {status}: {}", last_words(&mut child))),
            None if Instant::now() < deadline => sleep(PAUSE),
            None => {
                end_group(&child);
                let _ = child.wait();
                return Err(format!("did not end within {} s", COMMAND_PATIENCE.as_secs()));
            }
        }
    }
}

/// The end of what it said, as far as it is there: a background child may hold the pipe open.
#[allow(unsafe_code)]
fn last_words(child: &mut Child) -> String {
    use std::os::fd::AsRawFd;
    let Some(mut pipe) = child.stderr.take() else {
        return String::new();
    };
    // SAFETY: fcntl(2) on a descriptor that is open takes numbers only.
    unsafe { libc::fcntl(pipe.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
    let mut text = vec![0; 4096];
    let length = pipe.read(&mut text).unwrap_or(0);
    let text = String::from_utf8_lossy(&text[..length]);
    text.lines().last().unwrap_or("it said nothing").chars().take(200).collect()
}

#[allow(unsafe_code)]
fn end_group(child: &Child) {
    let Ok(pid) = libc::pid_t::try_from(child.id()) else {
        return;
    };
    // SAFETY: kill(2) takes two numbers; the group is the child's own, which is not reaped yet.
    unsafe { libc::kill(-pid, libc::SIGKILL) };
}
