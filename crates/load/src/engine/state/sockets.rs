//! How full a worker's sockets were. The kernel is asked before the measurement and after it; in between
//! only what costs nothing is counted.

use std::os::fd::RawFd;

use hindmost_host::counters::{SocketCounters, SocketSpan};
use schemars::JsonSchema;
use serde::Serialize;

/// So many connections of a worker are looked at, two system calls each: 0.3 ms at most, in a calibration
/// whose requests are not recorded. What one connection loses, its fellows on the same path lose, too.
const LOOKED_AT: usize = 256;

/// What is kept of a worker's sockets.
#[derive(Debug, Default)]
pub struct Sockets {
    before: Vec<SocketCounters>,
    /// Writes that the kernel did not take whole.
    pub blocked: u64,
    /// Most bytes that one read brought: they had piled up in the receive buffer.
    pub largest_read: usize,
}

impl Sockets {
    /// Room for the looks at `slots` connections.
    pub fn new(slots: u32) -> Self {
        Self { before: Vec::with_capacity((slots as usize).min(LOOKED_AT)), ..Self::default() }
    }

    /// Takes the first look; allocates nothing.
    pub fn begin(&mut self, fds: impl Iterator<Item = Option<RawFd>>) {
        self.blocked = 0;
        self.largest_read = 0;
        self.before.clear();
        let counters = |fd: Option<RawFd>| fd.and_then(SocketCounters::read).unwrap_or_default();
        self.before.extend(fds.take(self.before.capacity()).map(counters));
    }

    /// Takes the last look.
    pub fn end(&self, fds: impl Iterator<Item = Option<RawFd>>) -> SocketReport {
        let mut span = SocketSpan::default();
        for (before, fd) in self.before.iter().zip(fds) {
            if let Some(after) = fd.and_then(SocketCounters::read) {
                span.add(before, &after);
            }
        }
        SocketReport { span, blocked_writes: self.blocked, largest_read_bytes: self.largest_read as u64 }
    }
}

/// What became of a worker's sockets from the start of the calibration to the last reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct SocketReport {
    /// What the kernel says of those looked at.
    #[serde(flatten)]
    pub span: SocketSpan,
    /// Writes that had to wait because the kernel's send buffer was full, on all connections.
    pub blocked_writes: u64,
    /// Most bytes that had piled up in a receive buffer when it was read.
    pub largest_read_bytes: u64,
}
