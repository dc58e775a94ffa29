//! Fill levels of a worker's sockets. Kernel counters are read before and after the measurement; in between,
//! only cheap counts are kept.

use std::os::fd::RawFd;

use hindmost_host::counters::{SocketCounters, SocketSpan};
use schemars::JsonSchema;
use serde::Serialize;

use super::connection::Connection;
use crate::schema::came_later;

/// Most connections whose counters are read, with two system calls each. That takes at most 0.3 ms, in the
/// calibration, whose requests are not recorded. Losses of one connection also affect others on the same
/// path.
const MAX_SAMPLED: usize = 256;

/// Counters of a worker's sockets.
#[derive(Debug, Default)]
pub struct Sockets {
    /// Counters of each sampled socket, and the number of requests handed over to it.
    before: Vec<(SocketCounters, u64)>,
    /// Writes that the kernel accepted only in part.
    pub blocked: u64,
    /// Largest number of bytes returned by one read, all of which were in the receive buffer.
    pub largest_read: usize,
}

impl Sockets {
    /// Create counters for `slots` connections.
    pub fn new(slots: u32) -> Self {
        Self { before: Vec::with_capacity((slots as usize).min(MAX_SAMPLED)), ..Self::default() }
    }

    /// Read the counters at the start, without allocation.
    pub fn begin<'c, S: 'c>(&mut self, all: impl Iterator<Item = (&'c Connection<S>, Option<RawFd>)>) {
        self.blocked = 0;
        self.largest_read = 0;
        self.before.clear();
        let counters = |(connection, fd): (&Connection<S>, Option<RawFd>)| {
            (fd.and_then(SocketCounters::read).unwrap_or_default(), connection.handed_over())
        };
        self.before.extend(all.take(self.before.capacity()).map(counters));
    }

    /// Read the counters at the end.
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
                // A reopened connection counts from zero, on both sides.
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

/// Statistics of a worker's sockets from the start of the calibration to the last reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
#[schemars(transform = came_later(&LATER))]
pub struct SocketReport {
    /// The kernel's counters of the sampled sockets.
    #[serde(flatten)]
    pub span: SocketSpan,
    /// Writes that waited because the send buffer was full, on all connections.
    pub blocked_writes: u64,
    /// Most bytes found in a receive buffer by one read.
    pub largest_read_bytes: u64,
    /// Data segments sent on the sampled sockets; 0 if the kernel does not report them.
    pub segments: u64,
    /// Requests handed over to the sampled sockets.
    pub segment_requests: u64,
}
