//! The server without sockets: this process generates the requests, and the usual threads serve them.
//!
//! ```text
//!   Schedule (arrival times, known in advance)  -->  RequestQueue  -->  Worker
//! ```
//!
//! These measurements contain no network and no client: only the document and this host.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use hindmost_arrivals::Law;
use hindmost_clock::{Nanos, Rate};
use hindmost_clone::arrivals::ArrivalTimes;
use hindmost_simulate::capacity_per_s;
use serde::{Deserialize, Serialize};

use super::pool::{check_cpus, start_recorder, threads_per_queue, WorkerPool};
use super::schedule::Schedule;
use super::source::Source;
use super::spin::Flags;
use super::station::Station;
use crate::record::ServerSummary;
use crate::shared::Shared;
use crate::work::now;
use crate::{ServerConfig, SynthError};

/// Arrivals of requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Arrivals {
    /// Open loop: requests arrive at the times of a law, independent of earlier requests. The simulator draws the same
    /// times from the same seed.
    Open {
        /// Requests per second.
        rate_per_s: f64,
        /// Arrival law; default: Poisson process.
        #[serde(default)]
        law: Law,
    },
    /// Closed loop: every free thread gets its next request at once.
    BackToBack,
}

/// Requests to serve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InProcess {
    /// Arrivals of requests.
    pub arrivals: Arrivals,
    /// Number of requests.
    pub requests: u64,
}

/// Delay until the origin of disturbances and arrivals, so that all threads have started.
const START_DELAY: Nanos = Nanos::from_millis(20);
/// How often the number of served requests is checked.
const CHECK_INTERVAL: Duration = Duration::from_millis(2);

impl InProcess {
    fn validate(&self, capacity_per_s: f64) -> Result<(), SynthError> {
        let refuse = |field, value: String, wanted| Err(SynthError::Config { field, value, wanted });
        if self.requests == 0 {
            return refuse("requests", "0".to_owned(), "must be at least 1");
        }
        match &self.arrivals {
            Arrivals::Open { rate_per_s, .. } if !(*rate_per_s > 0.0 && *rate_per_s <= 1e9) => {
                refuse("rate_per_s", rate_per_s.to_string(), "must be above 0 and at most 1000000000")
            }
            &Arrivals::Open { rate_per_s, .. } if rate_per_s >= capacity_per_s => {
                Err(SynthError::AboveCapacity { rate_per_s, capacity_per_s })
            }
            Arrivals::Open { law, .. } => law.check().or_else(|wrong| {
                refuse(
                    "arrivals",
                    format!("{} {}", wrong.field, wrong.value),
                    "must be a law with parameters in range",
                )
            }),
            Arrivals::BackToBack => Ok(()),
        }
    }

    /// Return the source of requests of one queue.
    fn source(&self, seed: u64, origin: Nanos, number: usize, queues: usize) -> Result<Source, SynthError> {
        if let Arrivals::Open { rate_per_s, law } = &self.arrivals {
            if let Some(rate) = Rate::per_second(*rate_per_s) {
                let times = ArrivalTimes::new(law, rate, seed)?;
                let schedule = Schedule::new(seed, origin, times, self.requests, (number, queues));
                return Ok(Source::Schedule(schedule));
            }
        }
        let until = |number: usize| self.requests * number as u64 / queues as u64;
        Ok(Source::BackToBack { most: until(number + 1) - until(number), count: AtomicU64::new(0) })
    }

    /// Serve all requests, or until `stop` is set.
    pub fn run(&self, config: &ServerConfig, stop: &AtomicBool) -> Result<ServerSummary, SynthError> {
        config.validate()?;
        let program = config.program()?;
        self.validate(capacity_per_s(&program, config.seed, &AtomicBool::new(false))?)?;
        let threads = program.threads as usize;
        check_cpus(config, threads)?;
        let recorder = start_recorder(config, threads, self.requests)?;
        let per_queue = threads_per_queue(program.queue, threads);
        let queues = threads / per_queue;
        let origin = now() + START_DELAY;
        let shared = Arc::new(Shared::new(config, program, origin));
        let station = |number: usize| {
            let source = self.source(config.seed, origin, number, queues)?;
            Ok::<_, SynthError>(Arc::new(Station::new(Arc::clone(&shared), source, per_queue)))
        };
        let stations: Vec<_> = (0..queues).map(station).collect::<Result<_, _>>()?;
        let pool = WorkerPool::new(config, &shared, &stations, Vec::new(), recorder);

        let is_finished = AtomicBool::new(false);
        let flags = Flags { stop, failed: &shared.failed };
        thread::scope(|scope| {
            let serving = scope.spawn(|| pool.run(&is_finished));
            while !flags.are_up() && shared.totals().total.served < self.requests {
                thread::sleep(CHECK_INTERVAL);
            }
            is_finished.store(true, Ordering::Relaxed);
            serving.join().unwrap_or(Err(SynthError::Panicked { thread: 0 }))
        })
    }
}
