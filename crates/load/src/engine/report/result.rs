//! A client's result document, `client-K.json`.
//!
//! History of the format: `hindmost.client/1` (0.1.0) first version.

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
use crate::record::{Connects, Counts, Dispersion, MessageCounts, SessionCounts, Window};
use crate::schema::came_later;
use crate::stop::Ended;

/// The schema name that every client result carries.
pub const SCHEMA: &str = "hindmost.client/1";

const LATER: [&str; 18] = [
    "sessions",
    "messages",
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
const LATER_OF_THREADS: [&str; 5] = ["shares", "late", "sockets", "away", "scheduled_dispersion"];

/// The result of one client. Its distributions are in `client-K.hlog`.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(transform = came_later(&LATER))]
pub struct ClientResult {
    /// `hindmost.client/1`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: &'static str,
    /// Index of this client.
    pub index: u32,
    /// Number of clients in the run.
    pub of: u32,
    /// The seed of the plan.
    pub seed: u64,
    /// When the load started, seconds since the epoch.
    pub started_s: f64,
    /// Length of the warm-up, in seconds.
    pub warmup_s: f64,
    /// How the warm-up ended.
    pub warmup_ended: Ended,
    /// Range and count of the calibration's latencies.
    pub calibration: Calibration,
    /// When the measurement began, in nanoseconds of the host's monotonic clock.
    pub measured_from_ns: u64,
    /// Length of the measurement, in seconds.
    pub measure_s: f64,
    /// Requested rate of this client, in requests per second; absent in a closed loop without a rate.
    pub requested_per_s: Option<f64>,
    /// Requests scheduled in the measurement, per second.
    pub scheduled_per_s: f64,
    /// Requests answered in the measurement, per second.
    pub achieved_per_s: f64,
    /// Counts over all kinds.
    pub counts: Counts,
    /// Counts of each kind.
    pub kinds: BTreeMap<String, Counts>,
    /// The first error reply of the server.
    pub first_error: Option<String>,
    /// Replies within the timeout, by HTTP status code, by HTTP/2 reset error, or by the first check that the reply
    /// failed (`check failed: CHECK`), or by the reason why it was not redirected; empty for protocols without
    /// codes. Their sum is `done` plus `errors` minus `lost`.
    pub codes: BTreeMap<String, CodeCount>,
    /// The same for each kind with replies.
    pub kind_codes: BTreeMap<String, BTreeMap<String, CodeCount>>,
    /// Messages of streamed replies; absent unless the plan asks for them. Their times are
    /// `first_message/KIND` and `message_gap/KIND` in the distributions.
    pub messages: Option<MessageCounts>,
    /// Sessions; absent unless the requests form any. Their durations are `session` in the
    /// distributions.
    pub sessions: Option<SessionCounts>,
    /// Counts of each server, if there are several. Its latency is `endpoint/NUMBER` in the distributions.
    pub endpoints: Vec<EndpointReport>,
    /// Outcomes of connection attempts. Their durations are `connect` in the distributions.
    pub connects: Connects,
    /// Whether the server closed connections after each reply, or after a few. Requests then took turns on
    /// the connections, one at a time, and opened the connections they needed.
    pub by_turns: bool,
    /// Connections that the server closed since the load started.
    pub reconnects: u64,
    /// Requests resent because the server refused them or closed their connection with an earlier reply.
    pub resent: u64,
    /// Requests that the server said it had not processed; absent if the protocol cannot say so.
    pub unhandled: Option<Unhandled>,
    /// Bytes from the server that answer no request.
    pub unreadable: Unreadable,
    /// Datagrams other than timely replies; absent for connections.
    pub datagrams: Option<Datagrams>,
    /// One entry per worker.
    pub threads: Vec<ThreadReport>,
    /// Fraction of time that the hypervisor took from this client's CPUs.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub steal_share: Option<f64>,
    /// Source of wire latency, and how much of it was recorded.
    pub stamps: StampReport,
    /// TCP errors of the whole network namespace during the measurement.
    pub tcp: Option<TcpCounters>,
    /// The same before the measurement, since the first connection.
    pub tcp_before: Option<TcpCounters>,
    /// Memory of the client.
    pub memory: Memory,
    /// Other activity on this client's CPUs.
    pub host: HostSpan,
    /// A uniform sample of the gaps between one worker's sends, in nanoseconds.
    pub raw_gaps_ns: Vec<u64>,
    /// Latency over time since the start of the warm-up, for each worker.
    pub series: Vec<Vec<Window>>,
}

/// Counts of one server of several.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct EndpointReport {
    /// The address as written in the plan.
    pub address: String,
    /// Counts of its requests.
    pub counts: Counts,
}

/// Number of replies with one status code, and how the workload classifies the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct CodeCount {
    /// Number of replies.
    pub count: u64,
    /// The outcome according to the workload. If its requests disagree, the worst outcome.
    pub outcome: Outcome,
}

/// Requests that an HTTP/2 server did not process, since the load started. Each is resent, and its latency
/// still starts at its scheduled time. A request refused twice is an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Unhandled {
    /// Refused streams (`RST_STREAM` with `REFUSED_STREAM`; RFC 9113, 8.7).
    pub refused: u64,
    /// Streams above the last one named by GOAWAY (RFC 9113, 6.8).
    pub left_alone: u64,
}

/// Bytes from the server that are no reply or answer no request, since the load started: an error page on an
/// idle connection, `-ERR max number of clients reached`. The connection is closed and reopened, and the
/// request they would have answered is an error without a reply. An unreadable datagram is dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Unreadable {
    /// Number of occurrences.
    pub count: u64,
    /// The beginning of the first one.
    pub first: Option<String>,
}

/// Unusual fates of datagrams since the load started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
#[schemars(transform = came_later(&LATER_OF_DATAGRAMS))]
pub struct Datagrams {
    /// Replies received after their requests had timed out.
    pub late: u64,
    /// ICMP port unreachable errors from the server's host.
    pub refused: u64,
    /// Dropped replies longer than 16,382 bytes. Their requests timed out.
    pub oversized: u64,
}

/// Memory of a client, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Memory {
    /// Peak memory up to the writing of the result files.
    pub peak_bytes: Option<u64>,
    /// Upper bound on memory, whatever the server does.
    pub bound_bytes: u64,
}

/// The latency range of the calibration, and later latencies outside it.
#[derive(Clone, Copy, Debug, Default, JsonSchema, Serialize)]
pub struct Calibration {
    /// Length in seconds.
    pub seconds: f64,
    /// Number of replies.
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

/// Statistics of one worker.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(transform = came_later(&LATER_OF_THREADS))]
pub struct ThreadReport {
    /// The CPU it was pinned to.
    pub cpu: Option<u32>,
    /// Fraction of time spent sending and receiving, as opposed to waiting.
    pub busy_share: f64,
    /// Fraction of time on a CPU, including spinning.
    pub cpu_share: f64,
    /// Fraction of time spent waiting for a CPU that another thread used.
    pub run_delay_share: Option<f64>,
    /// Requests sent per interval of 1, 10 and 100 ms.
    pub dispersion: Vec<Dispersion>,
    /// The same for scheduled times, unless the arrival law determines it.
    pub scheduled_dispersion: Option<Vec<Dispersion>>,
    /// How its requests were spread over its connections.
    pub shares: Shares,
    /// The counters from which the fractions are computed.
    pub span: ThreadSpan,
    /// Causes of late sends.
    pub late: LateByStage,
    /// Times when it lost its CPU; empty in a closed loop.
    pub away: AwayReport,
    /// Fill levels of its sockets, and losses on their connections.
    pub sockets: SocketReport,
}
