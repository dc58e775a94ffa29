use hindmost_clone::arrivals::gap_ns;
use hindmost_random::Draws;
use serde::{Deserialize, Serialize};

/// When requests arrive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Arrivals {
    /// Open loop, without memory.
    Exponential,
    /// Open loop, evenly.
    Deterministic,
    /// Open loop, at these times.
    Trace {
        /// Rising, us since the start.
        times_us: Vec<f64>,
    },
    /// Closed loop: a client sends its next request when it has thought about the reply.
    Closed {
        /// So many.
        clients: u32,
        /// Mean of the exponential time from a reply to the client's next request.
        think_us: f64,
    },
}

/// Purpose of a draw; `hindmost_clone` leaves 26 to 31 to whoever simulates.
const THINK: u32 = 26;

impl Arrivals {
    /// Whether replies decide when requests arrive.
    pub(crate) fn is_closed(&self) -> bool {
        matches!(self, Self::Closed { .. })
    }

    pub(crate) fn have_own_rate(&self) -> bool {
        matches!(self, Self::Trace { .. } | Self::Closed { .. })
    }
}

/// The moments of an open loop, one after the other.
pub(crate) struct Moments<'a> {
    arrivals: &'a Arrivals,
    gap_ns: f64,
    now_ns: f64,
}

impl<'a> Moments<'a> {
    /// `rate`: requests a second, where the arrivals do not say it themselves.
    pub(crate) fn new(arrivals: &'a Arrivals, rate: Option<f64>) -> Self {
        Self { arrivals, gap_ns: rate.map_or(0.0, |rate| 1e9 / rate), now_ns: 0.0 }
    }

    /// The moment of arrival number `index`; to be asked in order. `draws`: those of this number.
    #[inline]
    pub(crate) fn next(&mut self, index: u64, draws: Draws) -> f64 {
        match self.arrivals {
            Arrivals::Exponential => self.now_ns += gap_ns(draws, self.gap_ns),
            Arrivals::Deterministic => self.now_ns = index as f64 * self.gap_ns,
            Arrivals::Trace { times_us } => self.now_ns = times_us[index as usize] * 1e3,
            Arrivals::Closed { .. } => {}
        }
        self.now_ns
    }
}

/// How long a client thinks before arrival number `index`, ns.
pub(crate) fn think(draws: Draws, mean_us: f64) -> f64 {
    -mean_us * 1e3 * draws.unit(THINK).ln()
}
