//! Requests that take turns on connections: each connection carries one request at a time, and other requests
//! wait here.
//!
//! This mode serves servers that close after each reply or after a few. A request opens the connection that
//! it needs, as its user would have to. If all connections are in use, it waits for the first free one.

use std::collections::VecDeque;

use hindmost_clock::Nanos;

use super::request::Pending;

/// Time for the server to close a connection after it announced the close or was asked to close; then the
/// client closes it. The side that closes first keeps the port for a minute (`TIME_WAIT`), and the client has
/// only 28,000 ports per server. The end of the stream usually follows the reply immediately.
const CLOSE_GRACE: Nanos = Nanos::from_millis(1);
/// Requests whose memory is mapped beforehand, as for a connection.
const PREFAULT_REQUESTS: usize = 1024;

#[derive(Debug)]
pub struct Turns {
    /// Whether requests take turns: from the start, or because the server closed too many connections.
    pub enabled: bool,
    /// Whether the server forced this mode.
    pub forced: bool,
    /// Number of requests after which the plan closes each connection.
    pub carried: Option<u64>,
    /// Requests without a connection, for each server, in the order in which they get one. No queue grows
    /// beyond its initial capacity, the worker's limit on outstanding requests.
    waiting: Vec<VecDeque<Pending>>,
    /// Connections that the server announced it will close, with its deadline.
    closing: VecDeque<(u32, Nanos)>,
}

impl Turns {
    /// Create queues for at most `outstanding` requests to `servers` servers on `slots` connections.
    pub fn new(outstanding: usize, servers: usize, slots: usize, enabled: bool) -> Self {
        let queue = |_| {
            let mut waiting = VecDeque::with_capacity(outstanding);
            waiting.resize(outstanding.min(PREFAULT_REQUESTS / servers), Pending::BLANK);
            waiting.clear();
            waiting
        };
        let waiting = (0..servers).map(queue).collect();
        Self { enabled, forced: false, carried: None, waiting, closing: VecDeque::with_capacity(slots) }
    }

    /// Set the number of requests after which each connection is closed.
    #[must_use]
    pub fn closing_after(mut self, carried: Option<u64>) -> Self {
        self.carried = carried;
        self
    }

    /// Queue a request because all connections to `endpoint` are in use.
    pub fn push(&mut self, endpoint: u16, pending: Pending) {
        self.waiting[usize::from(endpoint)].push_back(pending);
    }

    /// Queue a request first, because its turn failed.
    pub fn push_front(&mut self, endpoint: u16, pending: Pending) {
        self.waiting[usize::from(endpoint)].push_front(pending);
    }

    /// Return the next request for `endpoint`.
    pub fn pop(&mut self, endpoint: u16) -> Option<Pending> {
        let waiting = &mut self.waiting[usize::from(endpoint)];
        let next = waiting.pop_front();
        if waiting.is_empty() {
            waiting.clear(); // restart at memory that is in the cache
        }
        next
    }

    /// Sort the waiting requests by scheduled time.
    pub fn sort(&mut self) {
        for waiting in &mut self.waiting {
            waiting.make_contiguous().sort_unstable_by_key(|pending| pending.scheduled_ns);
        }
    }

    /// Record at `now` that the server announced it will close `slot`.
    pub fn expect_close(&mut self, slot: u32, now: Nanos) {
        self.closing.push_back((slot, now + CLOSE_GRACE));
    }

    /// Record that `slot` is closed.
    pub fn forget(&mut self, slot: u32) {
        if let Some(at) = self.closing.iter().position(|&(other, _)| other == slot) {
            self.closing.remove(at);
        }
    }

    /// Return the earliest deadline for a server to close a connection.
    #[inline]
    pub fn close_deadline(&self) -> Nanos {
        self.closing.front().map_or(Nanos::MAX, |&(_, until)| until)
    }

    /// Return a connection that the server should have closed by `now`.
    pub fn overdue(&self, now: Nanos) -> Option<u32> {
        self.closing.front().filter(|&&(_, until)| until <= now).map(|&(slot, _)| slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scheduled(scheduled_ns: u64) -> Pending {
        Pending { scheduled_ns, ..Pending::BLANK }
    }

    #[test]
    fn turns_are_first_in_first_out_and_a_failed_one_is_first_again() {
        let mut turns = Turns::new(4, 2, 2, false);
        for at in [1, 2, 3] {
            turns.push(1, scheduled(at));
        }
        turns.push(0, scheduled(9));
        let first = turns.pop(1).unwrap();
        turns.push_front(1, first);
        let order: Vec<u64> = std::iter::from_fn(|| turns.pop(1)).map(|one| one.scheduled_ns).collect();
        assert_eq!(order, [1, 2, 3]);
        assert_eq!(turns.pop(0).map(|one| one.scheduled_ns), Some(9), "each server has its own");
    }

    #[test]
    fn a_server_has_a_millisecond_to_close_as_announced() {
        let mut turns = Turns::new(4, 1, 3, false);
        assert_eq!((turns.close_deadline(), turns.overdue(Nanos::MAX)), (Nanos::MAX, None));
        turns.expect_close(0, Nanos(0));
        turns.expect_close(2, Nanos(50));
        assert_eq!((turns.close_deadline(), turns.overdue(Nanos(999_999))), (CLOSE_GRACE, None));
        assert_eq!(turns.overdue(CLOSE_GRACE), Some(0));
        turns.forget(0);
        assert_eq!((turns.overdue(CLOSE_GRACE), turns.close_deadline()), (None, CLOSE_GRACE + Nanos(50)));
    }
}
