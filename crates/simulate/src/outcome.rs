use std::collections::BTreeMap;

use hindmost_clone::Lock;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::general::LockUse;

/// Mean and quantiles by name, in us.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures(pub Vec<(String, f64)>);

impl Figures {
    /// Return one figure; NaN if it was not requested.
    pub fn get(&self, name: &str) -> f64 {
        self.0.iter().find(|(found, _)| found == name).map_or(f64::NAN, |&(_, us)| us)
    }
}

impl Serialize for Figures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, us) in &self.0 {
            map.serialize_entry(name, us)?;
        }
        map.end()
    }
}

/// Statistics of one design, without warm-up.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// Number of worker threads.
    pub threads: u32,
    /// Number of requests that counted.
    pub requests: u64,
    /// Arrival rate in requests/s; in a closed loop, the measured one.
    pub rate_per_s: Option<f64>,
    /// The highest sustainable rate; `None` if the document has no service time.
    pub capacity_per_s: Option<f64>,
    /// Requests/s from the first arrival to the last reply.
    pub throughput_per_s: Option<f64>,
    /// Fraction of the threads' time in which they had a request: service, locks, waiting for locks, stops.
    pub busy_share: f64,
    /// Time from the first arrival to the last reply.
    pub span_us: f64,
    /// Mean time that a request needs from a thread that never waits and is never stopped.
    pub demand_us: f64,
    /// From arrival to reply, including time outside the server.
    pub latency_us: Figures,
    /// From arrival until a thread takes the request.
    pub queueing_us: Figures,
    /// From then until the thread completes it, including lock waits and stops.
    pub service_us: Figures,
    /// Latency figure to its value in each section.
    pub sections_us: BTreeMap<String, Vec<f64>>,
    /// Name, number of requests and latency of each kind.
    pub kinds: Vec<(String, u64, Figures)>,
    /// Statistics of each array of locks.
    pub locks: Vec<LockFigures>,
}

/// Statistics of one array of locks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LockFigures {
    /// Its name.
    pub name: String,
    /// How often it was taken.
    pub taken: u64,
    /// Fraction of the takers that had to wait.
    pub waited_share: f64,
    /// Average number of times that a waiter fell asleep, per taking.
    pub sleeps_per_taken: f64,
    /// Mean waiting time, including takers that did not wait.
    pub mean_wait_us: f64,
    /// Fraction of the time in which it was held, averaged over the array.
    pub held_share: f64,
}

impl LockFigures {
    pub(crate) fn new(lock: &Lock, seen: &LockUse, span_ns: f64) -> Self {
        let taken = seen.taken.max(1) as f64;
        Self {
            name: lock.name.clone(),
            taken: seen.taken,
            waited_share: seen.waited as f64 / taken,
            sleeps_per_taken: seen.slept as f64 / taken,
            mean_wait_us: seen.wait_ns / taken / 1e3,
            held_share: if span_ns > 0.0 { seen.held_ns / span_ns / f64::from(lock.instances) } else { 0.0 },
        }
    }
}

/// Result of one point of a batch.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Answer {
    /// The point was run.
    Done(Box<Outcome>),
    /// The point was not run: the rate exceeds the capacity.
    AboveCapacity {
        /// Number of worker threads.
        threads: u32,
        /// The requested rate.
        rate_per_s: f64,
        /// The highest sustainable rate.
        capacity_per_s: f64,
    },
}
