//! The one loop: when a request is due, send it; when a reply is there, stamp it.
//!
//! ```text
//! instance ── coordinator (asleep but for ten looks a second): phases, steadiness, progress, files
//!    ├── worker 0 ── pinned ── its connections, its arrivals, its records: loop { send due; take replies }
//!    └── worker 1 ── ...      nothing shared but a few atomics, nothing locked, nothing allocated
//! ```

mod connect;
mod connection;
mod control;
mod instance;
mod link;
mod output;
mod pace;
mod phases;
mod preload;
mod receive;
mod result;
mod run;
mod send;
mod summary;
mod thread;
mod worker;

#[cfg(test)]
mod tests;

pub use control::Timeline;
pub use instance::run;
pub use link::{Alone, Command, Event, Link};
pub use result::{InstanceResult, ThreadReport};
