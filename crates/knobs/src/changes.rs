//! Settings of this host that are currently changed.

use schemars::JsonSchema;
use serde::Serialize;

use crate::journal::Entry;
use crate::{KnobError, Knobs};

/// A setting whose value differs from the original.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[schemars(rename = "Left")]
pub struct ChangedSetting {
    /// Name of the setting; for a line that cannot be parsed, which line.
    pub name: String,
    /// The original value.
    pub found: String,
    /// The new value.
    pub set: String,
    /// Who restores it.
    pub by: Restorer,
    /// The process that set it; absent: a person.
    pub pid: Option<u32>,
    /// Why a line cannot be parsed.
    pub unread: Option<String>,
}

/// Who restores a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Whose")]
pub enum Restorer {
    /// The person who set it.
    Person,
    /// A running study.
    Running,
    /// No one: its study was killed.
    Nobody,
}

impl Knobs {
    /// Return the current changes in order of time, without restoring anything.
    ///
    /// # Errors
    /// [`KnobError::Journal`] if the journal cannot be read or trusted.
    pub fn changes(&self) -> Result<Vec<ChangedSetting>, KnobError> {
        let lines = self.journal.lines()?;
        let mut changes: Vec<ChangedSetting> = Vec::new();
        for entry in &lines.entries {
            let one = self.describe(entry);
            // A setting with several files is reported once.
            if !changes.contains(&one) {
                changes.push(one);
            }
        }
        changes.extend(lines.unread.into_iter().map(|line| ChangedSetting {
            name: line.name(),
            found: String::new(),
            set: String::new(),
            by: Restorer::Nobody,
            pid: None,
            unread: Some(line.why),
        }));
        Ok(changes)
    }

    fn describe(&self, entry: &Entry) -> ChangedSetting {
        let by = match entry.owner {
            None => Restorer::Person,
            Some(_) if entry.is_abandoned(&self.journal.boot) => Restorer::Nobody,
            Some(_) => Restorer::Running,
        };
        ChangedSetting {
            name: entry.knob.clone(),
            found: entry.found.clone(),
            set: entry.set.clone(),
            by,
            pid: entry.owner.map(|owner| owner.pid),
            unread: None,
        }
    }
}
