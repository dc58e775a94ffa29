//! One request between its due time and its end.

use crate::record::Status;
use crate::workload::Kind;

/// A request that waits for its reply.
#[derive(Clone, Copy, Debug)]
pub struct Pending {
    pub due_ns: u64,
    /// 0 until its write call.
    pub sent_ns: u64,
    /// Bytes of the connection up to its end. Of one that has not yet been written and waits for its turn on a
    /// connection: those of its value.
    pub end: u64,
    pub kind: Kind,
    /// The kernel is to stamp its way.
    pub stamped: bool,
    /// How often the server announced that it closed the connection on which this was sent, so that it is sent again
    /// on another; `sent_ns` is when it was sent first.
    pub resends: u8,
    /// What was asked for.
    pub item: u32,
}

impl Pending {
    /// What touches memory before the load.
    pub const BLANK: Self =
        Self { due_ns: 0, sent_ns: 0, end: 0, kind: Kind::GET, stamped: false, resends: 0, item: 0 };
}

/// How a request ended.
#[derive(Clone, Copy, Debug)]
pub struct Ending {
    /// 0 where no answer came.
    pub done_ns: u64,
    pub status: Status,
    /// Bytes of the connection's replies up to the end of its own; 0 where there is none.
    pub reply_end: u64,
}

impl Ending {
    /// Without an answer.
    pub const fn unanswered(status: Status) -> Self {
        Self { done_ns: 0, status, reply_end: 0 }
    }
}
