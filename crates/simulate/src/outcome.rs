use std::collections::BTreeMap;

use hindmost_clone::Lock;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::general::LockUse;

/// Mean and quantiles, by name, us.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures(pub Vec<(String, f64)>);

impl Figures {
    /// One of them; NaN where it was not asked for.
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

/// What one design gave; warm-up left out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// Worker threads.
    pub threads: u32,
    /// Requests that counted.
    pub requests: u64,
    /// Rate of arrivals, requests a second; of a closed loop, as it came out.
    pub rate_per_s: Option<f64>,
    /// The most that can be served for long; `None` where nothing takes time.
    pub capacity_per_s: Option<f64>,
    /// Requests a second from the first arrival to the last reply.
    pub throughput_per_s: Option<f64>,
    /// Share of the threads' time in which they had a request: service, locks, waiting for them, standing still.
    pub busy_share: f64,
    /// From the first arrival to the last reply.
    pub span_us: f64,
    /// Mean time that a request takes of a thread which never waits or stands still.
    pub demand_us: f64,
    /// From arrival to reply, time outside of the server included.
    pub latency_us: Figures,
    /// From arrival until a thread takes it.
    pub queueing_us: Figures,
    /// From then on until the thread is done with it: also waiting for locks, and stand-stills.
    pub service_us: Figures,
    /// Latency figure to its value in each section.
    pub sections_us: BTreeMap<String, Vec<f64>>,
    /// Name, number of requests and latency of each kind.
    pub kinds: Vec<(String, u64, Figures)>,
    /// Of each array of locks.
    pub locks: Vec<LockFigures>,
}

/// What was seen of one array of locks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LockFigures {
    /// Its name.
    pub name: String,
    /// Taken so often.
    pub taken: u64,
    /// Share of those who had to wait.
    pub waited_share: f64,
    /// Times that somebody fell asleep over it, by those who took it.
    pub sleeps_per_taken: f64,
    /// Mean time of waiting, those who did not wait included.
    pub mean_wait_us: f64,
    /// Share of the time in which it was held, on average over the array.
    pub held_share: f64,
}

impl LockFigures {
    pub(crate) fn of(lock: &Lock, seen: &LockUse, span_ns: f64) -> Self {
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

/// What became of one point of a batch.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Answer {
    /// It was run.
    Done(Box<Outcome>),
    /// It was not: more would arrive than can be served.
    AboveCapacity {
        /// Worker threads.
        threads: u32,
        /// Asked for.
        rate_per_s: f64,
        /// The most that can be served for long.
        capacity_per_s: f64,
    },
}
