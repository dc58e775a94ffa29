//! The part of HTTP/1.1 (RFC 9112) that load testers use: every path exists, connections persist, and requests may be
//! pipelined.

mod command;
mod parse;

pub(super) use command::Command;
pub(super) use parse::Parser;

#[cfg(test)]
mod tests;
