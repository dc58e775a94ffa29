//! Accounts: of requests, and of attempts to connect.

use schemars::JsonSchema;
use serde::Serialize;

use super::Status;
use crate::schema::came_later;
use crate::transport::Handshake;

const LATER: [&str; 1] = ["lost"];
const LATER_OF_CONNECTS: [&str; 2] = ["full_handshakes", "resumed_handshakes"];

/// The account of one kind of request. `due = done + errors + timeouts + unsent`, always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
#[schemars(transform = came_later(&LATER))]
pub struct Counts {
    /// Due in the measurement phase.
    pub due: u64,
    /// Answered in time, hits and misses.
    pub done: u64,
    /// Of these, misses.
    pub misses: u64,
    /// Answered with an error, or lost with their connection.
    pub errors: u64,
    /// Of these, lost with their connection.
    pub lost: u64,
    /// Not answered in time.
    pub timeouts: u64,
    /// Not sent.
    pub unsent: u64,
}

impl Counts {
    /// One more request that was due, and how it ended.
    #[inline]
    pub(super) fn count(&mut self, status: Status) {
        self.due += 1;
        match status {
            Status::Hit | Status::Miss => {
                self.done += 1;
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

    /// Adds another account.
    pub fn add(&mut self, other: &Self) {
        self.due += other.due;
        self.done += other.done;
        self.misses += other.misses;
        self.errors += other.errors;
        self.lost += other.lost;
        self.timeouts += other.timeouts;
        self.unsent += other.unsent;
    }

    /// Whether every due request is accounted for.
    pub fn closes(&self) -> bool {
        self.due == self.done + self.errors + self.timeouts + self.unsent
    }
}

/// What became of attempts to connect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
#[schemars(transform = came_later(&LATER_OF_CONNECTS))]
pub struct Connects {
    /// Connections made, those before the measurement included.
    pub all: u64,
    /// Of these, begun in the measurement, or for a request that was due in it.
    pub made: u64,
    /// Attempts of the same that failed.
    pub failed: u64,
    /// Of `all`, secured from the beginning: certificates and keys.
    pub full_handshakes: u64,
    /// Of `all`, secured by taking up an earlier session.
    pub resumed_handshakes: u64,
}

impl Connects {
    pub(super) fn secured(&mut self, handshake: Handshake) {
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
