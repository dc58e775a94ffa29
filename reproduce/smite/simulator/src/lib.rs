//! A simulated core with two hardware threads: simple, cycle by cycle, with exact truth.
//!
//! It tests the claims about stressors, profiles and predictions on hosts without such a core, and with one:
//! nothing disturbs it, the same seed gives the same figures, and the loss of a program next to another can be
//! counted. Its sizes are scaled down and not calibrated to a real core: it shows whether a method can work, not
//! how large an effect is.
//!
//! ```text
//!   program A -+                 +- ports (11) -- caches L1, L2, L3 -- one memory channel
//!              +- dispatch (6) - +   program B -+   alternating   +- window: 64 entries, half each if both threads
//! are used ```

mod cache;
mod core;
mod matrix;
mod program;
mod stream;

pub use matrix::{measure, Matrix, Query};
