//! The coordinator of a client: starts the workers, moves them through the phases and joins them. It sleeps
//! while they measure.

pub mod clean_up;
pub mod client;
mod connect;
pub mod controller;
mod exit_notifier;
pub mod first_request;
mod keyspace;
pub mod needs;
mod open_files;
mod phases;
pub mod refusals;
mod thread;
