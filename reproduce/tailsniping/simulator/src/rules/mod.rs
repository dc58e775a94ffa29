//! Who is blamed: the paper's rule, ours, and rankers that only look.

mod hotelling;
mod ours;
mod rankers;

pub(crate) use hotelling::{accepts, Form};
pub(crate) use ours::{decide, Gates, Seen};
pub(crate) use rankers::{change_score, first, n_sigma, quantile_regression};

/// What a rule says of a case, with the seconds an arm that it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// This candidate is the cause.
    Cause(usize),
    /// None of the candidates is.
    Unknown,
    /// It cannot be told.
    Inconclusive,
}
