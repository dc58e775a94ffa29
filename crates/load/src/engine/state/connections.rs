//! A worker's connections: which are usable, which have bytes to write and which must be reopened.

use std::io::{self, ErrorKind};
use std::ops::{Index, IndexMut};

use hindmost_clock::Nanos;

use super::connection::{Connection, State};
use super::failure::Failure;
use crate::workload::Requests;
use crate::Random;

/// Delay before a failed connection is tried again.
const RETRY: Nanos = Nanos::from_millis(20);
/// A server that refuses all connection attempts for this long during the load is gone.
pub const GONE: Nanos = Nanos::from_millis(250);
/// The same limit while an attempt is in progress. A server that cannot run for a second or two answers no
/// handshake, and Linux retransmits a lost SYN after one and three seconds.
pub const UNANSWERED: Nanos = Nanos::from_millis(3_500);

/// A period without any connection.
#[derive(Clone, Copy)]
struct Absence {
    since: Nanos,
    /// When it was last checked.
    checked_at: Nanos,
    /// How much of it the worker observed: at most [`RETRY`] between two checks. A worker that could not run
    /// must not take its own absence for the server's.
    observed: Nanos,
}

pub struct Connections<S = ()> {
    all: Vec<Connection<S>>,
    /// Usable slots by server: slot n leads to server n modulo their number. In the closed loop, a slot
    /// occurs once for each request it can still take.
    usable: Vec<Vec<u32>>,
    /// Slots with new bytes that wait for their write call.
    pub unwritten: Vec<u32>,
    /// Slots to reconnect.
    pub down: Vec<u32>,
    /// When to reconnect them.
    pub retry_at: Nanos,
    /// Number of open connections.
    open: usize,
    /// Set while no connection is open.
    absence: Option<Absence>,
    /// For each server, whether the last connection attempt failed. With several servers, only failures that
    /// show that the server is down count.
    refused: Vec<bool>,
    pub last_failure: Failure,
    routing: Random,
}

impl<S> Connections<S> {
    /// Create the closed connections of a worker. Each is listed as usable at most `places` times.
    pub fn new(all: Vec<Connection<S>>, places: usize, routing: Random) -> Self {
        let slots = || Vec::with_capacity(all.len());
        Self {
            usable: vec![Vec::with_capacity(all.len() * places)],
            unwritten: slots(),
            down: slots(),
            retry_at: Nanos::MAX,
            open: 0,
            absence: None,
            refused: vec![false],
            last_failure: "no connection was made".into(),
            routing,
            all,
        }
    }

    /// Spread the connections round-robin over `count` servers.
    #[must_use]
    pub fn with_servers(mut self, count: usize) -> Self {
        let room = self.usable[0].capacity().div_ceil(count);
        self.usable = (0..count).map(|_| Vec::with_capacity(room)).collect();
        self.refused = vec![false; count];
        self
    }

    pub fn servers(&self) -> usize {
        self.usable.len()
    }

    /// Return the server that `slot` leads to.
    #[inline]
    pub fn endpoint(&self, slot: u32) -> u16 {
        (slot % self.usable.len() as u32) as u16
    }

    /// Whether one of several servers has no connection, in an open loop.
    #[inline]
    pub fn is_down(&self, endpoint: u16) -> bool {
        self.usable.len() > 1 && self.usable[usize::from(endpoint)].is_empty()
    }

    /// Whether one of several servers refuses connections, and none of its slots is open, connecting or
    /// usable.
    pub fn refuses(&self, endpoint: u16) -> bool {
        let its = || (u32::from(endpoint)..self.all.len() as u32).step_by(self.usable.len());
        self.refused[usize::from(endpoint)]
            && self.is_down(endpoint)
            && its().all(|slot| self[slot].state == State::Down)
    }

    fn usable_with(&mut self, slot: u32) -> &mut Vec<u32> {
        let endpoint = self.endpoint(slot);
        &mut self.usable[usize::from(endpoint)]
    }

    pub fn slots(&self) -> std::ops::Range<u32> {
        0..self.all.len() as u32
    }

    pub fn open(&self) -> usize {
        self.open
    }

    pub fn is_open(&self, slot: u32) -> bool {
        self[slot].state == State::Open
    }

    pub fn all_open(&self) -> bool {
        self.open == self.all.len()
    }

    /// Return all connections, by slot.
    pub fn all(&self) -> &[Connection<S>] {
        &self.all
    }

