//! The knobs that are known. A new one is a row in the file of what it is about.

mod kernel;
mod memory;
mod network;
mod power;
mod tcp;

use crate::find::{files, Files};
use crate::format::Format;
use hindmost_host::Tree;

/// One row: where a knob lies, and how it is spelled.
pub(crate) struct Known {
    /// What it is called.
    pub(crate) name: &'static str,
    /// What it does.
    pub(crate) about: &'static str,
    /// Its files: `*` stands for any name or number, all of which take the same value; `@` for a device, each of which
    /// is a knob of its own.
    pub(crate) pattern: &'static str,
    /// How its value is spelled.
    pub(crate) format: Format,
    /// Which files those are.
    pub(crate) find: fn(&Tree, &str) -> Files,
    /// A file beside it that lists the choices.
    pub(crate) choices: Option<&'static str>,
    /// What a host lacks that has no such file.
    pub(crate) absent: &'static str,
}

const fn row(
    name: &'static str,
    pattern: &'static str,
    format: Format,
    about: &'static str,
    absent: &'static str,
) -> Known {
    Known { name, about, pattern, format, find: files, choices: None, absent }
}

const KERNEL: &str = "this kernel was built without it";

const CATALOGUE: [&[Known]; 5] = [memory::ROWS, power::ROWS, kernel::ROWS, network::ROWS, tcp::ROWS];

/// All rows.
pub(crate) fn all() -> impl Iterator<Item = &'static Known> {
    CATALOGUE.into_iter().flatten()
}
