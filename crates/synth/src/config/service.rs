//! The short form of a clone: one service time for all requests.

use hindmost_clone::{Component, Document, Law, LoadDependence, Order, Queue, SCHEMA};
use serde::{Deserialize, Serialize};

use crate::SynthError;

/// Distribution of the service time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ServiceTime {
    /// No service time; the replies of a batch are written together.
    #[default]
    Zero,
    /// The same time for every request (the D of M/D/1).
    Deterministic {
        /// Service time in microseconds.
        mean_us: f64,
    },
    /// Exponentially distributed, drawn independently (the second M of M/M/1).
    Exponential {
        /// Mean service time in microseconds.
        mean_us: f64,
    },
}

const MAX_MEAN_US: f64 = 1e7;

impl ServiceTime {
    /// Check the field. The error names it and its value.
    pub(super) fn validate(self) -> Result<(), SynthError> {
        match self {
            Self::Zero => Ok(()),
            Self::Deterministic { mean_us } | Self::Exponential { mean_us } => {
                if mean_us.is_finite() && mean_us > 0.0 && mean_us <= MAX_MEAN_US {
                    return Ok(());
                }
                Err(SynthError::Config {
                    field: "service.mean_us",
                    value: mean_us.to_string(),
                    wanted: "must be above 0 and at most 10000000 (10 s)",
                })
            }
        }
    }

    /// Return the document of a server with this service time; each thread serves its own connections.
    pub(super) fn document(self, threads: u32) -> Document {
        let (name, law) = match self {
            Self::Zero => ("zero", Law::Deterministic { us: 0.0 }),
            Self::Deterministic { mean_us } => ("deterministic", Law::Deterministic { us: mean_us }),
            Self::Exponential { mean_us } => ("exponential", Law::Exponential { mean_us }),
        };
        Document {
            schema: SCHEMA.to_owned(),
            name: name.to_owned(),
            note: String::new(),
            threads,
            queue: Queue::PerThread,
            service: vec![Component { weight: 1.0, law }],
            kinds: vec![],
            locks: vec![],
            disturbances: vec![],
            load: LoadDependence::default(),
            order: Order::default(),
            arrival_us: 0.0,
            wake_us: 0.0,
            outside_us: 0.0,
            origin: None,
        }
    }
}