    /// Whether any slot can carry a request.
    #[inline]
    pub fn any_usable(&self) -> bool {
        self.usable.iter().any(|usable| !usable.is_empty())
    }

    /// Choose a random usable slot for the next request to `endpoint`.
    #[inline]
    pub fn pick(&mut self, endpoint: u16) -> Option<u32> {
        let usable = &self.usable[usize::from(endpoint)];
        if usable.is_empty() {
            return None;
        }
        let at = Requests::pick(&mut self.routing, usable.len() as u32);
        Some(usable[at as usize])
    }

    /// Remove and return a random usable slot of `endpoint`. It becomes usable again by `release`.
    #[inline]
    pub fn take_any(&mut self, endpoint: u16) -> Option<u32> {
        let usable = &mut self.usable[usize::from(endpoint)];
        if usable.is_empty() {
            return None;
        }
        let at = Requests::pick(&mut self.routing, usable.len() as u32);
        Some(usable.swap_remove(at as usize))
    }

    /// Make `slot` unusable, if it is usable.
    pub fn take(&mut self, slot: u32) {
        let usable = self.usable_with(slot);
        while let Some(at) = usable.iter().position(|&other| other == slot) {
            usable.swap_remove(at);
        }
    }

    /// Make a full `slot` unusable until one of its requests is answered.
    pub fn suspend(&mut self, slot: u32) {
        self.take(slot);
        self[slot].suspended = true;
    }

    /// Remove and return a free slot. It becomes usable again by `release`.
    #[inline]
    pub fn take_free(&mut self) -> Option<u32> {
        self.usable[0].pop() // a closed loop has one server
    }

    #[inline]
    pub fn release(&mut self, slot: u32) {
        self.usable_with(slot).push(slot);
    }

    /// Sort the usable slots. The order in which the kernel reported them is random, but the choice of
    /// connections must depend on the seed alone.
    pub fn sort_usable(&mut self) {
        self.usable.iter_mut().for_each(|usable| usable.sort_unstable());
    }

    /// Add a request of `slot` that waits for its write call.
    #[inline]
    pub fn add_unwritten(&mut self, slot: u32) {
        let connection = &mut self.all[slot as usize];
        if connection.fresh == 0 {
            self.unwritten.push(slot);
        }
        connection.fresh += 1;
    }

    /// Note why no request can be sent now.
    pub fn note_failure(&mut self, reason: &'static str) {
        self.last_failure = reason.into();
    }

    /// Record that a connection attempt starts.
    pub fn start_attempt(&mut self, slot: u32, now: Nanos) {
        let connection = &mut self[slot];
        connection.reset(State::Connecting);
        connection.attempt_started = now;
    }

    /// Record a successful connection attempt. The slot must still be released.
    pub fn mark_open(&mut self, slot: u32, port: u16) {
        let connection = &mut self[slot];
        connection.state = State::Open;
        connection.port = port;
        self.open += 1;
        self.absence = None;
        let endpoint = self.endpoint(slot);
        self.refused[usize::from(endpoint)] = false;
    }

    /// Record a failed connection attempt, and schedule the next one.
    pub fn mark_refused(&mut self, slot: u32, error: io::Error, now: Nanos) {
        let endpoint = self.endpoint(slot);
        self.refused[usize::from(endpoint)] = self.servers() == 1 || is_absence(error.kind());
        self.last_failure = error.into();
        self[slot].reset(State::Down);
        self.retry_at = self.retry_at.min(now + RETRY);
    }

    /// Record that a connection hung up before the load. It is not reopened.
    pub fn note_hang_up(&mut self) {
        self.open -= 1;
    }

    /// Record that an idle connection was closed. It is reopened when needed.
    pub fn mark_idle_closed(&mut self, slot: u32) {
        self.open -= 1;
        self[slot].reset(State::Down);
    }

    /// Record that an open connection was closed. It is reopened in the next iteration, because this one may
    /// still hold an event of the old connection on the same slot. `pause` delays a connection that answered
    /// nothing: otherwise a server that closes every connection would be reconnected endlessly.
    pub fn mark_closed(&mut self, slot: u32, now: Nanos, pause: bool, reason: Failure) {
        self.last_failure = reason;
        self.take(slot);
        self.open -= 1;
        self[slot].reset(State::Down);
        self.down.push(slot);
        self.retry_at = self.retry_at.min(if pause { now + RETRY } else { now });
    }

