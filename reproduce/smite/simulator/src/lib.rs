//! A twin of a core with two hardware threads: a toy, cycle by cycle, with exact truth.
//!
//! It exists to test what is claimed of rulers, profiles and predictions where no such core is at hand, and where one
//! is: nothing disturbs it, the same seed gives the same figures, and what a program loses beside another can be
//! counted. Its sizes are scaled down and calibrated to no real core: it says whether a method can
//! work, never how large an effect is.
//!
//! ```text
//!   program A -+                 +- ports (11) -- caches L1, L2, L3 -- one memory channel
//!              +- dispatch (6) - +
//!   program B -+   in turns      +- window: 64 entries, half each where both threads are in use
//! ```

mod cache;
mod core;
mod matrix;
mod program;
mod stream;

pub use matrix::{measure, Asked, Matrix};
