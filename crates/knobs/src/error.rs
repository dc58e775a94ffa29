use std::path::PathBuf;

use thiserror::Error;

/// The reason why a setting was not changed.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum KnobError {
    /// There is no setting of this name.
    #[error("there is no knob {name:?}")]
    Unknown {
        /// The requested name.
        name: String,
        /// The existing names.
        names: Vec<String>,
    },
    /// The setting does not exist on this host.
    #[error("{name} cannot be set on this host: {why}")]
    Missing {
        /// Its name.
        name: String,
        /// The reason.
        why: String,
        /// Whether more rights would help.
        denied: bool,
    },
    /// The setting does not accept the value.
    #[error("{name} cannot be {value:?}; possible values: {}", choices.join(", "))]
    Value {
        /// Name of the setting.
        name: String,
        /// The requested value.
        value: String,
        /// The possible values.
        choices: Vec<String>,
    },
    /// The kernel refused the value.
    #[error("the kernel does not accept {value:?} for {file}: {said}")]
    Refused {
        /// The file.
        file: String,
        /// The value that was written.
        value: String,
        /// The error of the kernel.
        said: String,
    },
    /// The kernel accepted the value but then reports another one.
    #[error("{name} was set to {asked:?}, but {file} then reads {found:?}")]
    Differs {
        /// Name of the setting.
        name: String,
        /// The file.
        file: String,
        /// The value that was written.
        asked: String,
        /// The value that was read back.
        found: String,
    },
    /// Another process has changed it and will restore the original value.
    #[error("{name} is set by process {pid}, which {}", if *alive { "is running a study" } else { "ended, and its change could not be undone" })]
    Held {
        /// Name of the setting.
        name: String,
        /// The process id.
        pid: u32,
        /// Whether it still runs.
        alive: bool,
    },
    /// A step that should undo a change failed.
    #[error("cannot {step}: {said}")]
    Undo {
        /// The step.
        step: String,
        /// The error of the kernel or the program.
        said: String,
    },
    /// The journal names a file that does not belong to the setting; it is not written.
    #[error("the journal names {file} for {name}, whose files here are {}", if files.is_empty() { "none".to_owned() } else { files.join(", ") })]
    Foreign {
        /// Name of the setting.
        name: String,
        /// The file in the journal.
        file: String,
        /// The files of the setting.
        files: Vec<String>,
    },
    /// A created folder cannot be removed.
    #[error("{folder} cannot be removed: {said}")]
    Folder {
        /// The folder.
        folder: String,
        /// The error of the system.
        said: String,
    },
    /// The journal cannot be written, so no setting is changed.
    #[error("the journal of changed settings, {file}, cannot be {doing}: {said}")]
    Journal {
        /// The journal file.
        file: String,
        /// The operation that failed.
        doing: &'static str,
        /// The error of the system.
        said: String,
        /// What keeps it from being used.
        fault: JournalFault,
    },
}

/// What keeps the journal from being used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JournalFault {
    /// Other users can write this file or folder.
    OthersWrite(PathBuf),
    /// This file or folder belongs to another user.
    OwnedByOther(PathBuf),
    /// This process lacks the rights.
    Denied,
    /// Any other error of the system.
    Other,
}
