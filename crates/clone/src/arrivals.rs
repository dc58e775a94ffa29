//! Random draws of arrivals, the same in the simulator and in the in-process server.

use hindmost_arrivals::{Law, Process, TraceError};
use hindmost_clock::Rate;
use hindmost_random::Draws;

// Purposes of draws; those up to 23 belong to requests and windows.
const GAP: u32 = 24;
const ROUTE: u32 = 25;

/// The arrival times of an open loop in ns, in order.
pub enum ArrivalTimes {
    /// A Poisson process. Each gap is drawn from the draws of its request, so that simulations at other rates meet the
    /// same requests.
    Exponential {
        /// Mean gap.
        gap_ns: f64,
        /// Last arrival time.
        now_ns: f64,
    },
    /// Any other law, from a separate random stream.
    Stream(Box<dyn Process>),
}

impl ArrivalTimes {
    /// Create the arrival times of `law` at `rate`.
    ///
    /// # Errors
    /// [`TraceError`] if a trace cannot be replayed.
    pub fn new(law: &Law, rate: Rate, seed: u64) -> Result<Self, TraceError> {
        Ok(match law {
            Law::Exponential(_) => Self::Exponential { gap_ns: rate.mean_gap_ns(), now_ns: 0.0 },
            law => Self::Stream(law.times(rate, seed)?),
        })
    }

    /// Return the next arrival time; `draws` are those of its request.
    #[inline]
    pub fn next(&mut self, draws: Draws) -> f64 {
        match self {
            Self::Exponential { gap_ns, now_ns } => {
                *now_ns += -*gap_ns * draws.unit(GAP).ln();
                *now_ns
            }
            Self::Stream(process) => process.next(),
        }
    }
}

/// Return which of `n` queues a request joins.
#[inline]
pub fn route(draws: Draws, n: usize) -> usize {
    ((draws.unit(ROUTE) * n as f64) as usize).min(n - 1)
}
