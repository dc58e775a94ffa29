use hindmost_clock::Rate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::process::{PartSpec, Steady};
use crate::{
    Arrivals, Bursts, Cumulants, Deterministic, Exponential, Gamma, Hyperexponential, ParameterError, Pareto,
    Part, Process, Schedule, Seeds, Trace, TraceError, Uniform,
};

/// The properties of an arrival law.
pub trait ArrivalLaw {
    /// Check the parameters.
    fn check(&self) -> Result<(), ParameterError> {
        Ok(())
    }

    /// Create a worker's part of the process.
    ///
    /// # Errors
    /// [`TraceError`] if a trace cannot be replayed.
    fn process(&self, spec: &PartSpec) -> Result<Box<dyn Process>, TraceError>;

    /// Return the cumulants of the gaps of the whole process, if gaps are independent.
    fn cumulants(&self) -> Option<Cumulants>;

    /// Return the index of dispersion of the whole process: variance of the counts divided by their mean, in spans
    /// much longer than a gap. For independent gaps it is their C^2 (Cox, Renewal Theory, 1962, section 4.2).
    fn dispersion(&self, _rate: Rate) -> f64 {
        self.cumulants().map_or(f64::NAN, |c| c.scv())
    }

    /// Return the index of dispersion of one part, if it does not depend on the number of parts.
    fn part_dispersion(&self) -> Option<f64> {
        None
    }

    /// Return the law of the gaps of one part, if it is known and has a density.
    fn gaps(&self) -> Option<Gaps> {
        None
    }
}

/// The law of gaps, in units of the mean gap.
#[derive(Clone, Copy)]
pub struct Gaps {
    /// Share of gaps below `x`, exact for small shares.
    pub below: fn(f64) -> f64,
    /// Logarithm of the share of gaps above `x`, exact for any share.
    pub log_above: fn(f64) -> f64,
}

/// Declare [`Law`]. The documentation of each law appears in the plan's schema with its parameters.
macro_rules! laws {
    ($( $(#[doc = $doc:literal])+ $name:ident, )+) => {
        /// The law of the gaps between scheduled times: a name, or an object with its parameters.
        // The traits are derived for objects only; `spelling.rs` adds reading and writing of names.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[schemars(rename = "Arrivals", transform = crate::spelling::or_name)]
        #[serde(remote = "Self", tag = "kind", rename_all = "lowercase")]
        pub enum Law {
            $( $(#[doc = $doc])+ $name($name), )+
        }

        impl Law {
            fn as_arrival_law(&self) -> &dyn ArrivalLaw {
                match self { $( Self::$name(law) => law, )+ }
            }
        }
    };
}

laws! {
    /// A Poisson process: memoryless gaps (C^2 = 1).
    Exponential,
    /// Equal gaps (C^2 = 0).
    Deterministic,
    /// Uniform gaps within a share of the mean (C^2 = spread^2 / 3).
    Uniform,
    /// Gamma gaps (C^2 = 1 / shape); an integer shape k is Erlang's law, the sum of k exponential stages.
    Gamma,
    /// Short and long exponential gaps that each make up half of the time (C^2 is a parameter).
    Hyperexponential,
    /// A power law between a shortest and a longest gap (default: C^2 = 20 between 5 us and 100 ms, scaled).
    Pareto,
    /// A Poisson process whose rate switches between two values at random (Markov-modulated, MMPP-2).
    Bursts,
    /// Arrival times from a file, scaled to the rate, and repeated after the end.
    Trace,
}

impl Default for Law {
    fn default() -> Self {
        Self::Exponential(Exponential {})
    }
}

impl Law {
    /// Check what the types cannot express.
    ///
    /// # Errors
    /// [`ParameterError`] with the name of the parameter.
    pub fn check(&self) -> Result<(), ParameterError> {
        self.as_arrival_law().check()
    }

    /// Create a worker's part of the process; `rate` is the rate of all workers together.
    ///
    /// # Errors
    /// [`TraceError`] if a trace cannot be replayed.
    pub fn part(&self, rate: Rate, part: Part, seeds: Seeds) -> Result<Box<dyn Arrivals>, TraceError> {
        self.part_with_schedule(rate, part, seeds, None)
    }

    /// Create a worker's part whose rate follows a schedule with mean `rate`.
    ///
    /// # Errors
    /// [`TraceError`] if a trace cannot be replayed.
    pub fn part_with_schedule(
        &self,
        rate: Rate,
        part: Part,
        seeds: Seeds,
        schedule: Option<&Schedule>,
    ) -> Result<Box<dyn Arrivals>, TraceError> {
        let process =
            self.as_arrival_law().process(&PartSpec { part, seeds, rate, gap: rate.mean_gap_ns() })?;
        Ok(match schedule {
            Some(schedule) => schedule.stretch(process),
            None => Box::new(Steady(process)),
        })
    }

    /// Create the whole process in nanoseconds, for simulations. All clients with the same seed together have the same
    /// arrival times.
    ///
    /// # Errors
    /// [`TraceError`] if a trace cannot be replayed.
    pub fn times(&self, rate: Rate, seed: u64) -> Result<Box<dyn Process>, TraceError> {
        let seeds = Seeds { seed, client: 0, thread: 0 };
        self.as_arrival_law().process(&PartSpec { part: Part::WHOLE, seeds, rate, gap: rate.mean_gap_ns() })
    }

    /// Return the cumulants of the gaps of the whole process, if gaps are independent.
    pub fn cumulants(&self) -> Option<Cumulants> {
        self.as_arrival_law().cumulants()
    }

    /// Return the index of dispersion of the whole process in long spans.
    pub fn dispersion(&self, rate: Rate) -> f64 {
        self.as_arrival_law().dispersion(rate)
    }

    /// Return the index of dispersion of one part, if it does not depend on the number of parts.
    pub fn part_dispersion(&self) -> Option<f64> {
        self.as_arrival_law().part_dispersion()
    }

    /// Return the law of the gaps of one part, if it is known and has a density.
    pub fn gaps(&self) -> Option<Gaps> {
        self.as_arrival_law().gaps()
    }
}
