//! Where latency comes from: a light probe of our own, or the server's access log.

mod client;
mod intake;
mod log;
mod probe;

use std::path::PathBuf;

use serde::Deserialize;

use crate::NerveError;

pub use client::ProbeRequest;
pub(crate) use intake::Intake;
pub(crate) use log::Tail;
pub(crate) use probe::Prober;

/// Where a log's line holds the latency.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Where {
    /// A member of a JSON document.
    Json(String),
    /// A column between blanks, counted from 1; negative: from the end.
    Column(i32),
    /// What follows a name and `=`, as in `rt=0.004`.
    Key(String),
}

/// What the log counts in.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Seconds, as nginx's `$request_time`.
    S,
    /// Milliseconds, as Envoy's `%DURATION%`.
    Ms,
    /// Microseconds, as Apache's `%D`.
    Us,
    /// Nanoseconds, as Traefik's `Duration`.
    Ns,
}

impl Unit {
    pub(crate) fn nanoseconds(self) -> f64 {
        match self {
            Self::S => 1e9,
            Self::Ms => 1e6,
            Self::Us => 1e3,
            Self::Ns => 1.0,
        }
    }
}

/// Where latency comes from.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LatencyFrom {
    /// Requests of our own, at moments that do not depend on the answers.
    Probe(ProbeRequest),
    /// A log to which the server appends a line a request.
    Log {
        /// Its path; may be rotated.
        file: PathBuf,
        /// Where in a line.
        place: Where,
        /// In which unit.
        unit: Unit,
    },
}

/// A running source of latencies.
pub(crate) enum Source {
    Probe(Prober),
    Log(Tail),
}

impl Source {
    pub(crate) fn start(from: &LatencyFrom) -> Result<Self, NerveError> {
        Ok(match from {
            LatencyFrom::Probe(asked) => Self::Probe(Prober::start(asked, false)?),
            LatencyFrom::Log { file, place, unit } => Self::Log(Tail::open(file, place.clone(), *unit)?),
        })
    }

    /// What came in since the last time, swapped for `empty`.
    pub(crate) fn take(&mut self, empty: Intake) -> Intake {
        match self {
            Self::Probe(probe) => probe.take(empty),
            Self::Log(tail) => tail.take(empty),
        }
    }
}
