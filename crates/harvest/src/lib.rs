//! Placement of batch jobs and their data in a data center by its history (Zhang et al., OSDI 2016).
//!
//! ```text
//!  utilisation by tenant --spectrum--> pattern --k_means--> classes --select--> a class for a job   (algorithm 1)
//!  reimages, peaks, space --grid--> nine cells --place--> a server for a replica                    (algorithm 2)
//! ```
//!
//! The plug-ins of `hadoop/` decide by the same rules and the same random numbers: [`golden`] writes the
//! decisions that they must reproduce. The simulators call the same code, so they predict what a cluster
//! would do.

mod classify;
mod error;
mod fft;
pub mod golden;
mod grid;
mod jobs;
mod k_means;
mod pattern;
mod place;
mod queries;
mod select;
mod sequence;
mod settings;
pub mod simulate;
mod spectrum;
pub mod traces;

pub use classify::{classify, Class, Classification, TenantClass};
pub use error::HarvestError;
pub use grid::{Grid, Tenant, CELLS};
pub use jobs::{learn_thresholds, Length, LengthMemory, Run, Thresholds};
pub use pattern::{Pattern, Profile};
pub use place::{Choice, Placer, Repair, Rules, Weigh};
pub use queries::{answer, replay};
pub use select::{headroom, select, ClassState, Job, Weights};
pub use sequence::Sequence;
pub use settings::Settings;
