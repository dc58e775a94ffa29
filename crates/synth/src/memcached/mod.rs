//! The memcached text protocol: framing (`parse`, pure) and answering (`execute`, against the store).
//! Replies were compared byte by byte with memcached 1.6.18 (`tests/against_memcached.rs`).

#[cfg(any(test, fuzzing))]
mod converse;
mod execute;
mod parse;

#[cfg(any(test, fuzzing))]
pub use converse::converse;
pub(crate) use execute::{execute, Desk, Next};
pub(crate) use parse::{Command, Parser, Step};

/// Longest command line. Enough for a get of 260 keys of the greatest length; a client that sends
/// more without a line feed is told so and disconnected.
pub(crate) const MAX_LINE: usize = 64 << 10;

#[cfg(test)]
mod tests;
