//! Compares the simulator with closed forms, with scenarios calculated by hand, and its two methods with each
//! other.

mod arrival_cost;
mod batches;
mod common;
mod locks;
mod paths;
mod theory;
