//! The document's shape. Every time is in microseconds and says so; shares, weights and probabilities are in 0..=1.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a server spends its time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// `hindmost.clone/1`.
    pub schema: String,
    /// What it is a clone of.
    pub name: String,
    /// In words: where the figures are from, what they leave out.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// Worker threads.
    #[serde(default = "one")]
    pub threads: u32,
    /// Where requests wait.
    #[serde(default)]
    pub queue: Queue,
    /// The service time of every request, where all are of one kind: a mixture whose weights sum to 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub service: Vec<Component>,
    /// Several kinds of request, instead of `service`. Their shares sum to 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<Kind>,
    /// Critical sections, taken in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<Lock>,
    /// What takes time away now and then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbances: Vec<Disturbance>,
    /// What grows with the load.
    #[serde(default)]
    pub load: LoadDependence,
    /// How the service times of successive requests hang together.
    #[serde(default)]
    pub order: Order,
    /// What an arrival takes of the threads where all are busy, at once: the thread that takes requests in interrupts a
    /// service on the same processor. It delays those who came before, too. Who arrives while another is taken in costs
    /// nothing more; who finds a thread idle does not, either (`wake_us`).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub arrival_us: f64,
    /// What it takes until an idle thread is awake and begins with the request that woke it. The simulator adds it; a
    /// real server sleeps and wakes by itself.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub wake_us: f64,
    /// Time that every request takes outside of queue and threads (network, kernel, wake-up): added to its latency,
    /// no thread is busy with it.
    #[serde(default)]
    pub outside_us: f64,
    /// Of a fitted document: what it was fitted to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// Where requests wait for a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Queue {
    /// In one queue, from which every free thread takes the oldest (M/G/k).
    #[default]
    Shared,
    /// In one queue a thread; a request is tied to a thread, as connections are to the workers of memcached.
    PerThread,
}

/// One kind of request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Kind {
    /// What it is called.
    pub name: String,
    /// Share of all requests.
    pub share: f64,
    /// Its service time: a mixture whose weights sum to 1.
    pub service: Vec<Component>,
}

/// One component of a mixture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Component {
    /// Share of the requests that are of this component.
    #[serde(default = "whole")]
    pub weight: f64,
    /// How long they take.
    pub law: Law,
}

/// A distribution of times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Law {
    /// Always the same.
    Deterministic {
        /// That time.
        us: f64,
    },
    /// Without memory.
    Exponential {
        /// Mean.
        mean_us: f64,
    },
    /// Evenly between two times.
    Uniform {
        /// The shortest.
        low_us: f64,
        /// The longest.
        high_us: f64,
    },
    /// The logarithm of the time is normal. Give the median or the mean, not both.
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
    /// Gamma (Erlang where the shape is whole).
    Gamma {
        /// Mean.
        mean_us: f64,
        /// Shape: 1 / squared coefficient of variation.
        shape: f64,
    },
    /// A number of equal steps, each followed by another with the same chance.
    Geometric {
        /// Mean.
        mean_us: f64,
        /// One step; at most the mean.
        step_us: f64,
    },
    /// Pareto type I: the heavy tail.
    Pareto {
        /// The shortest time.
        least_us: f64,
        /// Tail index; above 1, so that there is a mean.
        shape: f64,
        /// Longer times are cut to this.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_most_us: Option<f64>,
    },
    /// As measured: the quantile function, straight lines between its points.
    Empirical {
        /// `[p, us]`, both rising; the first p is 0, the last 1.
        points: Vec<(f64, f64)>,
    },
}

/// A critical section.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// What it is called.
    pub name: String,
    /// Before or after the service.
    #[serde(default)]
    pub at: LockPlace,
    /// How long it is held.
    pub hold: Law,
    /// Chance that a request takes it at all.
    #[serde(default = "whole")]
    pub share: f64,
    /// Locks of this sort: an array, of which a request takes one.
    #[serde(default = "one")]
    pub instances: u32,
    /// Chance that a request takes the first of the array; the others share the rest evenly. Absent: all alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<f64>,
    /// How long a waiter spins before it sleeps. Absent: it never sleeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spin_us: Option<f64>,
    /// What it takes to wake a waiter that sleeps.
    #[serde(default)]
    pub wake_us: f64,
    /// Who has the lock next.
    #[serde(default)]
    pub release: Release,
}

