//! The shape of the document. All times are in microseconds, as the names say; shares, weights and probabilities are
//! in 0..=1.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a server spends its time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// `hindmost.clone/1`.
    pub schema: String,
    /// Name of the clone.
    pub name: String,
    /// Remarks: where the figures come from and what they leave out.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// Worker threads.
    #[serde(default = "default_count")]
    pub threads: u32,
    /// Where requests wait.
    #[serde(default)]
    pub queue: Queue,
    /// Service time of every request, if there are no kinds: a mixture whose weights sum to 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub service: Vec<Component>,
    /// Several kinds of request, instead of `service`. Their shares sum to 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<Kind>,
    /// Critical sections, in the order in which a request enters them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<Lock>,
    /// Events that sometimes take time away.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbances: Vec<Disturbance>,
    /// Dependence on the load.
    #[serde(default)]
    pub load: LoadDependence,
    /// Correlation of successive service times.
    #[serde(default)]
    pub order: Order,
    /// Time that an arrival takes from the threads if all are busy: the thread that receives requests interrupts a
    /// service on the same CPU, which also delays earlier requests. Arrivals while another is being received cost
    /// nothing more, and neither do arrivals that find an idle thread (`wake_us`).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub arrival_us: f64,
    /// Time until an idle thread is awake and starts with the request that woke it. The simulator adds it; a real
    /// server has its own wake-ups.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub wake_us: f64,
    /// Time of every request outside the queue and the threads (network, kernel, wake-up). It adds to the latency, but
    /// occupies no thread.
    #[serde(default)]
    pub outside_us: f64,
    /// What a fitted document was fitted to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// Where requests wait for a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Queue {
    /// In one queue, from which every free thread takes the oldest request (M/G/k).
    #[default]
    Shared,
    /// In one queue per thread; requests are tied to a thread, like connections to workers of memcached.
    PerThread,
}

/// A kind of request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Kind {
    /// Name of the kind.
    pub name: String,
    /// Share of all requests.
    pub share: f64,
    /// Service time: a mixture whose weights sum to 1.
    pub service: Vec<Component>,
}

/// A component of a mixture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Component {
    /// Share of the requests with this component.
    #[serde(default = "default_share")]
    pub weight: f64,
    /// Distribution of their times.
    pub law: Law,
}

/// A distribution of times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Law {
    /// A constant time.
    Deterministic {
        /// The time.
        us: f64,
    },
    /// Exponential.
    Exponential {
        /// Mean.
        mean_us: f64,
    },
    /// Uniform between two times.
    Uniform {
        /// Shortest time.
        low_us: f64,
        /// Longest time.
        high_us: f64,
    },
    /// The logarithm of the time is normal. Give either the median or the mean.
    Lognormal {
        /// Median (`SciPy`'s `scale`).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        median_us: Option<f64>,
        /// Mean: the median times exp(sigma^2 / 2).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mean_us: Option<f64>,
        /// Standard deviation of the natural logarithm of the time. Table 2 of `TailWAG` calls it "variance".
        sigma_log: f64,
        /// Longer times are cut to this.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_most_us: Option<f64>,
    },
    /// Gamma (Erlang if the shape is an integer).
    Gamma {
        /// Mean.
        mean_us: f64,
        /// Shape: 1 / squared coefficient of variation.
        shape: f64,
    },
    /// A number of equal steps; after each step, another follows with the same probability.
    Geometric {
        /// Mean.
        mean_us: f64,
        /// Length of a step; at most the mean.
        step_us: f64,
    },
    /// Pareto type I: a heavy tail.
    Pareto {
        /// Shortest time.
        least_us: f64,
        /// Tail index; above 1, so that the mean is finite.
        shape: f64,
        /// Longer times are cut to this.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_most_us: Option<f64>,
    },
    /// Measured: the quantile function, linear between its points.
    Empirical {
        /// `[p, us]`, both increasing; the first p is 0, the last is 1.
        points: Vec<(f64, f64)>,
    },
}

