//! The one loop: when a request is due, send it; when a reply is there, stamp it.
//!
//! ```text
//! instance ── coordinator (ten looks a second, none in the measurement): phases, steadiness, files
//!    ├── worker 0 ── pinned ── its connections, its arrivals, its records: loop { send due; take replies }
//!    └── worker 1 ── ...      nothing shared but a few atomics, nothing locked, nothing allocated
//! ```

mod account;
mod again;
mod bell;
mod connect;
mod connection;
mod control;
mod instance;
mod link;
mod needs;
mod open_files;
mod output;
mod pace;
mod phases;
mod preload;
mod receive;
mod result;
mod run;
mod send;
mod shares;
mod sockets;
mod stages;
mod stamp_report;
mod stamping;
mod summary;
mod thread;
mod worker;

#[cfg(any(test, fuzzing))]
#[cfg_attr(not(test), allow(dead_code, missing_docs, unreachable_pub))]
pub(crate) mod tests;

pub use account::HostSpan;
pub use control::Timeline;
pub use instance::run;
pub use link::{Alone, Command, Event, Link};
pub use needs::Needs;
pub use result::{InstanceResult, ThreadReport};
pub use shares::Shares;
pub use sockets::SocketReport;
pub use stamp_report::{StampReason, StampReport};
