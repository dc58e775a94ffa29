use hindmost_arrivals::TraceError;
use hindmost_clone::CloneError;
use thiserror::Error;

/// The reason why nothing was simulated.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum SimulateError {
    /// The clone document is invalid.
    #[error(transparent)]
    Clone(#[from] CloneError),
    /// The design cannot be read.
    #[error("the design cannot be read: {0}")]
    Unreadable(String),
    /// A field of the design has an invalid value.
    #[error("`{field}` is {value}, but must be {must}")]
    Field {
        /// The field.
        field: String,
        /// Its value.
        value: String,
        /// The expected value.
        must: String,
    },
    /// A trace of arrivals cannot be replayed.
    #[error("{0}")]
    Trace(String),
    /// The rate exceeds the capacity: the queue would grow without limit.
    #[error(
        "a rate of {rate_per_s:.6} requests/s is {:.1} % of the capacity of {capacity_per_s:.6} requests/s: the queue \
         would grow without limit",
        100.0 * rate_per_s / capacity_per_s
    )]
    AboveCapacity {
        /// The requested rate.
        rate_per_s: f64,
        /// The highest sustainable rate.
        capacity_per_s: f64,
    },
    /// Threads are stopped all the time.
    #[error("threads are stopped for {:.1} % of the time, so no request is ever served", 100.0 * share)]
    NeverRuns {
        /// Sum of the fractions of all timed disturbances.
        share: f64,
    },
    /// The stop flag was set.
    #[error("interrupted")]
    Interrupted,
}

impl SimulateError {
    /// Return the stable code of the error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Clone(_) => "clone",
            Self::Unreadable(_) | Self::Field { .. } | Self::Trace(_) => "design",
            Self::AboveCapacity { .. } => "above-capacity",
            Self::NeverRuns { .. } => "always-stopped",
            Self::Interrupted => "interrupted",
        }
    }
}

impl From<TraceError> for SimulateError {
    fn from(error: TraceError) -> Self {
        Self::Trace(error.to_string())
    }
}
