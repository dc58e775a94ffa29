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
