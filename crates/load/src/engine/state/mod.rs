//! The state of a worker: structs that can be tested alone. They use no socket and no clock.

pub mod away;
pub mod backlog;
pub mod batches;
pub mod buffers;
pub mod connection;
pub mod connections;
pub mod failure;
pub mod last_messages;
pub mod request;
pub mod schedule;
pub mod sessions;
pub mod sockets;
pub mod stages;
pub mod stamp_queue;
pub mod stamping;
pub mod tags;
pub mod tally;
pub mod time_of_day;
pub mod turns;
