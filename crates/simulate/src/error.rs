use hindmost_arrivals::TraceError;
use hindmost_clone::CloneError;
use thiserror::Error;

/// Why nothing was simulated.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum SimulateError {
    /// The clone document makes no sense.
    #[error(transparent)]
    Clone(#[from] CloneError),
    /// The design cannot be read.
    #[error("the design cannot be read: {0}")]
    Unreadable(String),
    /// A field of the design holds what it must not.
    #[error("`{field}` is {value}, but must be {must}")]
    Field {
        /// Which.
        field: String,
        /// What it holds.
        value: String,
        /// What would be right.
        must: String,
    },
    /// A trace of arrivals cannot be replayed.
    #[error("{0}")]
    Trace(String),
    /// More arrives than can be served: the queue grows for as long as one looks.
    #[error(
        "a rate of {rate_per_s:.6} requests/s is {:.1} % of the capacity of {capacity_per_s:.6} requests/s: the queue \
         would grow without end",
        100.0 * rate_per_s / capacity_per_s
    )]
    AboveCapacity {
        /// Asked for.
        rate_per_s: f64,
        /// The most that can be served for long.
        capacity_per_s: f64,
    },
    /// Threads stand still all the time.
    #[error("threads stand still {:.1} % of the time, so that nothing is ever served", 100.0 * share)]
    NeverRuns {
        /// Sum of the shares of all disturbances by the clock.
        share: f64,
    },
    /// Somebody asked to stop.
    #[error("interrupted")]
    Interrupted,
}

impl SimulateError {
    /// Its name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Clone(_) => "clone",
            Self::Unreadable(_) | Self::Field { .. } | Self::Trace(_) => "design",
            Self::AboveCapacity { .. } | Self::NeverRuns { .. } => "capacity",
            Self::Interrupted => "interrupted",
        }
    }
}

impl From<TraceError> for SimulateError {
    fn from(error: TraceError) -> Self {
        Self::Trace(error.to_string())
    }
}
