//! Settings of the host and their undo: the only crate that writes to the host.
//!
//! ```text
//!  set:      find the files -> read values -> write the journal, sync -> write -> read back
//!                                                          \-- different? restore, report
//!  undo:     journal, last change first -> write the original value -> read back -> remove the entry
//! ```
//!
//! A setting is one or several files with the same value (every CPU's governor). The original value is in the
//! journal before anything is written, so that the next process can restore it, even after a `kill -9`.

mod catalogue;
mod changes;
mod error;
mod find;
mod format;
mod journal;
mod list;
mod owner;
mod set;
mod step;
mod trust;
mod undo;
mod write;

use std::path::Path;

use hindmost_host::Tree;

pub use changes::ChangedSetting;
pub use error::{JournalFault, KnobError};
use journal::Journal;
pub use list::Knob;
pub use owner::Owner;
pub use step::Step;
pub use undo::RestoredSetting;

/// The settings of a host, with the journal of changes.
pub struct Knobs {
    tree: Tree,
    journal: Journal,
}

impl Knobs {
    /// Create access to the settings below `tree`. The journal is in `folder`, which is created at the first
    /// change.
    pub fn new(tree: Tree, folder: &Path) -> Self {
        Self { journal: Journal::new(&tree, folder), tree }
    }
}

#[cfg(test)]
mod tests;
