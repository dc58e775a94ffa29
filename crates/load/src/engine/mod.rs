//! The one loop: when a request is due, send it; when a reply is there, stamp it.
//!
//! ```text
//! coordinator/  an instance from plan to files; ten looks a second before the measurement, none in it
//!    │ control: the phases, progress; a few atomics with one writer each
//! hot_path/     a worker thread each: loop { send what is due; take replies }; nothing shared, locked or allocated
//!    │
//! state/        what a worker keeps: schedule, connections, stamps, tally
//! report/       what all workers kept, as files
//! ```

mod control;
mod coordinator;
mod hot_path;
mod report;
mod state;

#[cfg(any(test, fuzzing))]
#[cfg_attr(not(test), allow(dead_code, missing_docs, unreachable_pub))]
pub(crate) mod tests;

pub use control::Timeline;
pub use coordinator::clean_up::clean_up;
pub use coordinator::controller::{Command, Controller, Event, Unattended};
pub use coordinator::first::first_request;
pub use coordinator::instance::{run, run_as};
pub use coordinator::needs::Needs;
pub use coordinator::refusals::check_protocol;
pub use report::host::HostSpan;
pub use report::result::{InstanceResult, ThreadReport};
pub use report::shares::Shares;
pub use report::stamps::{StampReason, StampReport};
pub use state::sockets::SocketReport;
