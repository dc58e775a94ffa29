//! The protocols: split bytes into requests, and answer them. No sockets and no clock here.

mod command;
mod context;
#[cfg(any(test, fuzzing))]
mod converse;
mod frame;
mod http;
mod memcached;
mod pipeline;
#[cfg(test)]
mod seeds;

pub(crate) use context::{Context, Disposition};
#[cfg(any(test, fuzzing))]
pub use converse::converse;
pub(crate) use pipeline::Pipeline;
