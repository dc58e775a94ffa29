//! A worker: one thread, its connections, its arrivals, its records. The loop is in `run.rs`.

use std::sync::Arc;

use hindmost_clock::{Clock, Nanos};
use hindmost_plan::{Load, Pacing, Plan};

use super::connect::AT_ONCE;
use super::connection::{Connection, Ending, Pending, State};
use super::control::{Control, Progress, Timeline};
use super::needs::{largest_request, max_outstanding, Buffers};
use super::sockets::Sockets;
use super::stages::{Ideal, Stages};
use super::stamping::{Arrived, TimeOfDay, Trial};
use crate::arrivals::Arrivals;
use crate::protocol::Protocol;
use crate::record::{Place, Recorder, Row, WindowRecorder, Wire};
use crate::transport::{Ready, Source, Transport};
use crate::workload::{Request, Requests};
use crate::Random;

/// One read takes at most this much: many small replies, or a piece of a large one.
pub(super) const READ_BYTES: usize = 256 * 1024;
/// Connections that may be ready at once; the vector never grows.
const READY: usize = 64;
/// What a worker is made with.
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
    /// The same over another transport.
    pub fn over<U>(self, transport: U) -> Parts<P, U, C> {
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

pub struct Worker<P, T, C> {
    pub(super) index: u16,
    pub(super) codec: P,
    pub(super) transport: T,
    pub(super) clock: C,
    pub(super) arrivals: Box<dyn Arrivals>,
    pub(super) requests: Requests,
    pub(super) routing: Random,
    pub recorder: Recorder,
    pub(super) control: Arc<Control>,
    pub(super) progress: Arc<Progress>,
    pub(super) pacing: Pacing,
    pub(super) closed: bool,
    pub(super) timeout_ns: u64,

    pub(super) connections: Vec<Connection>,
    /// What is due beyond so many outstanding requests is not sent.
    pub(super) max_outstanding: u64,
    /// Attempts to connect under way at once before the load.
    pub(super) at_once: usize,
    /// How many connections are open.
    pub(super) open: usize,
    /// Slots that can carry requests; in the closed loop, those that are free.
    pub(super) usable: Vec<u32>,
    /// Slots that were given bytes in this round and wait for their write call.
    pub(super) dirty: Vec<u32>,
    /// Slots to be connected again, and when.
    pub(super) down: Vec<u32>,
    pub(super) retry_at: Nanos,
    /// Since when no connection is open.
    pub(super) alone_since: Option<Nanos>,
    /// The last attempt to connect failed.
    pub(super) refused: bool,
    pub(super) last_failure: String,
    pub(super) scratch: Vec<u8>,
    pub(super) ready: Vec<Ready>,
    pub(super) largest_request: usize,

    pub(super) timeline: Timeline,
    /// The request that is due next, and when.
    pub(super) next: Request,
    pub(super) next_due: Nanos,
    pub(super) outstanding: u64,
    /// Of so many requests one is stamped by the kernel; 0 for none.
    pub(super) stamp_every: u32,
    /// Only requests of the first so many connections are sampled and stamped; `u32::MAX` for all.
    pub(super) witnessed: u32,
    pub(super) stamp_turn: u32,
    /// By whom wire latency is, at best.
    pub(super) wire_by: Source,
    pub(super) trial: Trial,
    pub(super) time_of_day: TimeOfDay,
    pub(super) arrived: Arrived,
    pub(super) sent: u64,
    pub(super) replies: u64,
    pub(super) closings: u64,
    pub(super) lost: u64,
    pub(super) resent: u64,
    pub(super) first_error: String,
    pub(super) windows: WindowRecorder,
    pub(super) window: Nanos,
    pub(super) window_ends: Nanos,
    pub(super) busy_ns: u64,
    pub(super) sockets: Sockets,
    pub(super) stages: Stages,
    pub(super) ideal: Ideal,
}

impl<P: Protocol, T: Transport, C: Clock> Worker<P, T, C> {
    pub fn new(plan: &Plan, parts: Parts<P, T, C>) -> Self {
        let time_of_day = TimeOfDay::new(parts.clock.realtime_ahead());
        let closed = matches!(plan.load, Load::Closed { .. });
        let slots = parts.connections;
        let largest_request = largest_request(plan);
        let buffers = Buffers::of(plan, slots);
        let one = |_| Connection::new::<P>(buffers.requests, buffers.out_bytes, buffers.chosen);
        let connections = (0..slots).map(one).collect();
        let (index, workers) = (u32::from(parts.index), plan.threads.len() as u32);
        let witnessed = plan.witnessed.map_or(u32::MAX, |n| n / workers + u32::from(index < n % workers));
        let mut recorder = parts.recorder;
        recorder.sample_connections(witnessed);
        Self {
            index: parts.index,
            codec: parts.codec,
            transport: parts.transport,
            clock: parts.clock,
            arrivals: parts.arrivals,
            requests: parts.requests,
            routing: parts.routing,
            recorder,
            control: parts.control,
            progress: parts.progress,
            pacing: plan.pacing,
            closed,
            timeout_ns: Nanos::from_secs_f64(plan.timeout_s).0,
            connections,
            max_outstanding: u64::from(max_outstanding(plan, slots)),
            at_once: (AT_ONCE / (plan.threads.len() * plan.instance.of as usize)).max(1),
            open: 0,
            usable: Vec::with_capacity(slots as usize),
            dirty: Vec::with_capacity(slots as usize),
            down: Vec::with_capacity(slots as usize),
            retry_at: Nanos::MAX,
            alone_since: None,
            refused: false,
            last_failure: String::with_capacity(256),
            scratch: touched(READ_BYTES),
            ready: Vec::with_capacity(READY),
            largest_request,
            timeline: Timeline {
                start: Nanos::MAX,
                calibrate: Nanos::MAX,
                measure: Nanos::MAX,
                end: Nanos::MAX,
            },
            next: Request { kind: crate::workload::Kind::GET, item: 0, value_bytes: 0 },
            next_due: Nanos::MAX,
            outstanding: 0,
            stamp_every: plan.stamp_every,
            witnessed,
            stamp_turn: 0,
            wire_by: Source::Hardware,
            trial: Trial::default(),
            time_of_day,
            arrived: Arrived::default(),
            sent: 0,
            replies: 0,
            closings: 0,
            lost: 0,
            resent: 0,
            first_error: String::with_capacity(256),
            windows: WindowRecorder::default(),
            window: parts.window,
            window_ends: Nanos::MAX,
            busy_ns: 0,
            sockets: Sockets::new(slots),
            stages: Stages::default(),
            ideal: Ideal::default(),
        }
    }

    /// Records how a request ended of which no stamp is known.
    #[inline]
    pub(super) fn end(&mut self, slot: u32, pending: Pending, ending: Ending) {
        let row = self.row(slot, pending, ending);
        if pending.chosen {
            let wire = if pending.again { Wire::Twice } else { Wire::WithoutOut };
            self.recorder.ended_stamped(row, wire, self.transport.stamps().source().is_some());
        } else {
            self.recorder.ended(row);
        }
    }

    #[inline]
    pub(super) fn row(&self, slot: u32, pending: Pending, ending: Ending) -> Row {
        let Ending { done_ns, status, reply_end } = ending;
        // One that was sent again has two places.
        let place = if pending.again {
            Place::default()
        } else {
            Place { port: self.connections[slot as usize].port, request_end: pending.end, reply_end }
        };
        Row {
            due_ns: pending.due_ns,
            sent_ns: pending.sent_ns,
            wire_out_ns: 0,
            wire_in_ns: 0,
            card_wire_ns: 0,
            done_ns,
            place,
            kind: pending.kind,
            status,
            connection: slot,
            thread: self.index,
        }
    }

    /// The ports of the connections whose requests are witnessed, where these are not all.
    pub fn witnessed_ports(&self) -> Vec<u16> {
        let mine = if self.witnessed == u32::MAX { 0 } else { self.witnessed as usize };
        self.connections.iter().take(mine).map(|connection| connection.port).collect()
    }

    /// Seconds since the load started.
    pub(super) fn elapsed_s(&self, now: Nanos) -> f64 {
        now.saturating_sub(self.timeline.start).as_secs_f64()
    }

    pub(super) fn is_open(&self, slot: u32) -> bool {
        self.connections[slot as usize].state == State::Open
    }
}

/// Bytes whose pages are there already, which zeroes from the allocator are not.
fn touched(length: usize) -> Vec<u8> {
    vec![1; length]
}
