use schemars::JsonSchema;
use serde::Serialize;

/// Counts of traced requests and losses, in the order of `enum count` of the probes.
///
/// `seen` = `done` + the four causes + requests still open at the end of the trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
#[schemars(rename = "TraceCounts")]
pub struct Counts {
    /// Requests that the server read completely.
    pub seen: u64,
    /// Requests with all six stamps.
    pub done: u64,
    /// Lost: the arrival was not seen, because more segments were unread than are kept (64).
    pub no_arrival: u64,
    /// Lost: more requests were open on a connection than are kept (128).
    pub ring_full: u64,
    /// Lost: it is unclear which send of a batch answered which request.
    pub ambiguous: u64,
    /// Lost: the connection closed before the response.
    pub closed: u64,
    /// Requests without response (`noreply`); not counted as seen.
    pub silent: u64,
    /// Reads of connections before the first known boundary of requests.
    pub before: u64,
    /// Times when bytes were not a request of the protocol.
    pub unframed: u64,
    /// Reads whose bytes could not be read.
    pub unreadable: u64,
    /// Responses that continued after they were counted as done.
    pub parts_late: u64,
    /// Segments without network stamp; their e1 is e2.
    pub stamp_missing: u64,
    /// Full records that did not fit in the ring buffer.
    pub records_lost: u64,
    /// Followed connections.
    pub connections: u64,
    /// Batches of several requests.
    pub batched: u64,
    /// Requests for which the given function was not called; their e4 follows the rule.
    pub not_begun: u64,
    /// Calls of that function that start no request.
    pub astray: u64,
    /// Segments that arrived on followed connections, read or not.
    pub arrived: u64,
    /// UDP datagrams to the same port, which are not followed.
    pub datagrams: u64,
}

impl Counts {
    /// Return the number of requests that are neither done nor lost.
    pub(crate) fn open(&self) -> u64 {
        let finished = self.done + self.no_arrival + self.ring_full + self.ambiguous + self.closed;
        self.seen.saturating_sub(finished)
    }

    pub(crate) const NUMBER: u32 = 19;

    pub(crate) fn from_array(c: [u64; Self::NUMBER as usize]) -> Self {
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
