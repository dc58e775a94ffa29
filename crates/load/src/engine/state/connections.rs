//! A worker's connections: which can carry a request, which have one to write, which are to be made again.

use std::io::{self, ErrorKind};
use std::ops::{Index, IndexMut};

use hindmost_clock::Nanos;

use super::connection::{Connection, State};
use super::failure::Failure;
use crate::workload::Requests;
use crate::Random;

/// A connection that could not be made again is tried this much later.
const RETRY: Nanos = Nanos::from_millis(20);
/// Every attempt to connect refused for so long during the load: the server is gone.
pub const GONE: Nanos = Nanos::from_millis(250);
/// The same where an attempt is under way, which nobody has refused: a server that is kept from running for a second or
/// two answers no handshake meanwhile, and a lost SYN is sent again after one second and after three (Linux).
pub const UNANSWERED: Nanos = Nanos::from_millis(3_500);

/// The time without any connection.
#[derive(Clone, Copy)]
struct Absence {
    since: Nanos,
    /// When it was last looked at.
    looked: Nanos,
    /// How much of it the worker was there to see: of what lies between two looks, no more than [`RETRY`]. One that was
    /// kept from running finds that long ago what it has not yet looked at.
    seen: Nanos,
}

pub struct Connections<S = ()> {
    all: Vec<Connection<S>>,
    /// Slots that can carry requests, by server: slot n leads to server n modulo their number. In the closed loop, one
    /// for each request more that they can carry.
    usable: Vec<Vec<u32>>,
    /// Slots that were given bytes in this round and wait for their write call.
    pub unwritten: Vec<u32>,
    /// Slots to be connected again.
    pub down: Vec<u32>,
    /// When they are.
    pub retry_at: Nanos,
    /// How many connections are open.
    open: usize,
    /// While none is.
    absence: Option<Absence>,
    /// By server: the last attempt to connect failed; of several, because it is not there.
    refused: Vec<bool>,
    pub last_failure: Failure,
    routing: Random,
}

impl<S> Connections<S> {
    /// Those of a worker, none of which is open yet. Each is among the usable ones at most `places` times.
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

    /// The same leading to so many servers in turn.
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

    /// Where `slot` leads to.
    #[inline]
    pub fn endpoint(&self, slot: u32) -> u16 {
        (slot % self.usable.len() as u32) as u16
    }

    /// Whether one server of several has no connection, in an open loop.
    #[inline]
    pub fn is_down(&self, endpoint: u16) -> bool {
        self.usable.len() > 1 && self.usable[usize::from(endpoint)].is_empty()
    }

    /// Whether one server of several refuses connections, and none to it is open, being made or to be tried.
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

    /// By slot.
    pub fn all(&self) -> &[Connection<S>] {
        &self.all
    }

    /// Whether any slot can carry a request.
    #[inline]
    pub fn any_usable(&self) -> bool {
        self.usable.iter().any(|usable| !usable.is_empty())
    }

    /// A usable slot for the next request to `endpoint`, by chance.
    #[inline]
    pub fn pick(&mut self, endpoint: u16) -> Option<u32> {
        let usable = &self.usable[usize::from(endpoint)];
        if usable.is_empty() {
            return None;
        }
        let at = Requests::pick(&mut self.routing, usable.len() as u32);
        Some(usable[at as usize])
    }

    /// Takes a usable slot that leads to `endpoint`, by chance, which is not usable until it is released.
    #[inline]
    pub fn take_any(&mut self, endpoint: u16) -> Option<u32> {
        let usable = &mut self.usable[usize::from(endpoint)];
        if usable.is_empty() {
            return None;
        }
        let at = Requests::pick(&mut self.routing, usable.len() as u32);
        Some(usable.swap_remove(at as usize))
    }

    /// Takes `slot`, where it is usable.
    pub fn take(&mut self, slot: u32) {
        let usable = self.usable_with(slot);
        while let Some(at) = usable.iter().position(|&other| other == slot) {
            usable.swap_remove(at);
        }
    }

    /// `slot` has as many requests in flight as it takes: it is not usable until one of them is answered.
    pub fn rest(&mut self, slot: u32) {
        self.take(slot);
        self[slot].rests = true;
    }

    /// Takes a free slot, which is not usable until it is released.
    #[inline]
    pub fn take_free(&mut self) -> Option<u32> {
        self.usable[0].pop() // so has a closed loop
    }

    #[inline]
    pub fn release(&mut self, slot: u32) {
        self.usable_with(slot).push(slot);
    }