/// A critical section.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// Name of the lock.
    pub name: String,
    /// Before or after the service.
    #[serde(default)]
    pub at: LockPlace,
    /// How long it is held.
    pub hold: Law,
    /// Probability that a request takes it.
    #[serde(default = "default_share")]
    pub share: f64,
    /// Number of locks in the array; a request takes one of them.
    #[serde(default = "default_count")]
    pub instances: u32,
    /// Probability that a request takes the first lock of the array; the others share the rest evenly. Absent: all are
    /// equally likely.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<f64>,
    /// How long a waiting thread spins before it sleeps. Absent: it never sleeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spin_us: Option<f64>,
    /// Time to wake a sleeping thread.
    #[serde(default)]
    pub wake_us: f64,
    /// Which thread gets the lock next.
    #[serde(default)]
    pub release: Release,
}

/// When a request takes a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LockPlace {
    /// Before the service: receiving.
    #[default]
    Before,
    /// After the service: sending.
    After,
}

/// What a release does if a thread sleeps on the lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Release {
    /// The lock becomes free; any running thread may take it first (futex).
    #[default]
    Barging,
    /// The lock belongs to the oldest waiting thread at once, which holds it while it wakes up.
    Handoff,
}

/// An event that sometimes takes time away.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Disturbance {
    /// Name of the disturbance.
    pub name: String,
    /// What it stops.
    pub scope: Scope,
    /// When it happens.
    pub when: When,
    /// How long it takes.
    pub length: Law,
    /// For scope `request`: it happens while this lock is held (an interrupt in the critical section) instead of in
    /// the service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub while_holding: Option<String>,
}

/// What a disturbance stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// One request, which takes longer. Happens by chance.
    Request,
    /// One thread, whatever it does. Each thread has its own disturbances. Happens by the clock.
    Thread,
    /// All threads at once, like a garbage collection that stops the world. Happens by the clock.
    Server,
}

/// When a disturbance happens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum When {
    /// With this probability for each request.
    Chance {
        /// The probability.
        probability: f64,
    },
    /// At random times, by the clock.
    Poisson {
        /// Mean number per second.
        per_second: f64,
    },
    /// At regular intervals, by the clock.
    Periodic {
        /// From one start to the next.
        every_us: f64,
        /// Time of the first, after the server's start.
        #[serde(default)]
        first_us: f64,
    },
    /// At these times after the server's start.
    Once {
        /// Increasing times.
        at_us: Vec<f64>,
    },
}

/// Dependence on the load, that is on the utilisation x: the busy share of all threads, as a moving average.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LoadDependence {
    /// A service time is multiplied by 1 + `time` * x.
    pub time: f64,
    /// Its distance from the median, in logarithms, is multiplied by 1 + `spread` * x.
    pub spread: f64,
    /// The probability of a disturbance of scope `request` is multiplied by 1 + `chance` * x.
    pub chance: f64,
    /// A service time is multiplied by 1 + `busy` * (share of the other threads that are busy when it starts), for
    /// threads that share memory or caches.
    pub busy: f64,
    /// Time constant of the moving average.
    pub over_us: f64,
}

impl Default for LoadDependence {
    fn default() -> Self {
        Self { time: 0.0, spread: 0.0, chance: 0.0, busy: 0.0, over_us: 100_000.0 }
    }
}

/// Correlation of successive service times. Absent: they are independent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Order {
    /// Correlation of the normal scores of successive service times (first order).
    pub autocorrelation: f64,
    /// Phases in which everything is slower or faster. Each request leaves its regime with probability 1 /
    /// `mean_requests`, for another one at random.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub regimes: Vec<Regime>,
}

/// A regime.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Regime {
    /// Factor of service times.
    pub factor: f64,
    /// Mean number of requests in a row.
    pub mean_requests: f64,
}

/// What a document was fitted to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Origin {
    /// File or study.
    pub source: String,
    /// SHA-256 of the source, in hexadecimal digits.
    pub sha256: String,
    /// Number of requests in it.
    pub samples: u64,
    /// Highest utilisation in the data: beyond it, the clone extrapolates.
    pub utilisation_at_most: f64,
    /// Intervals of the parameters: dotted field name to `[low, high]` (95 %).
    pub intervals: std::collections::BTreeMap<String, (f64, f64)>,
    /// What the data do not determine.
    pub unknown: Vec<String>,
}

fn default_count() -> u32 {
    1
}

fn default_share() -> f64 {
    1.0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(us: &f64) -> bool {
    *us == 0.0
}