/// When in a request's way a lock is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LockPlace {
    /// Before the service: receiving.
    #[default]
    Before,
    /// After the service: sending.
    After,
}

/// What a release does when somebody sleeps on the lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Release {
    /// The lock is free; whoever is awake takes it first (futex).
    #[default]
    Barging,
    /// The lock belongs to the oldest waiter at once, who wakes up while it holds it.
    Handoff,
}

/// What takes time away now and then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Disturbance {
    /// What it is called.
    pub name: String,
    /// Whom it hits.
    pub scope: Scope,
    /// When it comes.
    pub when: When,
    /// How long it takes.
    pub length: Law,
    /// Of scope `request`: it hits while this lock is held (an interrupt in the critical section), not in the service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub while_holding: Option<String>,
}

/// Whom a disturbance hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// One request: it takes so much longer. Comes by chance.
    Request,
    /// One thread: it stands still, whatever it is at. Each thread has its own. Comes by the clock.
    Thread,
    /// All threads at once: the world stops (garbage collection). Comes by the clock.
    Server,
}

/// When a disturbance comes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum When {
    /// With this chance for each request.
    Chance {
        /// The chance.
        probability: f64,
    },
    /// At random moments, by the clock.
    Poisson {
        /// On average so many a second.
        per_second: f64,
    },
    /// At even distances, by the clock.
    Periodic {
        /// From one begin to the next.
        every_us: f64,
        /// The first, after the server's start.
        #[serde(default)]
        first_us: f64,
    },
    /// At these moments after the server's start.
    Once {
        /// Rising.
        at_us: Vec<f64>,
    },
}

/// What grows with the load. At utilisation x (busy share of all threads, moving average), ...
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LoadDependence {
    /// ... a service time is multiplied by 1 + `time` * x.
    pub time: f64,
    /// ... its distance from the median, in logarithms, by 1 + `spread` * x.
    pub spread: f64,
    /// ... and the chance of a disturbance of scope `request` by 1 + `chance` * x.
    pub chance: f64,
    /// A service time is multiplied by 1 + `busy` * (share of the other threads that are busy when it begins): threads
    /// that share memory or caches.
    pub busy: f64,
    /// Time constant of the moving average.
    pub over_us: f64,
}

impl Default for LoadDependence {
    fn default() -> Self {
        Self { time: 0.0, spread: 0.0, chance: 0.0, busy: 0.0, over_us: 100_000.0 }
    }
}

/// How the service times of successive requests hang together. Absent: not at all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Order {
    /// Correlation of the normal scores of one request's service time and the next one's (first order).
    pub autocorrelation: f64,
    /// Times in which everything is slower or faster. Each request leaves its regime with chance 1 / `mean_requests`,
    /// for another one at random.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub regimes: Vec<Regime>,
}

/// One regime.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Regime {
    /// Service times are multiplied by this.
    pub factor: f64,
    /// How many requests it lasts on average.
    pub mean_requests: f64,
}

/// What a document was fitted to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Origin {
    /// File or study.
    pub source: String,
    /// SHA-256 of what was read, in hexadecimal digits.
    pub sha256: String,
    /// Requests in it.
    pub samples: u64,
    /// The highest utilisation that the data reach: beyond it, the clone is a guess.
    pub utilisation_at_most: f64,
    /// Intervals of the parameters: dotted field name to `[low, high]` (95 %).
    pub intervals: std::collections::BTreeMap<String, (f64, f64)>,
    /// What the data could not tell.
    pub unknown: Vec<String>,
}

fn one() -> u32 {
    1
}

fn whole() -> f64 {
    1.0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
fn is_zero(us: &f64) -> bool {
    *us == 0.0
}
