//! Where in a data center batch work and its data may go, by history (Zhang et al., OSDI 2016).
//!
//! ```text
//!  utilisation by tenant --spectrum--> pattern --k_means--> classes --select--> a class for a job   (algorithm 1)
//!  reimages, peaks, space --grid--> nine cells --place--> a server for a replica                    (algorithm 2)
//! ```
//!
//! The plug-ins of `hadoop/` decide by the same rules with the same random numbers: [`golden`] writes what they must
//! answer. The simulators call the same code, so what they find is what a cluster would do.

mod asked;
mod classify;
mod error;
mod fft;
pub mod golden;
mod grid;
mod jobs;
mod k_means;
mod pattern;
mod place;
mod select;
mod sequence;
mod settings;
pub mod simulate;
mod spectrum;
pub mod traces;

pub use asked::{answer, replay};
pub use classify::{classify, Class, Classified, Found};
pub use error::HarvestError;
pub use grid::{Grid, Tenant, CELLS};
pub use jobs::{learn_thresholds, Length, LengthMemory, Run, Thresholds};
pub use pattern::{Pattern, Profile};
pub use place::{Choice, Placer, Repair, Rules, Weigh};
pub use select::{headroom, select, Job, Room, Weights};
pub use sequence::Sequence;
pub use settings::Settings;
