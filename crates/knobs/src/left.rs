//! What stands changed on this host: whoever measures here should know.

use schemars::JsonSchema;
use serde::Serialize;

use crate::journal::Entry;
use crate::{KnobError, Knobs};

/// A setting that is not what was found.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Left {
    /// The knob; of a line that cannot be read, which line.
    pub name: String,
    /// What was found.
    pub found: String,
    /// What was set.
    pub set: String,
    /// Who puts it back.
    pub by: Whose,
    /// The process that set it; absent: a person.
    pub pid: Option<u32>,
    /// Why a line cannot be read.
    pub unread: Option<String>,
}

/// Who puts a setting back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Whose {
    /// The person who set it.
    Person,
    /// A study that runs.
    Running,
    /// Nobody: its study was killed.
    Nobody,
}

impl Knobs {
    /// What is changed now, the first change first; nothing is put back.
    ///
    /// # Errors
    /// [`KnobError::Journal`] where the journal cannot be read or trusted.
    pub fn left(&self) -> Result<Vec<Left>, KnobError> {
        let lines = self.journal.lines()?;
        let mut left: Vec<Left> = Vec::new();
        for entry in &lines.entries {
            let one = self.told(entry);
            // A knob of many files is one.
            if !left.contains(&one) {
                left.push(one);
            }
        }
        left.extend(lines.unread.into_iter().map(|line| Left {
            name: line.name(),
            found: String::new(),
            set: String::new(),
            by: Whose::Nobody,
            pid: None,
            unread: Some(line.why),
        }));
        Ok(left)
    }

    fn told(&self, entry: &Entry) -> Left {
        let by = match entry.owner {
            None => Whose::Person,
            Some(_) if entry.abandoned(&self.journal.boot) => Whose::Nobody,
            Some(_) => Whose::Running,
        };
        Left {
            name: entry.knob.clone(),
            found: entry.found.clone(),
            set: entry.set.clone(),
            by,
            pid: entry.owner.map(|owner| owner.pid),
            unread: None,
        }
    }
}
