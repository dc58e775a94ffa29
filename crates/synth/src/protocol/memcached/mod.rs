//! The memcached text protocol: framing (`parse`, pure) and answering (`execute`, against the store).
//! Replies were compared byte by byte with memcached 1.6.18 (`tests/against_memcached.rs`).

mod execute;
mod parse;

pub(super) use execute::execute;
pub(super) use parse::{Command, Parser};

#[cfg(test)]
mod tests;
