//! The simulator against closed forms, scenarios worked out by hand, and its own other way.

mod arrival_cost;
mod batches;
mod common;
mod locks;
mod paths;
mod theory;
