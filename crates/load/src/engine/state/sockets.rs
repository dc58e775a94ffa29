//! How full a worker's sockets were. The kernel is asked before the measurement and after it; in between
//! only what costs nothing is counted.

use std::os::fd::RawFd;

use hindmost_host::counters::{SocketCounters, SocketSpan};
use schemars::JsonSchema;
use serde::Serialize;

use super::connection::Connection;
use crate::schema::came_later;

/// So many connections of a worker are looked at, two system calls each: 0.3 ms at most, in a calibration
/// whose requests are not recorded. What one connection loses, its fellows on the same path lose, too.
const LOOKED_AT: usize = 256;

/// What is kept of a worker's sockets.
#[derive(Debug, Default)]
pub struct Sockets {
    /// Of each socket looked at, and the requests handed over to it.
    before: Vec<(SocketCounters, u64)>,
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

    /// Takes the first look at connections and their sockets; allocates nothing.
    pub fn begin<'c, S: 'c>(&mut self, all: impl Iterator<Item = (&'c Connection<S>, Option<RawFd>)>) {
        self.blocked = 0;
        self.largest_read = 0;
        self.before.clear();
        let looked = |(connection, fd): (&Connection<S>, Option<RawFd>)| {
            (fd.and_then(SocketCounters::read).unwrap_or_default(), connection.handed_over())
        };
        self.before.extend(all.take(self.before.capacity()).map(looked));
    }

    /// Takes the last look.
    pub fn end<'c, S: 'c>(
        &self,
        all: impl Iterator<Item = (&'c Connection<S>, Option<RawFd>)>,
    ) -> SocketReport {
        let mut report = SocketReport {
            blocked_writes: self.blocked,
            largest_read_bytes: self.largest_read as u64,
            ..SocketReport::default()
        };
        for ((before, asked), (connection, fd)) in self.before.iter().zip(all) {
            if let Some(after) = fd.and_then(SocketCounters::read) {
                report.span.add(before, &after);
                // A connection that was made anew counts from zero, on both sides.
                let anew = after.data_segments < before.data_segments;
                let (segments, requests) = if anew { (0, 0) } else { (before.data_segments, *asked) };
                report.segments += after.data_segments - segments;
                report.segment_requests += connection.handed_over().saturating_sub(requests);
            }
        }
        report
    }
}

const LATER: [&str; 2] = ["segments", "segment_requests"];

/// What became of a worker's sockets from the start of the calibration to the last reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
#[schemars(transform = came_later(&LATER))]
pub struct SocketReport {
    /// What the kernel says of those looked at.
    #[serde(flatten)]
    pub span: SocketSpan,
    /// Writes that had to wait because the kernel's send buffer was full, on all connections.
    pub blocked_writes: u64,
    /// Most bytes that had piled up in a receive buffer when it was read.
    pub largest_read_bytes: u64,
    /// Segments with data that were sent on those looked at; 0 where the kernel does not tell.
    pub segments: u64,
    /// Requests handed over to them.
    pub segment_requests: u64,
}
