//! The memcached text protocol: framing (`parse`, pure) and answering (`execute`, against the store).
//! Replies were compared byte by byte with memcached 1.6.18 (`tests/against_memcached.rs`).

mod execute;
mod parse;

pub(super) use execute::execute;
pub(super) use parse::{Command, Parser};

/// Longest command line. Enough for a get of 260 keys of the greatest length; a client that sends
/// more without a line feed is told so and disconnected.
pub(super) const MAX_LINE: usize = 64 << 10;

#[cfg(test)]
mod tests;
