//! What all workers of an instance kept, as its result and its files.

pub mod finished;
pub mod host;
pub mod output;
pub mod result;
pub mod shares;
pub mod stamps;
pub mod summary;
