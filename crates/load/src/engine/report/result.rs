//! What an instance reports: `instance-K.json`.
//!
//! History of the format: `hindmost.instance/1` (0.1.0) first version.

use std::collections::BTreeMap;

use hindmost_host::counters::{TcpCounters, ThreadSpan};
use schemars::JsonSchema;
use serde::Serialize;

use super::host::HostSpan;
use super::shares::Shares;
use super::stamps::StampReport;
use crate::engine::state::away::AwayReport;
use crate::engine::state::sockets::SocketReport;
use crate::engine::state::stages::LateByStage;
use crate::protocol::Outcome;
use crate::record::{Connects, Counts, Dispersion, Window};
use crate::schema::came_later;
use crate::stop::Ended;

/// The schema name that every instance result carries.
pub const SCHEMA: &str = "hindmost.instance/1";

const LATER: [&str; 16] = [
    "unreadable",
    "datagrams",
    "unhandled",
    "endpoints",
    "codes",
    "kind_codes",
    "connects",
    "by_turns",
    "resent",
    "stamps",
    "tcp_before",
    "memory",
    "host",
    "raw_gaps_ns",
    "series",
    "measured_from_ns",
];
const LATER_OF_DATAGRAMS: [&str; 1] = ["oversized"];
const LATER_OF_THREADS: [&str; 5] = ["shares", "late", "sockets", "away", "due_dispersion"];

/// The result of one instance; its distributions lie beside it in `instance-K.hlog`.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(transform = came_later(&LATER))]
pub struct InstanceResult {
    /// `hindmost.instance/1`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: &'static str,
    /// Which instance.
    pub index: u32,
    /// Of how many.
    pub of: u32,
    /// The seed of the plan.
    pub seed: u64,
    /// When the load started, seconds since the epoch.
    pub started_s: f64,
    /// Length of the warm-up, in seconds.
    pub warmup_s: f64,
    /// How the warm-up ended.
    pub warmup_ended: Ended,
    /// What the calibration found.
    pub calibration: Calibration,
    /// When the measurement began, in nanoseconds of the host's monotonic clock.
    pub measured_from_ns: u64,
    /// Length of the measurement, in seconds.
    pub measure_s: f64,
    /// The rate asked of this instance, in requests a second; absent when flat out.
    pub asked_per_s: Option<f64>,
    /// Requests due in the measurement, by second.
    pub due_per_s: f64,
    /// Answered requests of the measurement, by second.
    pub achieved_per_s: f64,
    /// The account over all kinds.
    pub counts: Counts,
    /// The account of each kind.
    pub kinds: BTreeMap<String, Counts>,
    /// The first error the server answered with.
    pub first_error: Option<String>,
    /// Replies in time by HTTP status code, or by the error with which HTTP/2 reset their stream; empty for protocols that have none. Together they are `done` and
    /// `errors` less `lost`.
    pub codes: BTreeMap<String, CodeCount>,
    /// The same by kind, of those kinds that had replies.
    pub kind_codes: BTreeMap<String, BTreeMap<String, CodeCount>>,
    /// The account of each server, where there are several; `endpoint/NUMBER` in the distributions is its latency.
    pub endpoints: Vec<EndpointReport>,
    /// What became of attempts to connect; `connect` in the distributions tells how long they took.
    pub connects: Connects,
    /// The server closed connections after each reply, or nearly so: requests took turns on them, one at a time,
    /// and opened those that they needed.
    pub by_turns: bool,
    /// Connections that the server closed, from the start of the load on.
    pub reconnects: u64,
    /// Requests sent again, because the server closed their connection with an earlier reply, or refused them.
    pub resent: u64,
    /// Requests that the server said it had not worked on; absent where it has no words for that.
    pub unhandled: Option<Unhandled>,
    /// What the server sent that answers nothing.
    pub unreadable: Unreadable,
    /// What became of datagrams, beside what was answered; absent of connections.
    pub datagrams: Option<Datagrams>,
    /// One entry a worker.
    pub threads: Vec<ThreadReport>,
    /// Share of the time that the hypervisor took from this instance's processors.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub steal_share: Option<f64>,
    /// Where wire latency comes from, and how much of it came.
    pub stamps: StampReport,
    /// TCP trouble of the whole network namespace during the measurement.
    pub tcp: Option<TcpCounters>,
    /// The same before it, from the first connection on.
    pub tcp_before: Option<TcpCounters>,
    /// What it held.
    pub memory: Memory,
    /// What else happened on this instance's processors.
    pub host: HostSpan,
    /// A uniform sub-sample of the gaps between one worker's sends, in nanoseconds.
    pub raw_gaps_ns: Vec<u64>,
    /// Latency over time, from the start of the warm-up, by worker.
    pub series: Vec<Vec<Window>>,
}

