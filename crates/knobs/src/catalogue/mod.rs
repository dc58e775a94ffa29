//! The known settings. A new one is a row in the file of its subject.

mod kernel;
mod memory;
mod network;
mod power;
mod tcp;

use crate::find::{files, Files};
use crate::format::Format;
use hindmost_host::Tree;

/// One row: the files and the format of a setting.
pub(crate) struct CatalogueRow {
    /// Name of the setting.
    pub(crate) name: &'static str,
    /// What it does.
    pub(crate) about: &'static str,
    /// Its files. `*` stands for any name or number: all these files get the same value. `@` stands for a
    /// device: each device is a separate setting.
    pub(crate) pattern: &'static str,
    /// Format of its value.
    pub(crate) format: Format,
    /// Function that finds the files.
    pub(crate) find: fn(&Tree, &str) -> Files,
    /// Name of a file in the same folder that lists the choices.
    pub(crate) choices: Option<&'static str>,
    /// Why a host may lack the file.
    pub(crate) absent: &'static str,
}

const fn row(
    name: &'static str,
    pattern: &'static str,
    format: Format,
    about: &'static str,
    absent: &'static str,
) -> CatalogueRow {
    CatalogueRow { name, about, pattern, format, find: files, choices: None, absent }
}

const KERNEL: &str = "this kernel lacks it";

const CATALOGUE: [&[CatalogueRow]; 5] = [memory::ROWS, power::ROWS, kernel::ROWS, network::ROWS, tcp::ROWS];

/// Iterate over all rows.
pub(crate) fn all() -> impl Iterator<Item = &'static CatalogueRow> {
    CATALOGUE.into_iter().flatten()
}
