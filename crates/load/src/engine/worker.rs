//! A worker: one thread, its connections, its arrivals, its records. The loop is [`Worker::run`].

use std::sync::atomic::Ordering;
use std::sync::Arc;

use hindmost_clock::{Clock, Nanos};
use hindmost_host::counters::{ThreadCounters, ThreadSpan};
use hindmost_plan::{Load, Pacing, Plan};

use super::connection::{Connection, State};
use super::control::{Control, Progress, Timeline};
use super::pace;
use crate::arrivals::Arrivals;
use crate::protocol::Protocol;
use crate::record::{Recorder, Row, Status, WindowRecorder};
use crate::transport::{Ready, Transport};
use crate::workload::{Request, Requests};
use crate::{LoadError, Random};

/// One read takes at most this much: many small replies, or a piece of a large one.
const READ_BYTES: usize = 256 * 1024;
/// Connections that may be ready at once; the vector never grows.
const READY: usize = 64;
/// Memory for bytes waiting to be written, of one worker, over all its connections.
const OUT_BYTES: usize = 64 << 20;
/// After a connection broke, it is tried again this much later.
pub(super) const RETRY: Nanos = Nanos::from_millis(20);
/// No connection for so long: the server is gone.
pub(super) const GONE: Nanos = Nanos::from_millis(250);

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
    /// Slots that can carry requests; in the closed loop, those that are free.
    pub(super) usable: Vec<u32>,
    /// Slots that were given bytes in this round and wait for their write call.
    pub(super) dirty: Vec<u32>,
    /// Slots to be connected again, and when.
    pub(super) down: Vec<u32>,
    pub(super) retry_at: Nanos,
    /// Since when no connection is open.
    pub(super) alone_since: Option<Nanos>,
    pub(super) last_failure: String,
    pub(super) scratch: Vec<u8>,
    ready: Vec<Ready>,
    pub(super) largest_request: usize,

    pub(super) timeline: Timeline,
    /// The request that is due next, and when.
    pub(super) next: Request,
    pub(super) next_due: Nanos,
    pub(super) outstanding: u64,
    pub(super) sent: u64,
    pub(super) replies: u64,
    pub(super) closings: u64,
    pub(super) lost: u64,
    pub(super) first_error: String,
    pub(super) windows: WindowRecorder,
    window: Nanos,
    window_ends: Nanos,
    busy_ns: u64,
}

/// How a worker spent the measured part of its time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    /// From the start of the calibration to the end of the load.
    pub span: ThreadSpan,
    /// Of it, in rounds that sent or received something.
    pub busy_ns: u64,
}

impl<P: Protocol, T: Transport, C: Clock> Worker<P, T, C> {
    pub fn new(plan: &Plan, parts: Parts<P, T, C>) -> Self {
        let closed = matches!(plan.load, Load::Closed { .. });
        let slots = parts.connections;
        let largest_request = largest_request(plan);
        let workers = plan.threads.len() as u32;
        // Four times a connection's fair share, because the choice of connections is random.
        let fair = (plan.max_outstanding / workers).div_ceil(slots) * 4;
        let requests = if closed { 1 } else { fair.max(64) as usize };
        let out = (OUT_BYTES / slots as usize).clamp(2 * largest_request, 1 << 20);
        let connections = (0..slots).map(|_| Connection::new(requests, out, P::MAX_HEAD)).collect();
        Self {
            index: parts.index,
            codec: parts.codec,
            transport: parts.transport,
            clock: parts.clock,
            arrivals: parts.arrivals,
            requests: parts.requests,
            routing: parts.routing,
            recorder: parts.recorder,
            control: parts.control,
            progress: parts.progress,
            pacing: plan.pacing,
            closed,
            timeout_ns: Nanos::from_secs_f64(plan.timeout_s).0,
            connections,
            usable: Vec::with_capacity(slots as usize),
            dirty: Vec::with_capacity(slots as usize),
            down: Vec::with_capacity(slots as usize),
            retry_at: Nanos::MAX,
            alone_since: None,
            last_failure: String::with_capacity(256),
            scratch: vec![0; READ_BYTES + P::MAX_HEAD],
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
            sent: 0,
            replies: 0,
            closings: 0,
            lost: 0,
            first_error: String::with_capacity(256),
            windows: WindowRecorder::default(),
            window: parts.window,
            window_ends: Nanos::MAX,
            busy_ns: 0,
        }
    }

    /// The load, from its start to its last reply.
    pub fn run(&mut self) -> Result<Spent, LoadError> {
        self.draw();
        let mut last = self.clock.now();
        let mut worked = false;
        let mut counters: Option<ThreadCounters> = None;
        loop {
            let now = self.clock.now();
            if worked {
                self.busy_ns += now.0 - last.0;
            }
            last = now;
            self.follow_timeline();
            if counters.is_none() && now >= self.timeline.calibrate {
                counters = Some(ThreadCounters::read_self());
                self.busy_ns = 0;
            }
            if self.next_due.max(if self.closed { now } else { Nanos::ZERO }) >= self.timeline.end {
                break;
            }
            if now >= self.timeline.end.saturating_add(Nanos(self.timeout_ns)) {
                self.give_up_sending();
                break;
            }
            worked = self.round(now)?;
        }
        let ended = ThreadCounters::read_self();
        let span = counters.map(|begun| ended.since(&begun)).unwrap_or_default();
        let busy_ns = self.busy_ns;
        self.take_the_last_replies()?;
        Ok(Spent { span, busy_ns })
    }

