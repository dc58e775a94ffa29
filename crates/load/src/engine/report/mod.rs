//! Results of all workers of a client: the result document and the other files.

pub mod host;
pub mod output;
pub mod result;
pub mod shares;
pub mod stamps;
pub mod summary;
pub mod worker_totals;
