//! Counts of requests and of connection attempts by outcome.

use schemars::JsonSchema;
use serde::Serialize;

use super::Status;
use crate::schema::came_later;
use crate::transport::Handshake;

const LATER: [&str; 1] = ["lost"];
const LATER_OF_CONNECTS: [&str; 2] = ["full_handshakes", "resumed_handshakes"];

/// Counts of one kind of request. `scheduled = completed + errors + timeouts + unsent` always holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
#[schemars(transform = came_later(&LATER))]
pub struct Counts {
    /// Requests scheduled in the measurement phase.
    pub scheduled: u64,
    /// Requests answered within the timeout: hits and misses.
    pub completed: u64,
    /// Misses among `completed`.
    pub misses: u64,
    /// Requests answered with an error, or lost with their connection.
    pub errors: u64,
    /// Requests among `errors` that were lost with their connection.
    pub lost: u64,
    /// Requests not answered within the timeout.
    pub timeouts: u64,
    /// Requests that were not sent.
    pub unsent: u64,
}

impl Counts {
    /// Count a scheduled request by its outcome.
    #[inline]
    pub(super) fn count(&mut self, status: Status) {
        self.scheduled += 1;
        match status {
            Status::Hit | Status::Miss => {
                self.completed += 1;
                self.misses += u64::from(status == Status::Miss);
            }
            Status::Error | Status::Lost => {
                self.errors += 1;
                self.lost += u64::from(status == Status::Lost);
            }
            Status::Timeout => self.timeouts += 1,
            Status::Unsent => self.unsent += 1,
        }
    }

    /// Add other counts.
    pub fn add(&mut self, other: &Self) {
        self.scheduled += other.scheduled;
        self.completed += other.completed;
        self.misses += other.misses;
        self.errors += other.errors;
        self.lost += other.lost;
        self.timeouts += other.timeouts;
        self.unsent += other.unsent;
    }

    /// Whether the counts add up to the number of scheduled requests.
    pub fn is_balanced(&self) -> bool {
        self.scheduled == self.completed + self.errors + self.timeouts + self.unsent
    }
}

/// Counts of connection attempts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
#[schemars(transform = came_later(&LATER_OF_CONNECTS))]
pub struct Connects {
    /// Connections opened, including those before the measurement.
    pub all: u64,
    /// Connections opened that were started in the measurement, or for a request scheduled in it.
    pub made: u64,
    /// Failed attempts of the same.
    pub failed: u64,
    /// Full TLS handshakes among `all`, with certificates and key exchange.
    pub full_handshakes: u64,
    /// TLS handshakes among `all` that resumed an earlier session.
    pub resumed_handshakes: u64,
}

impl Connects {
    pub(super) fn count_handshake(&mut self, handshake: Handshake) {
        match handshake {
            Handshake::Full => self.full_handshakes += 1,
            Handshake::Resumed => self.resumed_handshakes += 1,
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.all += other.all;
        self.made += other.made;
        self.failed += other.failed;
        self.full_handshakes += other.full_handshakes;
        self.resumed_handshakes += other.resumed_handshakes;
    }
}
