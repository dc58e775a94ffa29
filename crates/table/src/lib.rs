//! Flat Parquet files: reads columns by name, writes row groups column by column.
//!
//! No type of `parquet` is public. Its code is generic: each crate that calls it compiles it again.

mod error;
mod read;
mod write;

pub use error::TableError;
pub use read::{column_kinds, read_groups, read_integers, read_reals, read_texts, Rows};
pub use write::{Group, Writer};

/// Stands for null in a column of integers.
pub const NULL: i64 = i64::MIN;

#[cfg(test)]
mod tests;
