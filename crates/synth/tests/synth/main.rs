//! Comparisons of the server with its documents, the simulator and memcached.

mod against_memcached;
mod clones;
mod common;
mod known_answers;
mod simulator;
mod sockets;
mod truth;
