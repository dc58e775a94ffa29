//! A worker: one thread with its schedule, connections and records. `event_loop.rs` has its loop.

use std::sync::Arc;

use hindmost_clock::{Clock, Nanos};
use hindmost_plan::{Load, Pacing, Plan};

use crate::arrivals::Arrivals;
use crate::engine::control::{Control, Progress};
use crate::engine::state::away::Away;
use crate::engine::state::backlog::Backlog;
use crate::engine::state::batches::Batches;
use crate::engine::state::buffers::{largest_request, max_outstanding, Buffers};
use crate::engine::state::connection::Connection;
use crate::engine::state::connections::Connections;
use crate::engine::state::last_messages::LastMessages;
use crate::engine::state::request::{Ending, Pending};
use crate::engine::state::schedule::Schedule;
use crate::engine::state::sockets::Sockets;
use crate::engine::state::stages::{Ideal, Stages};
use crate::engine::state::stamping::Stamping;
use crate::engine::state::tally::Tally;
use crate::engine::state::time_of_day::TimeOfDay;
use crate::engine::state::turns::Turns;
use crate::protocol::Protocol;
use crate::record::{Place, Recorder, Row, Wire};
use crate::transport::{Ready, StampedTransport};
use crate::workload::{Requests, Shards};
use crate::Random;

/// Most bytes per read: many small replies, or a part of a large one.
pub const READ_BYTES: usize = 256 * 1024;
/// Most connections reported ready at once. The vector never grows.
const READY: usize = 64;

/// The components of a worker.
pub struct Parts<P, T, C> {
    pub index: u16,
    pub codec: P,
    pub transport: T,
    pub clock: C,
    pub arrivals: Box<dyn Arrivals>,
    pub requests: Requests,
    pub routing: Random,
    pub recorder: Recorder,
    pub connections: u32,
    pub control: Arc<Control>,
    pub progress: Arc<Progress>,
    pub window: Nanos,
}

impl<P, T, C> Parts<P, T, C> {
    /// Replace the transport.
    pub fn with_transport<U>(self, transport: U) -> Parts<P, U, C> {
        Parts {
            transport,
            index: self.index,
            codec: self.codec,
            clock: self.clock,
            arrivals: self.arrivals,
            requests: self.requests,
            routing: self.routing,
            recorder: self.recorder,
            connections: self.connections,
            control: self.control,
            progress: self.progress,
            window: self.window,
        }
    }
}

/// One load-generating thread. It combines the schedule (when), the connections (where), the transport
/// (bytes), the codec (messages), and the recorder and tally (results).
///
/// Only tests need a generic transport. A real run uses `dyn StampedTransport`: the cost of a virtual call is
/// negligible next to its system call, and one worker type per protocol compiles in a quarter of the time of
/// four.
pub struct Worker<P: Protocol, T: ?Sized, C> {
    pub index: u16,
    pub codec: P,
    pub transport: Box<T>,
    pub clock: C,
    pub control: Arc<Control>,
    pub progress: Arc<Progress>,
    pub pacing: Pacing,
    pub schedule: Schedule,
    pub connections: Connections<P::Session>,
    pub batches: Batches,
    pub backlog: Backlog,
    pub turns: Turns,
    pub stamping: Stamping,
    pub recorder: Recorder,
    pub tally: Tally,
    pub sockets: Sockets,
    pub stages: Stages,
    pub ideal: Ideal,
    pub away: Away,
    /// The destination of reads.
    pub scratch: Vec<u8>,
    /// The connections that the transport reports as ready.
    pub ready: Vec<Ready>,
    pub largest_request: usize,
    /// The connections with redirected requests to be written.
    pub redirected: Vec<u32>,
}

