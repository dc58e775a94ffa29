//! The interface between a client and the process that starts it. The engine knows only the trait.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use hindmost_clock::{Clock, MonotonicClock, Nanos};
use hindmost_sys::shared::SharedWords;
use serde::{Deserialize, Serialize};

use crate::stop::Ended;
use crate::LoadError;

/// A report from a client to its controller.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// All connections are open and the keys are stored. The client waits for [`Command::Go`].
    Ready {
        /// Local ports of the connections that the plan wants in the packet capture.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        ports: Vec<u16>,
    },
    /// This client considers the warm-up finished. It keeps sending and waits for [`Command::Measure`].
    Warm {
        /// How the warm-up ended.
        ended: Ended,
        /// Seconds since the load started.
        after_s: f64,
    },
    /// Progress of the load.
    Progress {
        /// Seconds since the load started.
        elapsed_s: f64,
        /// Requests sent since the load started.
        sent: u64,
        /// Replies received since the load started.
        replies: u64,
    },
    /// All result files are written.
    Done,
}

/// A command from the controller to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Start the load at this time of `CLOCK_MONOTONIC`.
    Go {
        /// Nanoseconds.
        start_ns: u64,
    },
    /// End the warm-up at this time of `CLOCK_MONOTONIC`, which must be in the future.
    Measure {
        /// Nanoseconds.
        from_ns: u64,
    },
    /// Give up at once.
    Stop,
}

/// The process or thread that started the client.
pub trait Controller {
    /// Send a report.
    fn report(&mut self, event: &Event) -> Result<(), LoadError>;

    /// Wait at most `patience` for a command.
    ///
    /// # Errors
    /// [`LoadError::Aborted`] when the controller has exited: a client never outlives its controller.
    fn next_command(&mut self, patience: Nanos) -> Result<Option<Command>, LoadError>;

    /// Return memory for counters that the controller reads during the load, if it does ([`crate::record::LiveReader`]).
    fn live_memory(&self) -> Option<Arc<SharedWords>> {
        None
    }

    /// Return a descriptor that becomes readable when a command arrives, or `None` if the client must poll.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// A controller that starts the client at once and starts the measurement when the client is warm.
#[derive(Debug, Default)]
pub struct ImmediateController {
    answer: Option<Command>,
}

/// Time between a command and its effect, so that every worker sees the command beforehand.
pub const AHEAD: Nanos = Nanos::from_millis(20);

impl Controller for ImmediateController {
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
