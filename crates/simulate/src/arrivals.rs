use hindmost_arrivals::{Law, TraceError};
use hindmost_clock::Rate;
use hindmost_clone::arrivals;
use hindmost_random::Draws;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// When requests arrive.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrivals {
    /// Open loop: by a law of arrivals, at the rate of the design.
    Law(Law),
    /// Open loop, at these times: rising, us since the start.
    Times(Vec<f64>),
    /// Closed loop: a client sends its next request when it has thought about the reply.
    Closed {
        /// So many.
        clients: u32,
        /// Mean of the exponential time from a reply to the client's next request.
        think_us: f64,
    },
}

/// As documents have what no law is; all else is one.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum Lawless {
    Trace { times_us: Vec<f64> },
    Closed { clients: u32, think_us: f64 },
}

impl<'de> Deserialize<'de> for Arrivals {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let document = serde_json::Value::deserialize(deserializer)?;
        let told = |e: serde_json::Error| D::Error::custom(e);
        if document.get("times_us").is_none() && document["kind"] != "closed" {
            return Law::deserialize(document).map(Self::Law).map_err(told);
        }
        Ok(match Lawless::deserialize(document).map_err(told)? {
            Lawless::Trace { times_us } => Self::Times(times_us),
            Lawless::Closed { clients, think_us } => Self::Closed { clients, think_us },
        })
    }
}

impl Default for Arrivals {
    fn default() -> Self {
        Self::Law(Law::default())
    }
}

/// Purpose of a draw; `hindmost_clone` leaves 26 to 31 to whoever simulates.
const THINK: u32 = 26;

impl Arrivals {
    /// Whether replies decide when requests arrive.
    pub(crate) fn is_closed(&self) -> bool {
        matches!(self, Self::Closed { .. })
    }

    pub(crate) fn have_own_rate(&self) -> bool {
        !matches!(self, Self::Law(_))
    }
}

/// The moments of an open loop, one after the other.
pub(crate) enum Moments<'a> {
    Law(arrivals::ArrivalTimes),
    Times(&'a [f64]),
    Closed,
}

impl<'a> Moments<'a> {
    /// `rate`: requests a second, where the arrivals do not say it themselves.
    pub(crate) fn new(arrivals: &'a Arrivals, rate: Option<f64>, seed: u64) -> Result<Self, TraceError> {
        Ok(match (arrivals, rate.and_then(Rate::per_second)) {
            (Arrivals::Law(law), Some(rate)) => Self::Law(arrivals::ArrivalTimes::new(law, rate, seed)?),
            (Arrivals::Times(times_us), _) => Self::Times(times_us),
            // The design has checked that a law has a rate.
            _ => Self::Closed,
        })
    }

    /// The moment of arrival number `index`; to be asked in order. `draws`: those of this number.
    #[inline]
    pub(crate) fn next(&mut self, index: u64, draws: Draws) -> f64 {
        match self {
            Self::Law(moments) => moments.next(draws),
            Self::Times(times_us) => times_us[index as usize] * 1e3,
            Self::Closed => 0.0,
        }
    }
}

/// How long a client thinks before arrival number `index`, ns.
pub(crate) fn think(draws: Draws, mean_us: f64) -> f64 {
    -mean_us * 1e3 * draws.unit(THINK).ln()
}
