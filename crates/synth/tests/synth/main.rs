//! The server against what its documents say, the simulator, and memcached.

mod against_memcached;
mod clones;
mod common;
mod double;
mod known_answers;
mod sockets;
mod truth;