    /// Puts the usable slots in order. The order in which the kernel was ready is chance; which connection carries a
    /// request must follow from the seed alone.
    pub fn sort_usable(&mut self) {
        self.usable.iter_mut().for_each(|usable| usable.sort_unstable());
    }

    /// One more request of `slot` waits for its write call.
    #[inline]
    pub fn add_unwritten(&mut self, slot: u32) {
        let connection = &mut self.all[slot as usize];
        if connection.fresh == 0 {
            self.unwritten.push(slot);
        }
        connection.fresh += 1;
    }

    /// Why nothing can be asked now.
    pub fn note_failure(&mut self, reason: &'static str) {
        self.last_failure = reason.into();
    }

    /// An attempt to connect begins.
    pub fn trying(&mut self, slot: u32, now: Nanos) {
        let connection = &mut self[slot];
        connection.reset(State::Connecting);
        connection.tried = now;
    }

    /// An attempt to connect has succeeded. The slot is still to be released.
    pub fn opened(&mut self, slot: u32, port: u16) {
        let connection = &mut self[slot];
        connection.state = State::Open;
        connection.port = port;
        self.open += 1;
        self.absence = None;
        let endpoint = self.endpoint(slot);
        self.refused[usize::from(endpoint)] = false;
    }

    /// An attempt to connect has failed, and is to be made again.
    pub fn refused(&mut self, slot: u32, error: io::Error, now: Nanos) {
        let endpoint = self.endpoint(slot);
        self.refused[usize::from(endpoint)] = self.servers() == 1 || is_absence(error.kind());
        self.last_failure = error.into();
        self[slot].reset(State::Down);
        self.retry_at = self.retry_at.min(now + RETRY);
    }

    /// A connection hung up before the load, where it is not made again.
    pub fn hung_up(&mut self) {
        self.open -= 1;
    }

    /// An open connection on which nothing was asked is closed, to be made again when it is needed.
    pub fn rests(&mut self, slot: u32) {
        self.open -= 1;
        self[slot].reset(State::Down);
    }

    /// An open connection is closed, to be made again in the next round: this one may still hold an event of the old
    /// connection under the same slot. With a `pause` where it answered nothing: a server that closes whatever it accepts
    /// would be asked without end.
    pub fn closed(&mut self, slot: u32, now: Nanos, pause: bool, reason: Failure) {
        self.last_failure = reason;
        self.take(slot);
        self.open -= 1;
        self[slot].reset(State::Down);
        self.down.push(slot);
        self.retry_at = self.retry_at.min(if pause { now + RETRY } else { now });
    }

    /// Since when there has been no connection, if the worker has seen that for too long: [`GONE`], or [`UNANSWERED`]; where
    /// requests take `turns` and open what they need, since when none could be made. To be asked in every round.
    pub fn gone_since(&mut self, now: Nanos, turns: bool) -> Option<Nanos> {
        if self.open > 0 || (turns && !self.all_refused()) {
            self.absence = None;
            return None;
        }
        let absence = self.absence.get_or_insert(Absence { since: now, looked: now, seen: Nanos::ZERO });
        absence.seen += now.saturating_sub(absence.looked).min(RETRY);
        absence.looked = now;
        let Absence { seen, since, .. } = *absence;
        let is_gone = seen >= GONE && (seen >= UNANSWERED || !self.is_trying());
        is_gone.then_some(since)
    }

    /// Whether an attempt goes on, which nobody has refused yet.
    fn is_trying(&self) -> bool {
        self.all.iter().any(|one| matches!(one.state, State::Connecting | State::Opening))
    }

    /// At the end of the load: since when a server has refused every connection. It has died, even if so late that
    /// [`Connections::gone_since`] has nothing to say.
    pub fn refused_since(&self) -> Option<Nanos> {
        self.absence.filter(|_| self.open == 0 && self.all_refused()).map(|absence| absence.since)
    }

    /// Whether the last attempt to connect failed, at each server.
    fn all_refused(&self) -> bool {
        self.refused.iter().all(|&refused| refused)
    }
}

