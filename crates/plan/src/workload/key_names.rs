//! Keys given by name.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::key_value::MAX_KEY_BYTES;
use crate::error::{refuse, PlanError};

/// Keys by name: a list, or `{"file": "keys.txt"}` with one key per line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "`key_names` is neither a list of keys nor an object with a `file`")]
pub enum KeyNames {
    /// A list.
    List(Arc<Vec<String>>),
    /// A file.
    File {
        /// A file with one key per line; empty lines are skipped.
        file: PathBuf,
    },
}

impl KeyNames {
    /// Return why `text` cannot be a key.
    pub(super) fn cannot_be(text: &str) -> Option<&'static str> {
        if text.len() > MAX_KEY_BYTES as usize {
            return Some("is longer than 250 bytes");
        }
        text.bytes().any(|b| b <= b' ' || b == 0x7f).then_some("contains spaces or control characters")
    }

    pub(super) fn check(&self, prefix: &str) -> Result<(), PlanError> {
        let Self::List(names) = self else { return Ok(()) };
        Self::check_all(names, prefix, |at| format!("number {}", at + 1))
    }

    /// Return the names, read from the file if there is one.
    pub(super) fn read(&self, prefix: &str) -> Result<Arc<Vec<String>>, PlanError> {
        let file = match self {
            Self::List(names) => return Ok(names.clone()),
            Self::File { file } => file,
        };
        let text = hindmost_sys::file::read_regular_text(file).map_err(|e| {
            refuse(
                "workload.key_names.file",
                format!("{}, which cannot be read ({e})", file.display()),
                "a readable file of keys",
            )
        })?;
        let (lines, names): (Vec<usize>, Vec<String>) = text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.is_empty())
            .map(|(at, line)| (at + 1, line.to_owned()))
            .unzip();
        Self::check_all(&names, prefix, |at| place(file, lines.get(at)))?;
        Ok(Arc::new(names))
    }

    fn check_all(names: &[String], prefix: &str, place: impl Fn(usize) -> String) -> Result<(), PlanError> {
        let refused = |at: usize, value: &str| {
            let value = format!("{value} at {}", place(at));
            refuse(
                "workload.key_names",
                value,
                "distinct keys of at most 250 printable bytes, prefix included",
            )
        };
        if names.is_empty() || names.len() > 100_000_000 {
            return Err(refused(0, &format!("a list of {}", names.len())));
        }
        let mut seen = std::collections::HashMap::with_capacity(names.len());
        for (at, name) in names.iter().enumerate() {
            let wrong = Self::cannot_be(name).or((name.is_empty()).then_some("is empty"));
            let long = prefix.len() + name.len() > MAX_KEY_BYTES as usize;
            if let Some(wrong) = wrong.or(long.then_some("is longer than 250 bytes with its prefix")) {
                return Err(refused(at, &format!("{name:?}, which {wrong},")));
            }
            if let Some(before) = seen.insert(name.as_str(), at) {
                return Err(refused(at, &format!("{name:?}, which also occurs at {},", place(before))));
            }
        }
        Ok(())
    }
}

fn place(file: &Path, line: Option<&usize>) -> String {
    let file = file.display();
    line.map_or_else(|| format!("the end of {file}"), |line| format!("line {line} of {file}"))
}
