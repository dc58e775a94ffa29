//! What is drawn for arrivals: the same in the simulator and in the server that makes its own.

use hindmost_arrivals::{Law, Process, TraceError};
use hindmost_clock::Rate;
use hindmost_random::Draws;

// Purposes of draws; those up to 23 belong to requests and windows.
const GAP: u32 = 24;
const ROUTE: u32 = 25;

/// The moments of an open loop, ns, one after the other.
pub enum Moments {
    /// Without memory: each gap is drawn with all else that belongs to its request, so that designs at other rates,
    /// too, meet the same requests.
    Exponential {
        /// The mean gap.
        gap_ns: f64,
        /// The moment before the next.
        now_ns: f64,
    },
    /// Of any other law, from a stream of its own.
    Drawn(Box<dyn Process>),
}

impl Moments {
    /// Of `law` at `rate`.
    ///
    /// # Errors
    /// [`TraceError`], of a trace that cannot be replayed.
    pub fn new(law: &Law, rate: Rate, seed: u64) -> Result<Self, TraceError> {
        Ok(match law {
            Law::Exponential(_) => Self::Exponential { gap_ns: rate.mean_gap_ns(), now_ns: 0.0 },
            law => Self::Drawn(law.moments(rate, seed)?),
        })
    }

    /// The next moment; `draws`: those of its request.
    #[inline]
    pub fn next(&mut self, draws: Draws) -> f64 {
        match self {
            Self::Exponential { gap_ns, now_ns } => {
                *now_ns += -*gap_ns * draws.unit(GAP).ln();
                *now_ns
            }
            Self::Drawn(process) => process.next(),
        }
    }
}

/// Which of `n` queues a request joins.
#[inline]
pub fn route(draws: Draws, n: usize) -> usize {
    ((draws.unit(ROUTE) * n as f64) as usize).min(n - 1)
}
