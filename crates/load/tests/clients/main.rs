//! Complete runs of the load generator on real sockets.

mod common;
mod datagrams;
mod embedded_server;
mod faults;
mod http2;
mod keyspace;
mod overload;
mod real_servers;
mod scale;
mod several;
mod tls;
