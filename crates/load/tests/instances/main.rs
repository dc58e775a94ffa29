//! Whole instances of the load generator on real sockets.

mod common;
mod embedded;
mod faults;
mod real_servers;
