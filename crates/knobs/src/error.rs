use thiserror::Error;

/// Why a knob was not set.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum KnobError {
    /// No knob of that name.
    #[error("there is no knob {name:?}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// Those that there are.
        names: Vec<String>,
    },
    /// A knob that cannot be set on this host.
    #[error("{name} cannot be set on this host: {why}")]
    Missing {
        /// Its name.
        name: String,
        /// What is missing.
        why: String,
    },
    /// A value that the knob does not have.
    #[error("{name} cannot be {value:?}, only {}", choices.join(", "))]
    Value {
        /// The knob.
        name: String,
        /// What was asked for.
        value: String,
        /// What there is.
        choices: Vec<String>,
    },
    /// The kernel did not take it.
    #[error("the kernel does not take {value:?} for {file}: {said}")]
    Refused {
        /// The file.
        file: String,
        /// What was written.
        value: String,
        /// What the kernel said.
        said: String,
    },
    /// The kernel took it, and it is something else.
    #[error("{name} was set to {asked:?}, but {file} then reads {found:?}")]
    Differs {
        /// The knob.
        name: String,
        /// The file.
        file: String,
        /// What was written.
        asked: String,
        /// What is there.
        found: String,
    },
    /// Another process has set it, and will put back what it found.
    #[error("{name} is set by process {pid}, which {}", if *alive { "is running a study" } else { "ended, and it could not be put back" })]
    Held {
        /// The knob.
        name: String,
        /// That process.
        pid: u32,
        /// Whether it still runs.
        alive: bool,
    },
    /// A step that was to undo something failed.
    #[error("cannot {step}: {said}")]
    Undo {
        /// The step.
        step: String,
        /// What the kernel or the program said.
        said: String,
    },
    /// The journal names a file that is none of the knob's: it is not written.
    #[error("the journal names {file} for {name}, whose files here are {}", if files.is_empty() { "none".to_owned() } else { files.join(", ") })]
    Foreign {
        /// The knob.
        name: String,
        /// What the journal names.
        file: String,
        /// What the knob has.
        files: Vec<String>,
    },
    /// A folder that was made cannot be removed.
    #[error("{folder} cannot be removed: {said}")]
    Folder {
        /// The folder.
        folder: String,
        /// What the system said.
        said: String,
    },
    /// The journal cannot be kept, so nothing is written.
    #[error("the journal of changed settings, {file}, cannot be {doing}: {said}")]
    Journal {
        /// Its file.
        file: String,
        /// What failed.
        doing: &'static str,
        /// What the system said.
        said: String,
    },
}
