//! What can be set on this host, and how it is put back: the only crate that writes to the host.
//!
//! ```text
//!  set:      find the files -> read what is there -> journal it, synced -> write -> read again
//!                                                          \-- wrong? put back, said so
//!  undo:     journal, last first -> write what was found -> read again -> strike the entry out
//! ```
//!
//! A knob is one or several files that take the same value (every processor's governor). What was found stands in
//! the journal before anything is written, so that whoever comes next can undo it, also after a `kill -9`.

mod catalogue;
mod error;
mod find;
mod format;
mod journal;
mod left;
mod list;
mod owner;
mod set;
mod step;
mod trust;
mod undo;
mod write;

use std::path::Path;

use hindmost_host::Tree;

pub use error::KnobError;
use journal::Journal;
pub use left::Left;
pub use list::Knob;
pub use owner::Owner;
pub use step::Step;
pub use undo::Restored;

/// The knobs of one host, with the journal of what was changed.
pub struct Knobs {
    tree: Tree,
    journal: Journal,
}

impl Knobs {
    /// The knobs below `tree`; the journal lies in `folder`, which is made when something is set.
    pub fn new(tree: Tree, folder: &Path) -> Self {
        Self { journal: Journal::new(&tree, folder), tree }
    }
}

#[cfg(test)]
mod tests;
