use serde::Serialize;

use crate::workload::Kind;

/// One request with all its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Scheduled time, in nanoseconds of `CLOCK_MONOTONIC`.
    pub scheduled_ns: u64,
    /// Send time; 0 if it was not sent.
    pub sent_ns: u64,
    /// Software transmit stamp of its last byte, on our clock; 0 without a stamp.
    pub wire_out_ns: u64,
    /// Software receive stamp of its reply's last byte, on our clock; 0 without a stamp.
    pub wire_in_ns: u64,
    /// Time between the NIC's stamps of its last byte and of its reply's last byte, in nanoseconds; 0 without
    /// stamps. The NIC's clock is not ours.
    pub card_wire_ns: u64,
    /// Completion time; 0 without a reply.
    pub completed_ns: u64,
    /// Its position in a packet capture.
    pub place: Place,
    /// Kind of the request.
    pub kind: Kind,
    /// Outcome of the request.
    pub status: Status,
    /// Whether a message of its streamed reply arrived.
    pub has_message: bool,
    /// Number of its connection within the worker.
    pub connection: u32,
    /// Number of its server, if there are several.
    pub endpoint: u16,
    /// Number of the worker within the client.
    pub thread: u16,
}

/// A request's position in a packet capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The client's port; 0 if the transport has none.
    pub port: u16,
    /// Stream offset of the request's end.
    pub request_end: u64,
    /// Stream offset of the reply's end; 0 without a reply.
    pub reply_end: u64,
}

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Served.
    Hit,
    /// Answered: the item does not exist.
    Miss,
    /// Answered with an error.
    Error,
    /// The connection was lost before the answer.
    Lost,
    /// No answer within the timeout.
    Timeout,
    /// Not sent.
    Unsent,
}

impl Status {
    /// Return the name in files.
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
