//! The server without sockets: requests are made in this process, and the same threads serve them.
//!
//! ```text
//!   Schedule (what is due, known beforehand)  -->  RequestQueue  -->  Worker
//! ```
//!
//! What is measured so has no kernel and no client in it: the document, and what this host makes of it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use hindmost_arrivals::Law;
use hindmost_clock::{Nanos, Rate};
use hindmost_clone::arrivals::Moments;
use hindmost_simulate::capacity_per_s;
use serde::{Deserialize, Serialize};

use super::pool::{check_cpus, recorder, threads_a_queue, WorkerPool};
use super::schedule::Schedule;
use super::source::Source;
use super::spin::Flags;
use super::station::Station;
use crate::record::ServerSummary;
use crate::shared::Shared;
use crate::work::now;
use crate::{ServerConfig, SynthError};

/// When requests arrive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Arrivals {
    /// Open loop: at the moments of a law, whatever became of those before. They are those that the simulator draws
    /// from the same seed.
    Open {
        /// Requests a second.
        rate_per_s: f64,
        /// By default a Poisson process.
        #[serde(default)]
        law: Law,
    },
    /// Every free thread has its next request at once.
    BackToBack,
}

/// How many requests, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InProcess {
    /// When they arrive.
    pub arrivals: Arrivals,
    /// So many.
    pub requests: u64,
}

/// From here to the first moment of the clock that disturbances and arrivals count from: the threads have started.
const SETTLE: Nanos = Nanos::from_millis(20);
/// How often the count of served requests is read, to see whether all have been served.
const LOOK_EVERY: Duration = Duration::from_millis(2);

impl InProcess {
    fn validate(&self, capacity_per_s: f64) -> Result<(), SynthError> {
        let refuse = |field, value: String, wanted| Err(SynthError::Config { field, value, wanted });
        if self.requests == 0 {
            return refuse("requests", "0".to_owned(), "at least one");
        }
        match &self.arrivals {
            Arrivals::Open { rate_per_s, .. } if !(*rate_per_s > 0.0 && *rate_per_s <= 1e9) => {
                refuse("rate_per_s", rate_per_s.to_string(), "above 0 and at most 1000000000")
            }
            &Arrivals::Open { rate_per_s, .. } if rate_per_s >= capacity_per_s => {
                Err(SynthError::AboveCapacity { rate_per_s, capacity_per_s })
            }
            Arrivals::Open { law, .. } => law.check().or_else(|wrong| {
                refuse(
                    "arrivals",
                    format!("{} {}", wrong.field, wrong.value),
                    "a law with parameters within its bounds",
                )
            }),
            Arrivals::BackToBack => Ok(()),
        }
    }

    /// The requests of one queue of several.
    fn source(&self, seed: u64, origin: Nanos, number: usize, queues: usize) -> Result<Source, SynthError> {
        if let Arrivals::Open { rate_per_s, law } = &self.arrivals {
            if let Some(rate) = Rate::per_second(*rate_per_s) {
                let moments = Moments::new(law, rate, seed)?;
                let schedule = Schedule::new(seed, origin, moments, self.requests, (number, queues));
                return Ok(Source::Schedule(schedule));
            }
        }
        let until = |number: usize| self.requests * number as u64 / queues as u64;
        Ok(Source::BackToBack { most: until(number + 1) - until(number), made: AtomicU64::new(0) })
    }

    /// Serves all requests, or those until `stop` is set.
    pub fn run(&self, config: &ServerConfig, stop: &AtomicBool) -> Result<ServerSummary, SynthError> {
        config.validate()?;
        let program = config.program()?;
        self.validate(capacity_per_s(&program, config.seed, &AtomicBool::new(false))?)?;
        let threads = program.threads as usize;
        check_cpus(config, threads)?;
        let recorder = recorder(config, threads, self.requests)?;
        let a_queue = threads_a_queue(program.queue, threads);
        let queues = threads / a_queue;
        let origin = now() + SETTLE;
        let shared = Arc::new(Shared::new(config, program, origin));
        let station = |number: usize| {
            let source = self.source(config.seed, origin, number, queues)?;
            Ok::<_, SynthError>(Arc::new(Station::new(Arc::clone(&shared), source, a_queue)))
        };
        let stations: Vec<_> = (0..queues).map(station).collect::<Result<_, _>>()?;
        let pool = WorkerPool::new(config, &shared, &stations, Vec::new(), recorder);

        let over = AtomicBool::new(false);
        let flags = Flags { stop, failed: &shared.failed };
        thread::scope(|scope| {
            let serving = scope.spawn(|| pool.run(&over));
            while !flags.are_up() && shared.totals().total.served < self.requests {
                thread::sleep(LOOK_EVERY);
            }
            over.store(true, Ordering::Relaxed);
            serving.join().unwrap_or(Err(SynthError::Panicked { thread: 0 }))
        })
    }
}