    /// Return since when there has been no connection, if the worker has observed that for too long ([`GONE`]
    /// or [`UNANSWERED`]). If requests take turns and open their own connections, the time since all attempts
    /// failed. Call this in every iteration.
    pub fn gone_since(&mut self, now: Nanos, turns: bool) -> Option<Nanos> {
        if self.open > 0 || (turns && !self.all_refused()) {
            self.absence = None;
            return None;
        }
        let absence =
            self.absence.get_or_insert(Absence { since: now, checked_at: now, observed: Nanos::ZERO });
        absence.observed += now.saturating_sub(absence.checked_at).min(RETRY);
        absence.checked_at = now;
        let Absence { observed, since, .. } = *absence;
        let is_gone = observed >= GONE && (observed >= UNANSWERED || !self.is_trying());
        is_gone.then_some(since)
    }

    /// Whether a connection attempt is in progress.
    fn is_trying(&self) -> bool {
        self.all.iter().any(|one| matches!(one.state, State::Connecting | State::Opening))
    }

    /// At the end of the load, return since when the server has refused every connection. This finds a server
    /// that died too late for [`Connections::gone_since`].
    pub fn refused_since(&self) -> Option<Nanos> {
        self.absence.filter(|_| self.open == 0 && self.all_refused()).map(|absence| absence.since)
    }

    /// Whether the last connection attempt to each server failed.
    fn all_refused(&self) -> bool {
        self.refused.iter().all(|&refused| refused)
    }
}

/// Whether an attempt with this error shows that there is no server, rather than one that closed the
/// connection.
pub fn is_absence(error: ErrorKind) -> bool {
    use ErrorKind::{ConnectionRefused, HostUnreachable, NetworkUnreachable, NotFound, TimedOut};
    matches!(error, ConnectionRefused | HostUnreachable | NetworkUnreachable | NotFound | TimedOut)
}

impl<S> Index<u32> for Connections<S> {
    type Output = Connection<S>;

    #[inline]
    fn index(&self, slot: u32) -> &Connection<S> {
        &self.all[slot as usize]
    }
}

