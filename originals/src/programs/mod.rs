//! The programs. A new one is a file here and a line in [`crate::program::PROGRAMS`].

pub mod compress;
pub mod image;
pub mod search;
pub mod sqlite;
pub mod text;
pub mod words;
