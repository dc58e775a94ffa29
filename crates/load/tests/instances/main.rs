//! Whole instances of the load generator on real sockets.

/// What instances send and receive with; `tests/uring.rs` runs the same over `io_uring`.
const IO: &str = "epoll";

mod common;
mod datagrams;
mod embedded;
mod faults;
mod http2;
mod overload;
mod real_servers;
mod scale;
mod secured;
mod several;
mod stored;
