use hindmost_arrivals::{Law, TraceError};
use hindmost_clock::Rate;
use hindmost_clone::arrivals;
use hindmost_random::Draws;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// The arrival process.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrivals {
    /// Open loop: an arrival law, at the rate of the design.
    Law(Law),
    /// Open loop, at these times in us since the start, ascending.
    Times(Vec<f64>),
    /// Closed loop: a client sends its next request after it has received the reply and waited a think time.
    Closed {
        /// Number of clients.
        clients: u32,
        /// Mean of the exponential time from a reply to the client's next request.
        think_us: f64,
    },
}

/// The forms in documents that are not arrival laws; everything else is a law.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum OtherForms {
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
        Ok(match OtherForms::deserialize(document).map_err(told)? {
            OtherForms::Trace { times_us } => Self::Times(times_us),
            OtherForms::Closed { clients, think_us } => Self::Closed { clients, think_us },
        })
    }
}

impl Default for Arrivals {
    fn default() -> Self {
        Self::Law(Law::default())
    }
}

/// Purpose of a draw; `hindmost_clone` reserves 26 to 31 for simulators.
const THINK: u32 = 26;

impl Arrivals {
    /// Whether arrivals depend on replies.
    pub(crate) fn is_closed(&self) -> bool {
        matches!(self, Self::Closed { .. })
    }

    pub(crate) fn have_own_rate(&self) -> bool {
        !matches!(self, Self::Law(_))
    }
}

/// Arrival times of an open loop, one after another.
pub(crate) enum Moments<'a> {
    Law(arrivals::ArrivalTimes),
    Times(&'a [f64]),
    Closed,
}

impl<'a> Moments<'a> {
    /// `rate`: requests/s, unless the arrivals define it themselves.
    pub(crate) fn new(arrivals: &'a Arrivals, rate: Option<f64>, seed: u64) -> Result<Self, TraceError> {
        Ok(match (arrivals, rate.and_then(Rate::per_second)) {
            (Arrivals::Law(law), Some(rate)) => Self::Law(arrivals::ArrivalTimes::new(law, rate, seed)?),
            (Arrivals::Times(times_us), _) => Self::Times(times_us),
            // The design has checked that a law has a rate.
            _ => Self::Closed,
        })
    }

    /// Return the time of arrival number `index`; call it in order. `draws` belongs to this number.
    #[inline]
    pub(crate) fn next(&mut self, index: u64, draws: Draws) -> f64 {
        match self {
            Self::Law(moments) => moments.next(draws),
            Self::Times(times_us) => times_us[index as usize] * 1e3,
            Self::Closed => 0.0,
        }
    }
}

/// Return the think time before arrival number `index`, in ns.
pub(crate) fn think(draws: Draws, mean_us: f64) -> f64 {
    -mean_us * 1e3 * draws.unit(THINK).ln()
}
