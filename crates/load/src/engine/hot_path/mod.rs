//! What happens between a request's due time and its record: the loop of a worker.
//!
//! Nothing here allocates, locks or prints between the first request and the last. The clock is read once a turn of
//! the loop, before and after each write call, and after each read.

mod datagrams;
mod event_loop;
mod farewell;
pub mod opening;
mod pace;
mod places;
mod receive;
mod reconnect;
mod resend;
mod send;
mod turns;
mod wire_stamps;
mod worker;

pub use worker::{Parts, Worker, READ_BYTES};
