use schemars::JsonSchema;
use serde::Serialize;

/// What became of the requests that were seen, in the order of `enum count` of the probes.
///
/// `seen` = `done` + the four causes + those still open when the trace ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
#[schemars(rename = "TraceCounts")]
pub struct Counts {
    /// Requests whose end was read by the server.
    pub seen: u64,
    /// Requests with all six stamps.
    pub done: u64,
    /// Cause: the arrival was not seen, since more segments waited unread than are kept (64).
    pub no_arrival: u64,
    /// Cause: more requests were open on a connection than are kept (128).
    pub ring_full: u64,
    /// Cause: which of the sends of a batch answered it is not sure.
    pub ambiguous: u64,
    /// Cause: the connection ended before the response.
    pub closed: u64,
    /// Requests that get no response (`noreply`); not among the seen.
    pub silent: u64,
    /// Reads of connections whose stream was not yet at the beginning of a request.
    pub before: u64,
    /// Times at which bytes were no request of the protocol.
    pub unframed: u64,
    /// Reads whose bytes could not be looked at.
    pub unreadable: u64,
    /// Responses that went on after they had been counted as done.
    pub parts_late: u64,
    /// Segments without the network's stamp, whose e1 is e2.
    pub stamp_missing: u64,
    /// Full records for which there was no room.
    pub records_lost: u64,
    /// Connections that were followed.
    pub connections: u64,
    /// Batches of several requests.
    pub batched: u64,
    /// Requests of which the function that was named for e4 told nothing: the rule's e4 stands.
    pub not_begun: u64,
    /// Calls of that function that begin no request.
    pub astray: u64,
    /// Segments that arrived on connections that are followed, read or not.
    pub arrived: u64,
    /// UDP datagrams to the same port, which are not followed.
    pub datagrams: u64,
}

impl Counts {
    /// Requests that are neither done nor lost.
    pub(crate) fn open(&self) -> u64 {
        let over = self.done + self.no_arrival + self.ring_full + self.ambiguous + self.closed;
        self.seen.saturating_sub(over)
    }

    pub(crate) const KEPT: u32 = 19;

    pub(crate) fn of(c: [u64; Self::KEPT as usize]) -> Self {
        let [seen, done, no_arrival, ring_full, ambiguous, closed, silent, before, unframed, unreadable, parts_late, stamp_missing, records_lost, connections, batched, not_begun, astray, arrived, datagrams] =
            c;
        Self {
            seen,
            done,
            no_arrival,
            ring_full,
            ambiguous,
            closed,
            silent,
            before,
            unframed,
            unreadable,
            parts_late,
            stamp_missing,
            records_lost,
            connections,
            batched,
            not_begun,
            astray,
            arrived,
            datagrams,
        }
    }
}
