//! The load generator: runs one client from plan to result files.
//!
//! Four independent concerns are separate types: [`arrivals`] (when to send), [`stop`] (when to end the
//! warm-up), [`transport`] (bytes) and [`protocol`] (messages). [`workload`] chooses the requests, [`record`]
//! stores the results, and [`engine`] is the event loop that combines them.

pub mod engine;
mod error;
pub mod protocol;
pub mod record;
mod schema;
pub mod stop;
pub mod transport;
pub mod workload;

/// Entry points of fuzz targets.
#[cfg(fuzzing)]
pub mod fuzzing {
    pub use crate::engine::tests::any_server::any_server;
}

pub use error::LoadError;
pub use hindmost_arrivals as arrivals;
use hindmost_random as random;
pub use hindmost_random::Random;
