//! Whole instances of the load generator on real sockets.

mod common;
mod embedded;
mod faults;
mod overload;
mod real_servers;
mod scale;
