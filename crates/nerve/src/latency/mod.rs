//! Sources of latency: a light probe, or the server's access log.

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

/// Where a log line has the latency.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogField {
    /// A member of a JSON document.
    Json(String),
    /// A column separated by blanks, counted from 1; negative: from the end.
    Column(i32),
    /// The text after a name and `=`, as in `rt=0.004`.
    Key(String),
}

/// Unit of the latencies in a log.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Seconds, as in nginx's `$request_time`.
    S,
    /// Milliseconds, as in Envoy's `%DURATION%`.
    Ms,
    /// Microseconds, as in Apache's `%D`.
    Us,
    /// Nanoseconds, as in Traefik's `Duration`.
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

/// Configuration of the source of latency.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LatencyFrom {
    /// A probe that sends requests on its own schedule, independent of replies.
    Probe(ProbeRequest),
    /// An access log to which the server appends a line per request.
    Log {
        /// Path of the log, which may be rotated.
        file: PathBuf,
        /// Where a line has the latency.
        place: LogField,
        /// Unit of the latency.
        unit: Unit,
    },
}

/// A running source of latencies.
pub(crate) enum Source {
    Probe(Prober),
    Log(Tail),
}

impl Source {
    /// Start a source. `must_answer`: fail if the probed server does not answer now.
    pub(crate) fn start(from: &LatencyFrom, must_answer: bool) -> Result<Self, NerveError> {
        Ok(match from {
            LatencyFrom::Probe(request) => Self::Probe(Prober::start(request, false, must_answer)?),
            LatencyFrom::Log { file, place, unit } => Self::Log(Tail::open(file, place.clone(), *unit)?),
        })
    }

    /// Return the readings since the last call, in exchange for `empty`.
    pub(crate) fn take(&mut self, empty: Intake) -> Intake {
        match self {
            Self::Probe(probe) => probe.take(empty),
            Self::Log(tail) => tail.take(empty),
        }
    }
}
