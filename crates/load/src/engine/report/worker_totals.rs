//! The results that a worker hands over at the end.

use hindmost_clock::Clock;
use hindmost_host::counters::ThreadSpan;

use super::result::{Datagrams, Unhandled, Unreadable};
use super::shares::Shares;
use crate::engine::hot_path::Worker;
use crate::engine::state::away::Away;
use crate::engine::state::sockets::SocketReport;
use crate::engine::state::stages::LateByStage;
use crate::engine::state::stamping::StampSummary;
use crate::protocol::Protocol;
use crate::record::Recorder;
use crate::transport::StampedTransport;

pub struct WorkerTotals {
    pub recorder: Recorder,
    /// CPU time and counters of the thread from the start of the calibration to the last reply.
    pub span: ThreadSpan,
    /// The part of it spent in iterations that sent or received something, without sleep.
    pub busy_ns: u64,
    pub first_error: String,
    pub unreadable: Unreadable,
    pub reconnects: u64,
    pub resent: u64,
    pub by_turns: bool,
    pub datagrams: Option<Datagrams>,
    pub unhandled: Option<Unhandled>,
    pub shares: Shares,
    pub late: LateByStage,
    pub away: Away,
    pub sockets: SocketReport,
    pub stamps: StampSummary,
}

impl<P: Protocol, T: StampedTransport + ?Sized, C: Clock> Worker<P, T, C> {
    /// Take the worker apart. `span` is the return value of its run.
    pub fn finish(mut self, span: ThreadSpan) -> WorkerTotals {
        let stamps = self.stamp_summary();
        let descriptors = self.connections.slots().map(|slot| self.transport.descriptor(slot));
        WorkerTotals {
            stamps,
            sockets: self.sockets.end(self.connections.all().iter().zip(descriptors)),
            shares: Shares::new(self.connections.all()),
            recorder: self.recorder,
            span,
            busy_ns: self.tally.busy_ns,
            unreadable: Unreadable {
                count: self.tally.unreadable,
                first: Some(self.tally.first_unreadable).filter(|first| !first.is_empty()),
            },
            first_error: self.tally.first_error,
            reconnects: self.tally.closings,
            resent: self.tally.resent,
            by_turns: self.turns.forced,
            datagrams: P::LOSSY.then(|| Datagrams {
                late: self.tally.late,
                refused: self.tally.refused,
                oversized: self.transport.oversized_datagrams(),
            }),
            unhandled: P::REFUSAL.map(|_| Unhandled {
                refused: self.tally.refused_streams,
                left_alone: self.tally.left_alone,
            }),
            late: self.stages.late,
            away: self.away,
        }
    }
}