/// The account of one server of several.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct EndpointReport {
    /// As the plan has it.
    pub address: String,
    /// What became of its requests.
    pub counts: Counts,
}

/// Replies with one status code, and what it means here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct CodeCount {
    /// So many.
    pub count: u64,
    /// As the workload accepts them; where its requests differ in that, the worst.
    pub outcome: Outcome,
}

/// Requests that an HTTP/2 server had not worked on, from the start of the load on. Each is asked again, and its latency
/// counts from when it was due; one that is refused again is an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Unhandled {
    /// Times that it refused a stream (`RST_STREAM` with `REFUSED_STREAM`; RFC 9113, 8.7).
    pub refused: u64,
    /// Streams above the last one of its farewell (GOAWAY; RFC 9113, 6.8).
    pub left_alone: u64,
}

/// What the server sent that is no reply, or that no request had asked for, from the start of the load on: an error page
/// on an idle connection, `-ERR max number of clients reached`. The connection is closed and made again, and the request
/// that it would have answered is an error without reply; a datagram is dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Unreadable {
    /// How often.
    pub count: u64,
    /// How the first of it starts.
    pub first: Option<String>,
}

/// What datagrams can come to, from the start of the load on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
#[schemars(transform = came_later(&LATER_OF_DATAGRAMS))]
pub struct Datagrams {
    /// Replies that came after their requests had timed out.
    pub late: u64,
    /// Times that the server's host said that nobody listens (ICMP port unreachable).
    pub refused: u64,
    /// Replies that were longer than 16,382 bytes, and dropped: their requests timed out.
    pub oversized: u64,
}

/// Memory of an instance, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Memory {
    /// The most it held, up to the writing of its files.
    pub peak_bytes: Option<u64>,
    /// The most it can come to hold, whatever the server does.
    pub bound_bytes: u64,
}

/// The range found in the calibration, and what left it later.
#[derive(Clone, Copy, Debug, Default, JsonSchema, Serialize)]
pub struct Calibration {
    /// Length in seconds.
    pub seconds: f64,
    /// Replies seen.
    pub count: u64,
    /// Lowest latency.
    pub low_ns: Option<u64>,
    /// Highest latency.
    pub high_ns: Option<u64>,
    /// Latencies of the measurement above the range.
    pub above: u64,
    /// Latencies of the measurement below the range.
    pub below: u64,
}

/// How one worker fared.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(transform = came_later(&LATER_OF_THREADS))]
pub struct ThreadReport {
    /// Where it was pinned.
    pub cpu: Option<u32>,
    /// Share of the time spent sending and receiving, as opposed to waiting.
    pub busy_share: f64,
    /// Share of the time on a processor, spinning included.
    pub cpu_share: f64,
    /// Share of the time spent waiting for a processor that another thread had.
    pub run_delay_share: Option<f64>,
    /// Requests sent per span of 1, 10 and 100 ms.
    pub dispersion: Vec<Dispersion>,
    /// The same of their due times, where the law asked for does not say it.
    pub due_dispersion: Option<Vec<Dispersion>>,
    /// How its requests fell on its connections.
    pub shares: Shares,
    /// The counters behind these.
    pub span: ThreadSpan,
    /// What made requests leave late.
    pub late: LateByStage,
    /// When its processor was away; empty in a closed loop.
    pub away: AwayReport,
    /// How full its sockets were, and what their connections lost.
    pub sockets: SocketReport,
}