/// Whether an attempt that failed so says that there is no server: not that one closed it in between.
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
            connections.opened(slot, 4_000);
            connections.release(slot);
        }
        connections
    }

    fn refusal() -> io::Error {
        io::ErrorKind::ConnectionRefused.into()
    }

    /// What the looks of a worker say that is not kept from running, the last of them `until` then.
    fn look_until(
        connections: &mut Connections,
        now: &mut Nanos,
        until: Nanos,
        turns: bool,
    ) -> Option<Nanos> {
        let mut said = connections.gone_since(*now, turns);
        while *now < until && said.is_none() {
            *now = (*now + RETRY).min(until);
            said = connections.gone_since(*now, turns);
        }
        said
    }

    #[test]
    fn only_open_connections_are_picked() {
        let mut connections = connections(3);
        connections.closed(1, Nanos(5), false, "reset".into());
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
            connections.closed(slot, Nanos(5), false, "reset".into());
        }
        assert!(connections.is_down(1) && !connections.is_down(0) && connections.any_usable());
        assert_eq!((connections.pick(1), connections.gone_since(Nanos(5) + GONE, false)), (None, None));
    }

    #[test]
    fn a_connection_waits_once_for_its_write_call_whatever_it_carries() {
        let mut connections = connections(2);
        for slot in [1, 0, 1] {
            connections.add_unwritten(slot);
        }
        assert_eq!((&connections.unwritten[..], connections[1].fresh), (&[1, 0][..], 2));
    }

    #[test]
    fn a_server_is_gone_when_no_connection_has_been_open_for_a_quarter_of_a_second() {
        let mut connections = connections(2);
        connections.closed(0, Nanos(100), false, "reset".into());
        assert_eq!(connections.gone_since(Nanos(100), false), None, "one is left");
        connections.closed(1, Nanos(200), false, "reset".into());
        let mut now = Nanos(200);
        assert_eq!(look_until(&mut connections, &mut now, Nanos(199) + GONE, false), None);
        assert_eq!(look_until(&mut connections, &mut now, Nanos(200) + GONE, false), Some(Nanos(200)));
        connections.opened(1, 4_000);
        assert_eq!(connections.gone_since(now + GONE, false), None, "it is back");
    }

    #[test]
    fn a_worker_that_was_kept_from_running_has_not_seen_that_the_server_is_gone() {
        let mut connections = connections(1);
        connections.closed(0, Nanos(200), false, "reset".into());
        for stall in 0..10 {
            assert_eq!(connections.gone_since(Nanos(200) + Nanos(GONE.0 * stall), false), None);
        }
    }

    #[test]
    fn where_requests_take_turns_a_server_is_gone_when_none_can_be_opened() {
        let mut connections = connections(1);
        connections.rests(0);
        let mut now = Nanos(200);
        let tried = Nanos(300) + GONE;
        assert_eq!(look_until(&mut connections, &mut now, tried, true), None, "nobody has tried");
        connections.refused(0, refusal(), tried);
        assert_eq!(look_until(&mut connections, &mut now, Nanos(299) + GONE + GONE, true), None);
        assert_eq!(look_until(&mut connections, &mut now, tried + GONE, true), Some(tried));
    }

    #[test]
    fn one_of_several_servers_refuses_while_nothing_to_it_is_open_or_to_be_tried() {
        let mut connections = connections(4).with_servers(2);
        (0..4).for_each(|slot| connections.release(slot));
        let states = |connections: &Connections| [0, 1].map(|endpoint| connections.refuses(endpoint));
        for slot in [1, 3] {
            connections.take(slot);
            connections.closed(slot, Nanos(5), false, "closed as asked for".into());
        }
        assert_eq!(states(&connections), [false, false], "closed is not refused");
        connections.refused(1, refusal(), Nanos(6));
        connections.trying(3, Nanos(6));
        assert_eq!(states(&connections), [false, false], "one is being made");
        connections.refused(3, ErrorKind::ConnectionReset.into(), Nanos(7));
        assert_eq!(states(&connections), [false, false], "it is there, and closed it");
        connections.refused(3, refusal(), Nanos(7));
        assert_eq!(states(&connections), [false, true]);
        assert_eq!(connections.gone_since(Nanos(7) + GONE, true), None, "the other has not refused");
        connections.release(3);
        assert_eq!(states(&connections), [false, false], "one is to be tried again");
    }

    #[test]
    fn a_server_that_refuses_at_the_end_has_died() {
        let mut connections = connections(1);
        connections.closed(0, Nanos(100), false, "reset".into());
        assert_eq!(connections.gone_since(Nanos(100), false), None);
        assert_eq!(connections.refused_since(), None, "nobody has tried again");
        connections.refused(0, refusal(), Nanos(110));
        assert_eq!((connections.refused_since(), connections.retry_at), (Some(Nanos(100)), Nanos(100)));
        assert_eq!(connections.last_failure.to_string(), refusal().to_string());
    }
}
