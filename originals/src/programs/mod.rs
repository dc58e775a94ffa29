//! The programs. A new one is a file here and a line in [`PROGRAMS`].

pub mod compress;
pub mod image;
pub mod search;
pub mod sqlite;
pub mod text;
pub mod words;

use crate::program::Make;

/// Every program: its name, its description, and its constructor.
pub const PROGRAMS: &[(&str, &str, Make)] = &[
    ("compress", "zstd: compresses and expands texts, records and noise of many sizes", compress::make),
    ("image", "JPEG images: decodes, resizes, encodes", image::make),
    ("search", "Xapian: ranked, boolean and phrase queries of Zipf words", search::make),
    ("sqlite", "SQLite: point reads, range aggregates, rankings, updates", sqlite::make),
    ("text", "regular expressions and JSON: parses, searches, rewrites records", text::make),
];
