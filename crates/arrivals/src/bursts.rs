use hindmost_clock::Rate;
use hindmost_random::{unit, Random};
use rand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::exponential::exponential;
use crate::law::Statement;
use crate::process::{Draw, EveryNth, Making};
use crate::{Cumulants, Process, Refused, TraceError};

/// Bursts: a Poisson process whose rate jumps between two values at random (Markov-modulated, MMPP-2).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bursts {
    /// The rate in a burst over that between bursts.
    pub ratio: f64,
    /// Share of the time that is in bursts.
    #[serde(default = "tenth")]
    pub share: f64,
    /// Mean length of a burst, in milliseconds; lengths are exponential.
    #[serde(default = "ten")]
    pub length_ms: f64,
}

fn tenth() -> f64 {
    0.1
}

fn ten() -> f64 {
    10.0
}

/// In units of the mean gap: rates of arrivals in a burst and between, and of leaving that state.
#[derive(Clone, Copy, Debug)]
struct States {
    arrive: [f64; 2],
    leave: [f64; 2],
}

impl Bursts {
    /// `gaps_per_s`: the mean rate over all time.
    fn states(self, gaps_per_s: f64) -> States {
        let between = 1.0 / (self.share * self.ratio + 1.0 - self.share);
        let leave = 1.0 / (self.length_ms / 1e3 * gaps_per_s);
        States {
            arrive: [self.ratio * between, between],
            leave: [leave, leave * self.share / (1.0 - self.share)],
        }
    }

    /// Index of dispersion of the counts of the whole in spans of `span_s`, by rate (Fischer and Meier-Hellstern,
    /// Perf. Eval. 18, 1993); for ever longer ones, where the span is infinite.
    pub fn in_spans(self, gaps_per_s: f64, span_s: f64) -> f64 {
        let States { arrive: [a, b], leave: [out, back] } = self.states(gaps_per_s);
        let both = out + back;
        let span = span_s * gaps_per_s;
        let near = if span.is_finite() { 1.0 + (-both * span).exp_m1() / (both * span) } else { 1.0 };
        1.0 + 2.0 * (a - b).powi(2) * out * back / (both.powi(2) * (a * back + b * out)) * near
    }
}

impl Statement for Bursts {
    fn check(&self) -> Result<(), Refused> {
        Refused::outside("ratio", self.ratio, 1.0, 1e6)?;
        Refused::outside("share", self.share, 0.001, 0.999)?;
        Refused::outside("length_ms", self.length_ms, 0.001, 1e6)
    }

    fn process(&self, making: &Making) -> Result<Box<dyn Process>, TraceError> {
        let states = self.states(making.rate.get());
        Ok(EveryNth::boxed(Switching { states, state: usize::MAX, share: self.share }, making))
    }

    // Its gaps depend on each other.
    fn cumulants(&self) -> Option<Cumulants> {
        None
    }

    fn dispersion(&self, rate: Rate) -> f64 {
        self.in_spans(rate.get(), f64::INFINITY)
    }
}

struct Switching {
    states: States,
    /// 0 in a burst, 1 between; not yet drawn, anything else.
    state: usize,
    share: f64,
}

impl Draw for Switching {
    #[inline]
    fn gap(&mut self, random: &mut Random) -> f64 {
        if self.state > 1 {
            self.state = usize::from(unit(random.next_u64()) >= self.share);
        }
        let mut gap = 0.0;
        loop {
            // Whatever comes first, an arrival or the other state.
            let (arrive, leave) = (self.states.arrive[self.state], self.states.leave[self.state]);
            gap += exponential(random) / (arrive + leave);
            if unit(random.next_u64()) * (arrive + leave) < arrive {
                return gap;
            }
            self.state = 1 - self.state;
        }
    }
}