impl<S> IndexMut<u32> for Connections<S> {
    #[inline]
    fn index_mut(&mut self, slot: u32) -> &mut Connection<S> {
        &mut self.all[slot as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::state::buffers::Buffers;
    use crate::engine::tests::{every_ms, plan};
    use crate::protocol::{Memcached, Protocol};
    use crate::random::{stream, Purpose};

    fn connections(open: u32) -> Connections {
        let codec = Memcached::new(&plan(1, &every_ms(), &serde_json::Value::Null));
        let buffers = Buffers { requests: 1, out_bytes: 100, stamped: 0 };
        let all = (0..open).map(|_| Connection::new(&codec, buffers)).collect();
        let mut connections = Connections::new(all, 1, stream(1, 0, 0, Purpose::Routing));
        for slot in 0..open {
            connections.mark_open(slot, 4_000);
            connections.release(slot);
        }
        connections
    }

    fn refusal() -> io::Error {
        io::ErrorKind::ConnectionRefused.into()
    }

    /// Check repeatedly until `until`, like a worker that is never interrupted.
    fn check_until(
        connections: &mut Connections,
        now: &mut Nanos,
        until: Nanos,
        turns: bool,
    ) -> Option<Nanos> {
        let mut result = connections.gone_since(*now, turns);
        while *now < until && result.is_none() {
            *now = (*now + RETRY).min(until);
            result = connections.gone_since(*now, turns);
        }
        result
    }

    #[test]
    fn only_open_connections_are_picked() {
        let mut connections = connections(3);
        connections.mark_closed(1, Nanos(5), false, "reset".into());
        let mut picked: Vec<u32> = (0..100).filter_map(|_| connections.pick(0)).collect();
        picked.sort_unstable();
        picked.dedup();
        assert_eq!(picked, [0, 2]);
        assert_eq!(
            (connections.open(), connections.retry_at, &connections.down[..]),
            (2, Nanos(5), &[1][..])
        );
    }

    #[test]
    fn a_slot_that_is_taken_carries_nothing_until_it_is_released() {
        let mut connections = connections(1);
        assert_eq!(connections.take_free(), Some(0));
        assert_eq!((connections.take_free(), connections.pick(0)), (None, None));
        connections.release(0);
        assert_eq!(connections.pick(0), Some(0));
    }

    #[test]
    fn each_server_has_its_connections_and_one_without_any_is_down() {
        let mut connections = connections(5).with_servers(2);
        (0..5).for_each(|slot| connections.release(slot));
        let mut picked: Vec<u32> = (0..100).filter_map(|_| connections.pick(1)).collect();
        picked.sort_unstable();
        picked.dedup();
        assert_eq!(picked, [1, 3]);
        for slot in picked {
            assert!(!connections.is_down(1));
            connections.mark_closed(slot, Nanos(5), false, "reset".into());
        }
        assert!(connections.is_down(1) && !connections.is_down(0) && connections.any_usable());
        assert_eq!((connections.pick(1), connections.gone_since(Nanos(5) + GONE, false)), (None, None));
    }

    #[test]
    fn a_connection_waits_once_for_its_write_call() {
        let mut connections = connections(2);
        for slot in [1, 0, 1] {
            connections.add_unwritten(slot);
        }
        assert_eq!((&connections.unwritten[..], connections[1].fresh), (&[1, 0][..], 2));
    }

    #[test]
    fn a_server_is_gone_when_no_connection_has_been_open_for_a_quarter_of_a_second() {
        let mut connections = connections(2);
        connections.mark_closed(0, Nanos(100), false, "reset".into());
        assert_eq!(connections.gone_since(Nanos(100), false), None, "one connection is open");
        connections.mark_closed(1, Nanos(200), false, "reset".into());
        let mut now = Nanos(200);
        assert_eq!(check_until(&mut connections, &mut now, Nanos(199) + GONE, false), None);
        assert_eq!(check_until(&mut connections, &mut now, Nanos(200) + GONE, false), Some(Nanos(200)));
        connections.mark_open(1, 4_000);
        assert_eq!(connections.gone_since(now + GONE, false), None, "the server is back");
    }

    #[test]
    fn an_interrupted_worker_has_not_observed_that_the_server_is_gone() {
        let mut connections = connections(1);
        connections.mark_closed(0, Nanos(200), false, "reset".into());
        for stall in 0..10 {
            assert_eq!(connections.gone_since(Nanos(200) + Nanos(GONE.0 * stall), false), None);
        }
    }

    #[test]
    fn with_turns_a_server_is_gone_if_no_connection_can_be_opened() {
        let mut connections = connections(1);
        connections.mark_idle_closed(0);
        let mut now = Nanos(200);
        let attempt_started = Nanos(300) + GONE;
        assert_eq!(
            check_until(&mut connections, &mut now, attempt_started, true),
            None,
            "no attempt was made"
        );
        connections.mark_refused(0, refusal(), attempt_started);
        assert_eq!(check_until(&mut connections, &mut now, Nanos(299) + GONE + GONE, true), None);
        assert_eq!(
            check_until(&mut connections, &mut now, attempt_started + GONE, true),
            Some(attempt_started)
        );
    }

    #[test]
    fn one_of_several_servers_refuses_if_none_of_its_connections_is_open_or_usable() {
        let mut connections = connections(4).with_servers(2);
        (0..4).for_each(|slot| connections.release(slot));
        let states = |connections: &Connections| [0, 1].map(|endpoint| connections.refuses(endpoint));
        for slot in [1, 3] {
            connections.take(slot);
            connections.mark_closed(slot, Nanos(5), false, "closed on request".into());
        }
        assert_eq!(states(&connections), [false, false], "closed is not refused");
        connections.mark_refused(1, refusal(), Nanos(6));
        connections.start_attempt(3, Nanos(6));
        assert_eq!(states(&connections), [false, false], "one attempt is in progress");
        connections.mark_refused(3, ErrorKind::ConnectionReset.into(), Nanos(7));
        assert_eq!(states(&connections), [false, false], "the server is up and closed it");
        connections.mark_refused(3, refusal(), Nanos(7));
        assert_eq!(states(&connections), [false, true]);
        assert_eq!(connections.gone_since(Nanos(7) + GONE, true), None, "the other has not refused");
        connections.release(3);
        assert_eq!(states(&connections), [false, false], "one slot is usable again");
    }

    #[test]
    fn a_server_that_refuses_at_the_end_has_died() {
        let mut connections = connections(1);
        connections.mark_closed(0, Nanos(100), false, "reset".into());
        assert_eq!(connections.gone_since(Nanos(100), false), None);
        assert_eq!(connections.refused_since(), None, "no attempt was made");
        connections.mark_refused(0, refusal(), Nanos(110));
        assert_eq!((connections.refused_since(), connections.retry_at), (Some(Nanos(100)), Nanos(100)));
        assert_eq!(connections.last_failure.to_string(), refusal().to_string());
    }
}
