//! Requests that take turns on connections: one at a time on each, and those for which none is free wait here.
//!
//! That is how a server is asked which closes after each reply, or nearly so. A request opens the connection that it
//! needs, as its user would have to, and whoever asks next while all are in use waits for the first that is free.

use std::collections::VecDeque;

use hindmost_clock::Nanos;

use super::request::Pending;

/// A server that said that it closes a connection, or was told to, has so long to do it; then we do. Whoever closes first keeps the
/// port for a minute (`TIME_WAIT`), and the client has 28,000 of them for one server. The end of the stream comes right
/// behind the reply, as a rule.
const PARTING: Nanos = Nanos::from_millis(1);
/// Memory touched beforehand, as a connection's is.
const TOUCHED: usize = 1024;

#[derive(Debug)]
pub struct Turns {
    /// Whether requests take turns: from the start, or since the server has closed too many connections.
    pub on: bool,
    /// It is the server's doing that they do.
    pub forced: bool,
    /// Each connection is closed after so many requests, since the plan says so.
    pub carried: Option<u64>,
    /// Requests without a connection, by their server, in the order in which they are to have one. None grows beyond its
    /// first capacity, which is what the worker may have outstanding.
    waiting: Vec<VecDeque<Pending>>,
    /// Connections that the server said it closes, and until when it may.
    parting: VecDeque<(u32, Nanos)>,
}

impl Turns {
    /// For at most `outstanding` requests of `servers` on `slots` connections.
    pub fn new(outstanding: usize, servers: usize, slots: usize, on: bool) -> Self {
        let queue = |_| {
            let mut waiting = VecDeque::with_capacity(outstanding);
            waiting.resize(outstanding.min(TOUCHED / servers), Pending::BLANK);
            waiting.clear();
            waiting
        };
        let waiting = (0..servers).map(queue).collect();
        Self { on, forced: false, carried: None, waiting, parting: VecDeque::with_capacity(slots) }
    }

    /// The same where a connection carries so many requests.
    #[must_use]
    pub fn closing_after(mut self, carried: Option<u64>) -> Self {
        self.carried = carried;
        self
    }

    /// All connections to `endpoint` are in use.
    pub fn wait(&mut self, endpoint: u16, pending: Pending) {
        self.waiting[usize::from(endpoint)].push_back(pending);
    }

    /// It had its turn, which came to nothing: it is the next.
    pub fn wait_again(&mut self, endpoint: u16, pending: Pending) {
        self.waiting[usize::from(endpoint)].push_front(pending);
    }

    /// Whose turn it is at `endpoint`.
    pub fn next(&mut self, endpoint: u16) -> Option<Pending> {
        let waiting = &mut self.waiting[usize::from(endpoint)];
        let next = waiting.pop_front();
        if waiting.is_empty() {
            waiting.clear(); // back to memory that is in the cache
        }
        next
    }

    /// In the order of due times.
    pub fn sort(&mut self) {
        for waiting in &mut self.waiting {
            waiting.make_contiguous().sort_unstable_by_key(|pending| pending.due_ns);
        }
    }

    /// The server said at `now` that it closes `slot`.
    pub fn parts(&mut self, slot: u32, now: Nanos) {
        self.parting.push_back((slot, now + PARTING));
    }

    /// `slot` is closed.
    pub fn parted(&mut self, slot: u32) {
        if let Some(at) = self.parting.iter().position(|&(other, _)| other == slot) {
            self.parting.remove(at);
        }
    }

    /// Until when the first of those that part may.
    #[inline]
    pub fn part_by(&self) -> Nanos {
        self.parting.front().map_or(Nanos::MAX, |&(_, until)| until)
    }

    /// A connection that the server should have closed by `now`.
    pub fn overdue(&self, now: Nanos) -> Option<u32> {
        self.parting.front().filter(|&&(_, until)| until <= now).map(|&(slot, _)| slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(due_ns: u64) -> Pending {
        Pending { due_ns, ..Pending::BLANK }
    }

    #[test]
    fn turns_go_by_arrival_and_one_that_came_to_nothing_is_the_next() {
        let mut turns = Turns::new(4, 2, 2, false);
        for at in [1, 2, 3] {
            turns.wait(1, due(at));
        }
        turns.wait(0, due(9));
        let first = turns.next(1).unwrap();
        turns.wait_again(1, first);
        let order: Vec<u64> = std::iter::from_fn(|| turns.next(1)).map(|one| one.due_ns).collect();
        assert_eq!(order, [1, 2, 3]);
        assert_eq!(turns.next(0).map(|one| one.due_ns), Some(9), "each server has its own");
    }

    #[test]
    fn a_server_has_a_millisecond_to_close_what_it_said_it_would() {
        let mut turns = Turns::new(4, 1, 3, false);
        assert_eq!((turns.part_by(), turns.overdue(Nanos::MAX)), (Nanos::MAX, None));
        turns.parts(0, Nanos(0));
        turns.parts(2, Nanos(50));
        assert_eq!((turns.part_by(), turns.overdue(Nanos(999_999))), (PARTING, None));
        assert_eq!(turns.overdue(PARTING), Some(0));
        turns.parted(0);
        assert_eq!((turns.overdue(PARTING), turns.part_by()), (None, PARTING + Nanos(50)));
    }
}
