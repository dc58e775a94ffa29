//! The hot path: everything between a request's scheduled time and its record.
//!
//! Nothing here allocates, locks or prints between the first request and the last. The clock is read once per
//! iteration of the event loop, before and after each write call, and after each read.

mod datagrams;
mod event_loop;
mod farewell;
pub mod opening;
mod pace;
mod places;
mod receive;
mod reconnect;
mod redirects;
mod resend;
mod send;
mod turns;
mod wire_stamps;
mod worker;

pub use worker::{Parts, Worker, READ_BYTES};
