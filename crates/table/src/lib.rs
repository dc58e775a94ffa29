//! Flat Parquet files: read columns by name, write row groups column by column.
//!
//! No type of `parquet` is public. Its code is generic, and each crate that calls it would compile it again.

mod error;
mod read;
mod write;

pub use error::TableError;
pub use read::{column_kinds, read_groups, read_integers, read_reals, read_texts, Rows};
pub use write::{Group, Writer};

/// Represents null in a column of integers.
pub const NULL: i64 = i64::MIN;

#[cfg(test)]
mod tests;
