//! A request between its scheduled time and its end.

use crate::record::Status;
use crate::workload::Kind;

/// A request that waits for its reply.
#[derive(Clone, Copy, Debug)]
pub struct Pending {
    pub scheduled_ns: u64,
    /// Send time; 0 before the write call.
    pub sent_ns: u64,
    /// Stream offset of the request's end. For an unwritten request that waits for its turn: the bytes of its
    /// value.
    pub end: u64,
    pub kind: Kind,
    /// Whether the kernel is to stamp it.
    pub stamped: bool,
    /// Number of resends, after the server announced that it would close the connection or refused the
    /// request. `sent_ns` is the first send time.
    pub resends: u8,
    /// Whether the first message of its streamed reply has arrived.
    pub has_message: bool,
    /// Number of redirections since it was sent or resent.
    pub redirects: u8,
    /// The item that it requests.
    pub item: u32,
}

impl Pending {
    /// A placeholder used to map memory before the load.
    pub const BLANK: Self = Self {
        scheduled_ns: 0,
        sent_ns: 0,
        end: 0,
        kind: Kind::GET,
        stamped: false,
        resends: 0,
        has_message: false,
        redirects: 0,
        item: 0,
    };
}

/// How a request ended.
#[derive(Clone, Copy, Debug)]
pub struct Ending {
    /// Completion time; 0 without an answer.
    pub completed_ns: u64,
    pub status: Status,
    /// Stream offset of the reply's end; 0 without a reply.
    pub reply_end: u64,
}

impl Ending {
    /// A request without an answer.
    pub const fn without_answer(status: Status) -> Self {
        Self { completed_ns: 0, status, reply_end: 0 }
    }
}
