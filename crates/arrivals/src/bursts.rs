use hindmost_clock::Rate;
use hindmost_random::{unit, Random};
use rand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::exponential::exponential;
use crate::law::ArrivalLaw;
use crate::process::{Draw, EveryNth, PartSpec};
use crate::{Cumulants, ParameterError, Process, TraceError};

/// Bursts: a Poisson process whose rate switches between two values at random (Markov-modulated, MMPP-2).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bursts {
    /// Rate in a burst divided by the rate between bursts.
    pub ratio: f64,
    /// Share of the time in bursts.
    #[serde(default = "default_share")]
    pub share: f64,
    /// Mean length of a burst in milliseconds; lengths are exponential.
    #[serde(default = "default_length_ms")]
    pub length_ms: f64,
}

fn default_share() -> f64 {
    0.1
}

fn default_length_ms() -> f64 {
    10.0
}

/// The rates of both states, per mean gap: of arrivals, and of leaving the state.
#[derive(Clone, Copy, Debug)]
struct States {
    arrive: [f64; 2],
    leave: [f64; 2],
}

impl Bursts {
    /// Return the rates of both states; `gaps_per_s` is the mean rate.
    fn states(self, gaps_per_s: f64) -> States {
        let between = 1.0 / (self.share * self.ratio + 1.0 - self.share);
        let leave = 1.0 / (self.length_ms / 1e3 * gaps_per_s);
        States {
            arrive: [self.ratio * between, between],
            leave: [leave, leave * self.share / (1.0 - self.share)],
        }
    }

    /// Return the index of dispersion of the whole process's counts in spans of `span_s` (Fischer and Meier-Hellstern,
    /// Perf. Eval. 18, 1993). An infinite span gives the limit.
    pub fn dispersion_in_spans(self, gaps_per_s: f64, span_s: f64) -> f64 {
        let States { arrive: [a, b], leave: [out, back] } = self.states(gaps_per_s);
        let both = out + back;
        let span = span_s * gaps_per_s;
        let limit_factor = if span.is_finite() { 1.0 + (-both * span).exp_m1() / (both * span) } else { 1.0 };
        1.0 + 2.0 * (a - b).powi(2) * out * back / (both.powi(2) * (a * back + b * out)) * limit_factor
    }
}

impl ArrivalLaw for Bursts {
    fn check(&self) -> Result<(), ParameterError> {
        ParameterError::check_range("ratio", self.ratio, 1.0, 1e6)?;
        ParameterError::check_range("share", self.share, 0.001, 0.999)?;
        ParameterError::check_range("length_ms", self.length_ms, 0.001, 1e6)
    }

    fn process(&self, spec: &PartSpec) -> Result<Box<dyn Process>, TraceError> {
        let states = self.states(spec.rate.get());
        Ok(EveryNth::new_process(Switching { states, state: usize::MAX, share: self.share }, spec))
    }

    // The gaps are not independent.
    fn cumulants(&self) -> Option<Cumulants> {
        None
    }

    fn dispersion(&self, rate: Rate) -> f64 {
        self.dispersion_in_spans(rate.get(), f64::INFINITY)
    }
}

struct Switching {
    states: States,
    /// 0 in a burst, 1 between bursts; any other value before the first draw.
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
            // Whichever comes first: an arrival, or a change of state.
            let (arrive, leave) = (self.states.arrive[self.state], self.states.leave[self.state]);
            gap += exponential(random) / (arrive + leave);
            if unit(random.next_u64()) * (arrive + leave) < arrive {
                return gap;
            }
            self.state = 1 - self.state;
        }
    }
}
