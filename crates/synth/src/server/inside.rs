//! The server without sockets: requests are made in this process, and the same threads serve them.
//!
//! ```text
//!   Schedule (what is due, known beforehand)  -->  Hall  -->  Worker
//! ```
//!
//! What is measured so has no kernel and no client in it: the document, and what this host makes of it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use hindmost_clock::Nanos;
use hindmost_clone::Queue;
use hindmost_simulate::capacity_per_s;
use serde::{Deserialize, Serialize};

use super::hall::Hall;
use super::schedule::Schedule;
use super::source::Source;
use super::spin::Flags;
use super::worker::Worker;
use super::{check_cpus, closing, Crew, Shared};
use crate::account::Account;
use crate::work::now;
use crate::{ServerConfig, SynthError};

/// When requests arrive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Arrivals {
    /// Open loop: at the moments of a Poisson process, whatever became of those before. They are those that the
    /// simulator draws from the same seed.
    Poisson {
        /// Requests a second.
        rate_per_s: f64,
    },
    /// Every free thread has its next request at once.
    BackToBack,
}

/// How many requests, and when.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inside {
    /// When they arrive.
    pub arrivals: Arrivals,
    /// So many.
    pub requests: u64,
}

/// From here to the first moment of the clock that disturbances and arrivals count from: the threads have started.
const SETTLE: Nanos = Nanos::from_millis(20);
/// How often it is seen whether all have been served.
const GLANCE: Duration = Duration::from_millis(2);

impl Inside {
    fn validate(&self, capacity_per_s: f64) -> Result<(), SynthError> {
        let refuse = |field, value: String, wanted| Err(SynthError::Config { field, value, wanted });
        if self.requests == 0 {
            return refuse("requests", "0".to_owned(), "at least one");
        }
        match self.arrivals {
            Arrivals::Poisson { rate_per_s } if !(rate_per_s > 0.0 && rate_per_s <= 1e9) => {
                refuse("rate_per_s", rate_per_s.to_string(), "above 0 and at most 1000000000")
            }
            Arrivals::Poisson { rate_per_s } if rate_per_s >= capacity_per_s => {
                Err(SynthError::AboveCapacity { rate_per_s, capacity_per_s })
            }
            Arrivals::Poisson { .. } | Arrivals::BackToBack => Ok(()),
        }
    }

    /// Serves all requests, or those until `stop` is set.
    pub fn run(&self, config: &ServerConfig, stop: &AtomicBool) -> Result<Account, SynthError> {
        config.validate()?;
        let program = config.program()?;
        self.validate(capacity_per_s(&program, config.seed, &AtomicBool::new(false))?)?;
        let threads = program.threads as usize;
        check_cpus(config, threads)?;
        let closing = closing(config)?;
        let in_each = if program.queue == Queue::Shared { threads } else { 1 };
        let origin = now() + SETTLE;
        let shared = Arc::new(Shared::new(config, program, origin));
        let count = threads / in_each;
        let source = |number: usize| match self.arrivals {
            Arrivals::Poisson { rate_per_s } => {
                let hall = (number, count);
                Source::Due(Schedule::new(config.seed, origin, rate_per_s, self.requests, hall))
            }
            Arrivals::BackToBack => {
                let most = self.requests * (number as u64 + 1) / count as u64
                    - self.requests * number as u64 / count as u64;
                Source::Always { most, made: AtomicU64::new(0) }
            }
        };
        let halls: Vec<_> = (0..count)
            .map(|number| Arc::new(Hall::new(Arc::clone(&shared), source(number), in_each)))
            .collect();
        let workers = (0..threads).map(|n| Worker::new(config, n, &shared, &halls[n / in_each])).collect();
        let crew = Crew { shared: Arc::clone(&shared), workers, wakers: Vec::new(), closing };

        let over = AtomicBool::new(false);
        let flags = Flags { stop, failed: &shared.failed };
        thread::scope(|scope| {
            let serving = scope.spawn(|| crew.run(&over));
            while !flags.are_up() && shared.report().total.served < self.requests {
                thread::sleep(GLANCE);
            }
            over.store(true, Ordering::Relaxed);
            serving.join().unwrap_or(Err(SynthError::Panicked { thread: 0 }))
        })
    }
}
