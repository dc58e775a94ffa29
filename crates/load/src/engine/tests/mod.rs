//! The worker's real loop, driven by a scripted server and a fake clock.
//!
//! ```text
//! 0      1 ms     11 ms          21 ms                   121 ms
//! connect  | warm-up | calibration |       measurement      | last replies
//! ```

pub mod any_server;
#[cfg(test)]
mod away;
#[cfg(test)]
mod batches;
#[cfg(test)]
mod datagrams;
pub mod fake;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod plain;
#[cfg(test)]
mod renewal;
#[cfg(test)]
mod requests;
#[cfg(test)]
mod scripts;
#[cfg(test)]
#[path = "../../../../../fuzz/src/seeds.rs"]
mod seeds;
#[cfg(test)]
mod sessions;
#[cfg(test)]
mod stamps;
#[cfg(test)]
mod streams;
#[cfg(test)]
mod toy;
#[cfg(test)]
mod turns;
#[cfg(test)]
mod wire;

use std::net::SocketAddr;
use std::sync::Arc;

use hindmost_clock::{Clock, FakeClock, Nanos};
use hindmost_histogram::UniformSample;
use hindmost_plan::{Plan, Workload};
use serde_json::{json, Value};

use super::control::{Control, Progress};
use super::coordinator::client::arrivals_of;
use super::hot_path::{Parts, Worker};
use super::state::away::AwayReport;
use super::state::stamping::StampSummary;
use crate::arrivals::Part;
use crate::protocol::Protocol;
use crate::random::{stream, Purpose};
use crate::record::{Counts, Recorder, Row};
use crate::transport::{Peers, StampedTransport};
use crate::workload::Requests;
use crate::LoadError;
use fake::Fake;

pub const MS: u64 = 1_000_000;
pub const START: u64 = MS;
pub const MEASURE: u64 = 21 * MS;
pub const END: u64 = 121 * MS;

/// Return a plan for gets on `connections` connections, modified by `changes`.
pub fn plan(connections: u32, load: &Value, changes: &Value) -> Plan {
    let mut plan = json!({
        "schema": hindmost_plan::SCHEMA, "seed": 1,
        "target": {"protocol": "memcached", "address": "127.0.0.1:1"},
        "load": load,
        "connections": connections,
        "timeout_s": 0.05,
        "workload": {"kind": "key-value", "get_ratio": 1.0, "keys": 100},
        "keep": {"samples": 5000, "worst": 10},
    });
    for (key, value) in changes.as_object().into_iter().flatten() {
        plan[key] = value.clone();
    }
    Plan::from_json(&plan.to_string()).unwrap()
}

/// Return an open loop with equal gaps of 1 ms.
pub fn every_ms() -> Value {
    open(1000)
}

pub fn open(rate: u32) -> Value {
    json!({"loop": "open", "rate_per_s": rate, "arrivals": "deterministic"})
}

/// The results of a run.
pub struct Driven {
    pub outcome: Result<(), LoadError>,
    pub counts: Counts,
    /// Every measured request that fits into the sample, by scheduled time.
    pub rows: Vec<Row>,
    pub recorder: Recorder,
    pub fake: Fake,
    pub ended: Nanos,
    pub reconnects: u64,
    pub resent: u64,
    pub refused_streams: u64,
    pub left_alone: u64,
    pub first_error: String,
    pub unreadable: u64,
    pub by_turns: bool,
    pub stamps: StampSummary,
    pub away: AwayReport,
    pub late: u64,
    pub refused: u64,
}

/// Run one worker of `plan` against `fake`.
pub fn drive(plan: &Plan, fake: Fake) -> Driven {
    hindmost_wire::with_protocol!(plan.target.protocol, crate::protocol, drive_codec(plan, fake))
}

/// Create a worker of `plan` over `transport` with fixed phases.
pub fn worker<P: Protocol, T: StampedTransport>(
    plan: &Plan,
    transport: T,
    clock: FakeClock,
) -> Worker<P, T, FakeClock> {
    let control = Arc::new(Control::default());
    set_phases(&control);
    worker_under(control, plan, transport, clock)
}

/// Set the phases above.
pub fn set_phases(control: &Control) {
    control.begin(Nanos(START));
    control.set_phases(Nanos(11 * MS), Nanos(MEASURE), Nanos(END));
}

/// Create a worker that follows `control`.
pub fn worker_under<P: Protocol, T: StampedTransport>(
    control: Arc<Control>,
    plan: &Plan,
    transport: T,
    clock: FakeClock,
) -> Worker<P, T, FakeClock> {
    let random = |purpose| stream(plan.seed, 0, 0, purpose);
    let mut recorder = Recorder::new(plan.workload.kinds().len(), plan.keep, random(Purpose::Sampling));
    if plan.stream {
        recorder.keep_messages();
    }
    let parts = Parts {
        index: 0,
        codec: P::new(plan),
        transport: Box::new(transport),
        clock,
        arrivals: arrivals_of(plan, 0).unwrap(),
        requests: Requests::new(plan, Part::WHOLE, random(Purpose::Contents)),
        routing: random(Purpose::Routing),
        recorder,
        connections: plan.connections,
        control,
        progress: Arc::new(Progress::new(100)),
        window: Nanos::from_millis(10),
    };
    Worker::new(plan, parts)
}

/// Connect, store the keys and run the load.
pub fn run_through<P: Protocol, T: StampedTransport>(
    worker: &mut Worker<P, T, FakeClock>,
    plan: &Plan,
) -> Result<(), LoadError> {
    worker.connect_all(plan, &Peers::from(SocketAddr::from(([127, 0, 0, 1], 1))))?;
    if let (true, Workload::KeyValue(mix)) = (plan.preload, &plan.workload) {
        worker.store_all(mix, Part::WHOLE)?;
    }
    worker.run().map(drop)
}

pub fn drive_codec<P: Protocol>(plan: &Plan, fake: Fake) -> Driven {
    let clock = fake.clock.clone();
    let mut worker = worker::<P, Fake>(plan, fake, clock.clone());
    let outcome = run_through(&mut worker, plan);
    let stamps = worker.stamp_summary();
    let mut counts = Counts::default();
    for kind in &worker.recorder.kinds {
        counts.add(&kind.counts);
    }
    let mut sample = UniformSample::new(plan.keep.samples as usize);
    sample.merge(&worker.recorder.sample);
    let mut rows = sample.into_vec();
    rows.sort_by_key(|row| row.scheduled_ns);
    Driven {
        outcome,
        counts,
        rows,
        recorder: worker.recorder,
        fake: *worker.transport,
        ended: clock.now(),
        reconnects: worker.tally.closings,
        resent: worker.tally.resent,
        refused_streams: worker.tally.refused_streams,
        left_alone: worker.tally.left_alone,
        first_error: worker.tally.first_error,
        unreadable: worker.tally.unreadable,
        by_turns: worker.turns.forced,
        stamps,
        away: worker.away.report(Nanos(MEASURE)),
        late: worker.tally.late,
        refused: worker.tally.refused,
    }
}

/// Run a load that must succeed.
pub fn driven(plan: &Plan, fake: Fake) -> Driven {
    let driven = drive(plan, fake);
    if let Err(e) = &driven.outcome {
        panic!("{e}");
    }
    assert!(driven.counts.is_balanced(), "{:?}", driven.counts);
    driven
}
