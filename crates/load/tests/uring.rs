//! Whole instances on real sockets once more, over `io_uring`.

const IO: &str = "io_uring";

#[path = "instances/common/mod.rs"]
mod common;
#[path = "instances/embedded.rs"]
mod embedded;
#[path = "instances/faults.rs"]
mod faults;
#[path = "instances/real_servers.rs"]
mod real_servers;
