//! The plan's shape. Times are seconds, rates are requests a second, sizes are bytes.

use hindmost_arrivals::{Law, Schedule};
use hindmost_clock::Rate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Batching, Target, Workload};

/// What one load instance has to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// `hindmost.plan/1`.
    pub schema: String,
    /// Same seed, same request stream: arrivals, kinds, keys and sizes all follow from it.
    pub seed: u64,
    /// Which of the instances this one is.
    #[serde(default)]
    pub instance: Share,
    /// The server under test.
    pub target: Target,
    /// Open or closed loop, and how fast.
    pub load: Load,
    /// Connections of this instance, spread over its threads.
    #[serde(default = "default_connections")]
    pub connections: u32,
    /// One worker thread each; `cpu` pins it.
    #[serde(default = "default_threads")]
    pub threads: Vec<Thread>,
    /// How a worker waits for the next due time.
    #[serde(default)]
    pub pacing: Pacing,
    /// How a worker asks the kernel to send and receive.
    #[serde(default)]
    pub io: Io,
    /// Whether requests that are due wait for others, to leave together.
    #[serde(default)]
    pub batching: Batching,
    /// What is sent.
    #[serde(default)]
    pub workload: Workload,
    /// Store every key before the load starts (memcached, redis).
    #[serde(default)]
    pub preload: bool,
    /// Warm-up, calibration, measurement.
    #[serde(default)]
    pub phases: Phases,
    /// A request whose reply is not there this long after it was due has timed out.
    #[serde(default = "default_timeout")]
    pub timeout_s: f64,
    /// Requests in flight that this instance can keep track of; what is due beyond is `unsent`.
    #[serde(default = "default_max_outstanding")]
    pub max_outstanding: u32,
    /// Requests in flight on one connection at most (pipelined, or in streams of its own); what is due beyond waits at the
    /// client. Absent: as many as come in the open loop, one in the closed loop.
    #[serde(default)]
    pub in_flight: Option<u32>,
    /// Each connection carries so many requests, one at a time; then it is closed, and the next request makes another.
    /// Absent: as many as the server lets it; in HTTP/1.0: one.
    #[serde(default)]
    pub requests_per_connection: Option<u32>,
    /// What is kept of single requests.
    #[serde(default)]
    pub keep: Keep,
    /// The kernel, or the network card, stamps the way of one request in so many; 0 for none.
    #[serde(default = "default_stamp_every")]
    pub stamp_every: u32,
    /// Where packets are captured: only requests of so many connections of this instance are sampled and
    /// stamped, and their ports are told once they are open. Absent: all.
    #[serde(default)]
    pub witnessed: Option<u32>,
}

/// Instance `index` of `of`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// Counted from 0.
    pub index: u32,
    /// How many instances share the rate.
    pub of: u32,
}

impl Default for Share {
    fn default() -> Self {
        Self { index: 0, of: 1 }
    }
}

/// How requests are triggered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "loop", rename_all = "lowercase", deny_unknown_fields)]
pub enum Load {
    /// Requests are sent when due, whatever is still outstanding (Treadmill III-A).
    Open {
        /// Of all instances together.
        rate_per_s: f64,
        /// The law of the gaps between due times.
        #[serde(default)]
        arrivals: Law,
        /// How the rate changes during the measurement; absent: not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        schedule: Option<Schedule>,
    },
    /// Each connection has at most one request outstanding: what many load testers do, here to
    /// show its bias (Treadmill II-A, Figure 1). A request is due when its connection is free.
    Closed {
        /// Of all instances together; absent means flat out.
        #[serde(default)]
        rate_per_s: Option<f64>,
        /// The law of the gaps where a rate is asked for.
        #[serde(default)]
        arrivals: Law,
    },
}

impl Load {
    /// Requests a second of all instances together; `None` flat out.
    pub fn rate(&self) -> Option<Rate> {
        match *self {
            Self::Open { rate_per_s, .. } => Rate::per_second(rate_per_s),
            Self::Closed { rate_per_s, .. } => rate_per_s.and_then(Rate::per_second),
        }
    }

    /// The law of the due times.
    pub const fn arrivals(&self) -> &Law {
        let (Self::Open { arrivals, .. } | Self::Closed { arrivals, .. }) = self;
        arrivals
    }

    /// How the rate changes during the measurement.
    pub const fn schedule(&self) -> Option<&Schedule> {
        match self {
            Self::Open { schedule, .. } => schedule.as_ref(),
            Self::Closed { .. } => None,
        }
    }

    /// Whether the counts of one worker's due times are known without looking.
    pub fn counts_are_known(&self) -> bool {
        self.schedule().is_none() && self.arrivals().part_dispersion().is_some()
    }
}

/// A worker thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Thread {
    /// The processor it is pinned to; absent leaves it to the kernel.
    #[serde(default)]
    pub cpu: Option<u32>,
}

/// How a worker waits for the next due time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Pacing {
    /// Poll without rest: the least slip, a whole core.
    #[default]
    Spin,
    /// Sleep until shortly before the due time, then spin: cores can be shared, slip grows.
    Sleep,
}

/// How a worker asks the kernel to send and receive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Io {
    /// One call to send, one to receive, and calls that look for replies (epoll(7)). Works everywhere.
    #[default]
    Epoll,
    /// Two calls a request, and a flag in memory that tells of replies (`io_uring(7)`). Linux 6.1 or newer.
    IoUring,
}

/// The three phases of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Phases {
    /// Samples are dropped.
    pub warmup: Warmup,
    /// The range of latencies is found.
    pub calibration_s: f64,
    /// Every request is recorded.
    pub measure_s: f64,
}

impl Default for Phases {
    fn default() -> Self {
        Self { warmup: Warmup::default(), calibration_s: 0.5, measure_s: 10.0 }
    }
}

/// How long the warm-up lasts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Warmup {
    /// Just so many seconds.
    Fixed {
        /// Length in seconds.
        seconds: f64,
    },
    /// Until the windowed quantiles are steady (MSER-5), within bounds.
    Auto {
        /// Never shorter.
        min_s: f64,
        /// Never longer; a run that is not steady by then says so.
        max_s: f64,
    },
}

impl Default for Warmup {
    fn default() -> Self {
        Self::Auto { min_s: 2.0, max_s: 15.0 }
    }
}

/// What is kept of single requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Keep {
    /// Size of the uniform sub-sample of this instance.
    pub samples: u32,
    /// How many of the slowest requests are kept exactly.
    pub worst: u32,
}

impl Default for Keep {
    fn default() -> Self {
        Self { samples: 20_000, worst: 1_000 }
    }
}

/// Two more system calls for one request in sixteen.
fn default_stamp_every() -> u32 {
    16
}

fn default_connections() -> u32 {
    16
}

fn default_threads() -> Vec<Thread> {
    vec![Thread::default()]
}

/// Long enough for any server that is still of use, short enough to end a run on a dead one.
fn default_timeout() -> f64 {
    2.0
}

/// Two seconds of a server's silence at 65,000 requests a second; 8 MiB of bookkeeping.
fn default_max_outstanding() -> u32 {
    131_072
}