impl<P: Protocol, T: StampedTransport + ?Sized, C: Clock> Worker<P, T, C> {
    pub fn new(plan: &Plan, parts: Parts<P, Box<T>, C>) -> Self {
        let slots = parts.connections;
        let buffers = Buffers::for_plan(plan, slots);
        let carried = plan.requests_until_close();
        let by_turns = carried.is_some() || parts.codec.takes_turns();
        let one = |_| {
            let mut connection = Connection::new(&parts.codec, buffers);
            connection.most = if by_turns { 1 } else { buffers.in_flight(plan) };
            connection.request_limit = carried.unwrap_or(u64::MAX);
            if plan.stream {
                connection.last_messages = LastMessages::with_capacity(connection.most);
            }
            connection
        };
        let (index, workers) = (u32::from(parts.index), plan.threads.len() as u32);
        let captured = plan.witnessed.map_or(u32::MAX, |n| n / workers + u32::from(index < n % workers));
        let mut recorder = parts.recorder;
        recorder.sample_connections(captured);
        let outstanding = max_outstanding(plan, slots) as usize;
        let waiting = if P::MAY_CLOSE || by_turns { outstanding } else { 0 };
        let bounded = P::BOUNDED || plan.in_flight.is_some();
        let places = if matches!(plan.load, Load::Closed { .. }) { buffers.requests } else { 1 };
        let connections = (0..slots).map(one).collect();
        let time_of_day = TimeOfDay::new(parts.clock.realtime_ahead());
        Self {
            index: parts.index,
            codec: parts.codec,
            transport: parts.transport,
            clock: parts.clock,
            control: parts.control,
            progress: parts.progress,
            pacing: plan.pacing,
            schedule: Schedule::new(plan, slots, parts.arrivals, parts.requests)
                .with_servers(Shards::for_worker(plan, usize::from(parts.index))),
            connections: Connections::new(connections, places, parts.routing)
                .with_servers(plan.target.servers().len()),
            batches: Batches::new(plan.batching.interval(), slots),
            backlog: Backlog::new(bounded, outstanding),
            turns: Turns::new(waiting, plan.target.servers().len(), slots as usize, by_turns)
                .closing_after(carried),
            stamping: Stamping::new(plan.stamp_every, captured, time_of_day),
            recorder,
            tally: Tally::new(parts.window),
            sockets: Sockets::new(slots),
            stages: Stages::default(),
            ideal: Ideal::default(),
            away: Away::default(),
            scratch: prefault(READ_BYTES),
            ready: Vec::with_capacity(READY),
            largest_request: largest_request(plan),
            redirected: Vec::with_capacity(if P::MAY_REDIRECT { slots as usize } else { 0 }),
        }
    }

    /// Record the end of a request without kernel stamps.
    #[inline]
    pub(super) fn end(&mut self, slot: u32, pending: Pending, ending: Ending) {
        let row = self.row(slot, pending, ending);
        if pending.stamped {
            let wire = if pending.resends > 0 { Wire::Twice } else { Wire::WithoutOut };
            self.recorder.record_stamped(row, wire, self.transport.stamps().source().is_some());
        } else {
            self.recorder.record(row);
        }
    }

    #[inline]
    pub(super) fn row(&self, slot: u32, pending: Pending, ending: Ending) -> Row {
        let Ending { completed_ns, status, reply_end } = ending;
        // A resent request has two positions in its streams, so none is recorded.
        let place = if pending.resends > 0 {
            Place::default()
        } else {
            Place { port: self.connections[slot].port, request_end: pending.end, reply_end }
        };
        Row {
            scheduled_ns: pending.scheduled_ns,
            sent_ns: pending.sent_ns,
            wire_out_ns: 0,
            wire_in_ns: 0,
            card_wire_ns: 0,
            completed_ns,
            place,
            kind: pending.kind,
            status,
            has_message: pending.has_message,
            connection: slot,
            endpoint: self.connections.endpoint(slot),
            thread: self.index,
        }
    }

    /// Return the local ports of the captured connections, or nothing if all are captured.
    pub fn captured_ports(&self) -> Vec<u16> {
        let captured = self.stamping.captured;
        let mine = if captured == u32::MAX { 0 } else { captured as usize };
        self.connections.all().iter().take(mine).map(|connection| connection.port).collect()
    }
}

/// Allocate memory whose pages are already mapped; zeroed pages would be mapped on first use.
fn prefault(length: usize) -> Vec<u8> {
    vec![1; length]
}
