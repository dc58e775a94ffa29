//! The event loop: send each request at its scheduled time, and stamp each reply when it arrives.
//!
//! ```text
//! coordinator/  a client from plan to files; polls ten times a second before the measurement, sleeps in it
//!    │ control: phases and progress, as atomics with one writer each
//! hot_path/     one worker per thread: loop { send; receive }; nothing is shared, locked or allocated
//!    │
//! state/        a worker's state: schedule, connections, stamps, tally
//! report/       the results of all workers, as files
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
pub use coordinator::client::{run, run_as};
pub use coordinator::controller::{Command, Controller, Event, ImmediateController};
pub use coordinator::first_request::first_request;
pub use coordinator::needs::Needs;
pub use coordinator::refusals::check_protocol;
pub use report::host::HostSpan;
pub use report::result::{ClientResult, ThreadReport};
pub use report::shares::Shares;
pub use report::stamps::{StampReason, StampReport};
pub use state::sockets::SocketReport;
