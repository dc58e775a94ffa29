//! A simulated data centre whose anomalies have known causes, the rules that look for them, and the analysis
//! cluster that runs the rules. It touches no host, and the same seed gives the same figures.
//!
//! ```text
//!  world: hosts, metrics, causes ── windows ──► rules: paper, printed, ours, rankers ──► leaderboard: right, wrong, ...
//!  scale: anomalies of a fleet ──► c analysis machines: M/M/c in closed form, batches by simulation
//! ```

mod draws;
mod leaderboard;
mod metrics;
mod rules;
mod scale;
mod series;
mod world;

pub use leaderboard::{leaderboard, Cell, Leaderboard, Query, Score};
pub use metrics::METRICS;
pub use scale::{scale, Machines, ScaleQuery};
pub use world::CAUSES;
