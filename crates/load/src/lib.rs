//! The load generator: one instance of it, from plan to result files.
//!
//! Four independent ideas stay four types: [`arrivals`] (when), [`stop`] (until when),
//! [`transport`] (bytes), [`protocol`] (messages). [`workload`] says what is asked for, [`record`]
//! what is kept, and [`engine`] is the one loop that brings them together.

pub mod engine;
mod error;
pub mod protocol;
pub mod record;
mod schema;
pub mod stop;
pub mod transport;
pub mod workload;

/// What fuzz targets drive.
#[cfg(fuzzing)]
pub mod fuzzing {
    pub use crate::engine::tests::any_server::any_server;
}

pub use error::LoadError;
pub use hindmost_arrivals as arrivals;
use hindmost_random as random;
pub use hindmost_random::Random;
