//! Structure of the plan. Times are in seconds, rates in requests/s, sizes in bytes.

use hindmost_arrivals::{Law, Schedule};
use hindmost_clock::Rate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Batching, Target, Workload};

/// The work of one client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// `hindmost.plan/1`.
    pub schema: String,
    /// Random seed. Arrivals, kinds, keys and sizes follow from it: the same seed gives the same request
    /// stream.
    pub seed: u64,
    /// The position of this client among all clients.
    #[serde(default)]
    pub client: Share,
    /// The server under test.
    pub target: Target,
    /// Open or closed loop, and its rate.
    pub load: Load,
    /// Number of connections of this client, spread over its threads.
    #[serde(default = "default_connections")]
    pub connections: u32,
    /// Worker threads; `cpu` pins a thread.
    #[serde(default = "default_threads")]
    pub threads: Vec<Thread>,
    /// How a worker waits for the next scheduled time.
    #[serde(default)]
    pub pacing: Pacing,
    /// The system calls that a worker uses to send and receive.
    #[serde(default)]
    pub io: Io,
    /// Whether scheduled requests wait for others, to be sent together.
    #[serde(default)]
    pub batching: Batching,
    /// The requests.
    #[serde(default)]
    pub workload: Workload,
    /// Store every key before the load starts (memcached, redis).
    #[serde(default)]
    pub preload: bool,
    /// Durations of warm-up, calibration and measurement.
    #[serde(default)]
    pub phases: Phases,
    /// A request times out if its reply has not arrived this long after its scheduled time.
    #[serde(default = "default_timeout")]
    pub timeout_s: f64,
    /// Maximum number of outstanding requests that this client tracks; requests scheduled beyond it are
    /// `unsent`.
    #[serde(default = "default_max_outstanding")]
    pub max_outstanding: u32,
    /// Maximum number of requests in flight on one connection (pipelined or in streams). Further scheduled
    /// requests wait at the client. Absent: no limit in the open loop, one in the closed loop.
    #[serde(default)]
    pub in_flight: Option<u32>,
    /// Number of requests that each connection carries, one at a time, before it is closed and replaced.
    /// Absent: as many as the server allows; one in HTTP/1.0.
    #[serde(default)]
    pub requests_per_connection: Option<u32>,
    /// Record the messages of streamed replies: the time to the first one, and the gaps between them. A
    /// message is a server-sent event with data, a chunk of any other reply in HTTP/1, or a message of a gRPC
    /// call, which may then have any number of them. Only HTTP and gRPC.
    #[serde(default)]
    pub stream: bool,
    /// Numbers of individual requests to store.
    #[serde(default)]
    pub keep: Keep,
    /// The kernel or the network card stamps one request in this many; 0 stamps none.
    #[serde(default = "default_stamp_every")]
    pub stamp_every: u32,
    /// Number of this client's connections whose packets are captured. Only their requests are sampled and
    /// stamped, and the client reports their ports once they are open. Absent: all.
    #[serde(default)]
    pub witnessed: Option<u32>,
}

/// Client `index` of `of` clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// Index of the client, from 0.
    pub index: u32,
    /// Number of clients that share the rate.
    pub of: u32,
}

impl Default for Share {
    fn default() -> Self {
        Self { index: 0, of: 1 }
    }
}

/// When requests are sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "loop", rename_all = "lowercase", deny_unknown_fields)]
pub enum Load {
    /// Requests are sent at their scheduled times, whether or not earlier ones were answered (Treadmill III-A).
    Open {
        /// Total rate of all clients.
        rate_per_s: f64,
        /// Distribution of the gaps between scheduled times.
        #[serde(default)]
        arrivals: Law,
        /// How the rate changes during the measurement; absent: it is constant.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        schedule: Option<Schedule>,
    },
    /// Each connection has at most one outstanding request, as in many load testers; here to show the
    /// bias of such tools (Treadmill II-A, Figure 1). A request is scheduled when its connection is free.
    Closed {
        /// Total rate of all clients; absent: no limit.
        #[serde(default)]
        rate_per_s: Option<f64>,
        /// Distribution of the gaps, if a rate is given.
        #[serde(default)]
        arrivals: Law,
    },
}

