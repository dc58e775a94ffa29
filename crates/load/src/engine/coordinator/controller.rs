//! Whoever starts an instance and tells it when to begin and to measure. The engine only knows the trait.

use std::os::fd::BorrowedFd;

use hindmost_clock::{Clock, MonotonicClock, Nanos};
use serde::{Deserialize, Serialize};

use crate::stop::Ended;
use crate::LoadError;

/// What an instance reports.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// All connections are open and the keys are stored; waiting for [`Command::Go`].
    Ready {
        /// The ports of the connections that the plan wants witnessed.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        ports: Vec<u16>,
    },
    /// The warm-up is over as far as this instance can see; waiting for [`Command::Measure`], and
    /// still sending.
    Warm {
        /// How it ended.
        ended: Ended,
        /// Seconds since the start.
        after_s: f64,
    },
    /// How far it is.
    Progress {
        /// Seconds since the start.
        elapsed_s: f64,
        /// Requests sent since the start.
        sent: u64,
        /// Replies since the start.
        replies: u64,
    },
    /// All result files are written.
    Done,
}

/// What an instance is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Start the load at this moment of `CLOCK_MONOTONIC`.
    Go {
        /// Nanoseconds.
        start_ns: u64,
    },
    /// End the warm-up at this moment of `CLOCK_MONOTONIC`, which lies ahead.
    Measure {
        /// Nanoseconds.
        from_ns: u64,
    },
    /// Give up at once.
    Stop,
}

/// Whoever started the instance.
pub trait Controller {
    /// Sends a report.
    fn report(&mut self, event: &Event) -> Result<(), LoadError>;

    /// Waits for a command, at most for `patience`.
    ///
    /// # Errors
    /// [`LoadError::Aborted`] when the controller is gone: an instance never outlives its owner.
    fn next_command(&mut self, patience: Nanos) -> Result<Option<Command>, LoadError>;

    /// What becomes readable when there is a command; `None` where one has to look.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// Nobody: the instance begins at once, and measures when it is warm.
#[derive(Debug, Default)]
pub struct Unattended {
    answer: Option<Command>,
}

/// Time for every worker to see what is coming.
pub const AHEAD: Nanos = Nanos::from_millis(20);

impl Controller for Unattended {
    fn report(&mut self, event: &Event) -> Result<(), LoadError> {
        let soon = (MonotonicClock.now() + AHEAD).0;
        match event {
            Event::Ready { .. } => self.answer = Some(Command::Go { start_ns: soon }),
            Event::Warm { .. } => self.answer = Some(Command::Measure { from_ns: soon }),
            Event::Progress { .. } | Event::Done => {}
        }
        Ok(())
    }

    fn next_command(&mut self, patience: Nanos) -> Result<Option<Command>, LoadError> {
        if self.answer.is_none() {
            std::thread::sleep(std::time::Duration::from_nanos(patience.0));
        }
        Ok(self.answer.take())
    }
}
