//! Rules that name a cause: the paper's, ours, and rankers that only observe.

mod hotelling;
mod ours;
mod rankers;

pub(crate) use hotelling::{accepts, Form};
pub(crate) use ours::{decide, CaseWindows, Gates};
pub(crate) use rankers::{change_score, first, n_sigma, quantile_regression};

/// The ruling on a case, with the seconds per arm that it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// This candidate is the cause.
    Cause(usize),
    /// None of the candidates is the cause.
    Unknown,
    /// The data are inconclusive.
    Inconclusive,
}