impl Load {
    /// Return the rate of all clients together in requests/s; `None` if it is unlimited.
    pub fn rate(&self) -> Option<Rate> {
        match *self {
            Self::Open { rate_per_s, .. } => Rate::per_second(rate_per_s),
            Self::Closed { rate_per_s, .. } => rate_per_s.and_then(Rate::per_second),
        }
    }

    /// Return the arrival law.
    pub const fn arrivals(&self) -> &Law {
        let (Self::Open { arrivals, .. } | Self::Closed { arrivals, .. }) = self;
        arrivals
    }

    /// Return how the rate changes during the measurement.
    pub const fn schedule(&self) -> Option<&Schedule> {
        match self {
            Self::Open { schedule, .. } => schedule.as_ref(),
            Self::Closed { .. } => None,
        }
    }

    /// Whether one worker's number of arrivals per interval follows from the arrival law alone.
    fn counts_are_known(&self) -> bool {
        self.schedule().is_none() && self.arrivals().part_dispersion().is_some()
    }
}

impl Plan {
    /// Whether one worker's number of scheduled requests per interval follows from the arrival law alone.
    pub fn counts_are_known(&self) -> bool {
        self.load.counts_are_known() && self.workload.session().is_none()
    }
}

/// A worker thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Thread {
    /// The CPU that the thread is pinned to; absent: the kernel chooses.
    #[serde(default)]
    pub cpu: Option<u32>,
}

/// How a worker waits for the next scheduled time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Pacing {
    /// Busy-poll: the smallest send delay, but it takes a whole core.
    #[default]
    Spin,
    /// Sleep until shortly before the scheduled time, then spin: cores can be shared, but the send delay grows.
    Sleep,
}

/// The system calls that a worker uses to send and receive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Io {
    /// One call to send, one to receive, and calls that wait for replies (epoll(7)). Works everywhere.
    #[default]
    Epoll,
    /// Two calls per request; a flag in memory announces replies (`io_uring(7)`). Linux 6.1 or newer.
    IoUring,
}

/// The three phases of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Phases {
    /// Duration of the warm-up, whose samples are discarded.
    pub warmup: Warmup,
    /// Duration of the calibration, which finds the range of latencies.
    pub calibration_s: f64,
    /// Duration of the measurement, which records every request.
    pub measure_s: f64,
}

impl Default for Phases {
    fn default() -> Self {
        Self { warmup: Warmup::default(), calibration_s: 0.5, measure_s: 10.0 }
    }
}

/// Length of the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Warmup {
    /// A fixed number of seconds.
    Fixed {
        /// Length in seconds.
        seconds: f64,
    },
    /// Until the windowed quantiles are steady (MSER-5), within bounds.
    Auto {
        /// Minimum length in seconds.
        min_s: f64,
        /// Maximum length in seconds; a run that is not steady by then reports it.
        max_s: f64,
    },
}

impl Default for Warmup {
    fn default() -> Self {
        Self::Auto { min_s: 2.0, max_s: 15.0 }
    }
}

/// Numbers of individual requests to store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Keep {
    /// Size of this client's uniform subsample.
    pub samples: u32,
    /// Number of slowest requests that are stored exactly.
    pub worst: u32,
}

impl Default for Keep {
    fn default() -> Self {
        Self { samples: 20_000, worst: 1_000 }
    }
}

/// A stamp costs two more system calls, so only one request in sixteen is stamped.
fn default_stamp_every() -> u32 {
    16
}

fn default_connections() -> u32 {
    16
}

fn default_threads() -> Vec<Thread> {
    vec![Thread::default()]
}

/// Long enough for any server that is still useful, short enough to end a run on a dead one.
fn default_timeout() -> f64 {
    2.0
}

/// Covers two seconds without replies at 65,000 requests/s; uses 8 MiB.
fn default_max_outstanding() -> u32 {
    131_072
}
