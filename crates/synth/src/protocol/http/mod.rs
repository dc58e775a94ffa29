//! HTTP/1.1 (RFC 9112), as much of it as load testers speak: every path is there, connections are kept, requests
//! may be pipelined.

mod command;
mod parse;

pub(super) use command::Command;
pub(super) use parse::Parser;

#[cfg(test)]
mod tests;
