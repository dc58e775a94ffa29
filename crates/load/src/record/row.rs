use serde::Serialize;

use crate::workload::Kind;

/// One request with all its stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Due time, in nanoseconds of `CLOCK_MONOTONIC`.
    pub due_ns: u64,
    /// Sent; 0 where it never was.
    pub sent_ns: u64,
    /// When its last byte left, by the kernel, on our clock; 0 where it was not stamped.
    pub wire_out_ns: u64,
    /// When the last byte of its answer came in, by the kernel, on our clock; 0 where it was not stamped.
    pub wire_in_ns: u64,
    /// From its last byte out to the last byte of its answer in, by the network card, whose clock is not
    /// ours; 0 where it was not stamped.
    pub card_wire_ns: u64,
    /// Done; 0 where it never was.
    pub done_ns: u64,
    /// Where a packet capture finds it.
    pub place: Place,
    /// What it did.
    pub kind: Kind,
    /// How it ended.
    pub status: Status,
    /// The connection that carried it, counted within its worker.
    pub connection: u32,
    /// Which of several servers it went to, or was to go to.
    pub endpoint: u16,
    /// The worker, counted within its instance.
    pub thread: u16,
}

/// A request's place on its connection, as a packet capture sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The client's port; 0 where the transport has none.
    pub port: u16,
    /// Bytes sent on the connection up to the end of the request.
    pub request_end: u64,
    /// Bytes received on it up to the end of the reply; 0 where none came.
    pub reply_end: u64,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Served.
    Hit,
    /// Answered: there is no such item.
    Miss,
    /// Answered with an error.
    Error,
    /// Its connection was lost before the answer came.
    Lost,
    /// No answer within the timeout.
    Timeout,
    /// It could not be sent.
    Unsent,
}

impl Status {
    /// The name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Miss => "miss",
            Self::Error => "error",
            Self::Lost => "lost",
            Self::Timeout => "timeout",
            Self::Unsent => "unsent",
        }
    }
}