    /// One turn of the loop: what is due is sent before replies are looked at, and again after each
    /// connection's replies, so that a send never waits for more than one read.
    pub(super) fn round(&mut self, now: Nanos) -> Result<bool, LoadError> {
        let mut worked = self.send_due(now)?;
        if now >= self.window_ends {
            self.close_window(now);
        }
        if now >= self.retry_at {
            self.retry(now)?;
        }
        let timeout = pace::sleep(self.pacing, now, self.next_wake());
        let mut ready = std::mem::take(&mut self.ready);
        self.transport.wait(timeout, &mut ready).map_err(LoadError::system("epoll_wait failed"))?;
        for one in &ready {
            worked = true;
            let now = self.serve(*one)?;
            self.send_due(now)?;
        }
        self.ready = ready;
        if self.control.aborted() {
            return Err(LoadError::Aborted);
        }
        Ok(worked)
    }

    fn next_wake(&self) -> Nanos {
        // In the closed loop a due request cannot go out before a connection is free, and the reply
        // that frees one wakes us.
        let due = if self.closed && self.usable.is_empty() { Nanos::MAX } else { self.next_due };
        due.min(self.retry_at)
    }

    /// Draws the next request and its due time.
    #[inline]
    pub(super) fn draw(&mut self) {
        self.next = self.requests.draw();
        let offset = self.arrivals.next_due();
        self.next_due = self.timeline.start.saturating_add(offset);
    }

    fn follow_timeline(&mut self) {
        let timeline = self.control.timeline();
        if timeline == self.timeline {
            return;
        }
        if self.timeline.start == Nanos::MAX && timeline.start != Nanos::MAX {
            // The first due time was drawn before the start was known.
            self.timeline.start = timeline.start;
            self.next_due = timeline.start;
            self.next_due = self.timeline.start.saturating_add(self.arrivals.next_due());
            self.window_ends = timeline.start + self.window;
        }
        if timeline.measure != self.timeline.measure {
            self.recorder.set_measurement(timeline.measure, timeline.end);
        }
        self.timeline = timeline;
    }

    fn close_window(&mut self, now: Nanos) {
        while now >= self.window_ends {
            let at = self.window_ends.saturating_sub(self.timeline.start);
            self.progress.series.push(self.windows.close(at.0));
            self.window_ends += self.window;
        }
        self.progress.sent.store(self.sent, Ordering::Relaxed);
        self.progress.replies.store(self.replies, Ordering::Relaxed);
    }

    /// The load is over and what was due could not even be sent within the timeout.
    fn give_up_sending(&mut self) {
        while self.next_due < self.timeline.end {
            self.unsent();
            self.draw();
        }
    }

    /// Waits for the replies still owed, at most for the timeout; what is still missing then has
    /// timed out.
    fn take_the_last_replies(&mut self) -> Result<(), LoadError> {
        let until = self.clock.now().max(self.timeline.end).saturating_add(Nanos(self.timeout_ns));
        self.next_due = Nanos::MAX;
        while self.outstanding > 0 && self.clock.now() < until {
            let now = self.clock.now();
            self.round(now)?;
        }
        for slot in 0..self.connections.len() {
            while let Some(pending) = self.connections[slot].pending.pop_front() {
                self.end(slot as u32, pending, 0, Status::Timeout);
            }
        }
        self.outstanding = 0;
        Ok(())
    }

    /// Records how a request ended.
    #[inline]
    pub(super) fn end(
        &mut self,
        slot: u32,
        pending: super::connection::Pending,
        done_ns: u64,
        status: Status,
    ) {
        self.recorder.ended(Row {
            due_ns: pending.due_ns,
            sent_ns: pending.sent_ns,
            done_ns,
            kind: pending.kind,
            status,
            connection: slot,
            thread: self.index,
        });
    }

    /// Seconds since the load started.
    pub(super) fn elapsed_s(&self, now: Nanos) -> f64 {
        now.saturating_sub(self.timeline.start).as_secs_f64()
    }

    pub(super) fn is_open(&self, slot: u32) -> bool {
        self.connections[slot as usize].state == State::Open
    }
}

/// The most bytes a request of this plan can have.
fn largest_request(plan: &Plan) -> usize {
    match &plan.workload {
        hindmost_plan::Workload::KeyValue(mix) => {
            (mix.key_bytes.largest() + if mix.get_ratio < 1.0 { mix.value_bytes.largest() } else { 0 })
                as usize
                + 128
        }
        hindmost_plan::Workload::Http(mix) => mix.paths.iter().map(String::len).max().unwrap_or(1) + 512,
    }
}
