use hindmost_clock::Rate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::process::{Making, Steady};
use crate::{
    Arrivals, Bursts, Cumulants, Deterministic, Exponential, Gamma, Hyperexponential, Pareto, Part, Process,
    Refused, Schedule, Seeds, Trace, TraceError, Uniform,
};

/// What a law says of itself.
pub trait Statement {
    /// Refuses parameters that mean nothing.
    fn check(&self) -> Result<(), Refused> {
        Ok(())
    }

    /// A worker's part of the process.
    ///
    /// # Errors
    /// [`TraceError`], of a trace that cannot be replayed.
    fn process(&self, making: &Making) -> Result<Box<dyn Process>, TraceError>;

    /// Those of the gaps of the whole, where gaps are independent.
    fn cumulants(&self) -> Option<Cumulants>;

    /// Index of dispersion of the counts of the whole: their variance over their mean, in spans much longer than a
    /// gap. Of independent gaps it is their C^2 (Cox, Renewal Theory, 1962, section 4.2).
    fn dispersion(&self, _rate: Rate) -> f64 {
        self.cumulants().map_or(f64::NAN, |c| c.scv())
    }

    /// The same of one part, where it is the same for any number of parts.
    fn part_dispersion(&self) -> Option<f64> {
        None
    }

    /// The law of the gaps of one part, where it is known and has a density to be compared with.
    fn gaps(&self) -> Option<Gaps> {
        None
    }
}

/// The law of gaps, in units of the mean gap.
#[derive(Clone, Copy)]
pub struct Gaps {
    /// The share of gaps below `x`, exact where it is small.
    pub below: fn(f64) -> f64,
    /// The logarithm of the share of gaps above `x`, exact however small that is.
    pub log_above: fn(f64) -> f64,
}

/// Declares [`Law`]; a law's text stands in the plan's schema, with that of its parameters.
macro_rules! laws {
    ($( $(#[doc = $doc:literal])+ $name:ident, )+) => {
        /// The law of the gaps between due times: a name, or an object with its parameters.
        // Derived for objects alone; `spelling.rs` makes the traits of it that read and write names, too.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[schemars(rename = "Arrivals", transform = crate::spelling::or_name)]
        #[serde(remote = "Self", tag = "kind", rename_all = "lowercase")]
        pub enum Law {
            $( $(#[doc = $doc])+ $name($name), )+
        }

        impl Law {
            fn statement(&self) -> &dyn Statement {
                match self { $( Self::$name(law) => law, )+ }
            }
        }
    };
}

laws! {
    /// A Poisson process: gaps without memory (C^2 = 1).
    Exponential,
    /// Equal gaps (C^2 = 0).
    Deterministic,
    /// Gaps equally likely within a share of the mean (C^2 = spread^2 / 3).
    Uniform,
    /// Gamma gaps (C^2 = 1 / shape); of a whole shape k they are Erlang's, k exponential stages.
    Gamma,
    /// Short and long exponential gaps, of which each make half of the time (C^2 as asked).
    Hyperexponential,
    /// A power law between a shortest and a longest gap (by default C^2 = 20 between 5 us and 100 ms, scaled).
    Pareto,
    /// A Poisson process whose rate jumps between two values at random (Markov-modulated, MMPP-2).
    Bursts,
    /// Moments from a file, scaled to the rate; after the last it begins again.
    Trace,
}

impl Default for Law {
    fn default() -> Self {
        Self::Exponential(Exponential {})
    }
}

impl Law {
    /// Checks what the types cannot.
    ///
    /// # Errors
    /// [`Refused`], which names the key.
    pub fn check(&self) -> Result<(), Refused> {
        self.statement().check()
    }

    /// A worker's part of the process with that rate over all workers.
    ///
    /// # Errors
    /// [`TraceError`], of a trace that cannot be replayed.
    pub fn part(&self, rate: Rate, part: Part, seeds: Seeds) -> Result<Box<dyn Arrivals>, TraceError> {
        self.scheduled(rate, part, seeds, None)
    }

    /// The same, where the rate is a mean one that follows a schedule.
    ///
    /// # Errors
    /// [`TraceError`], of a trace that cannot be replayed.
    pub fn scheduled(
        &self,
        rate: Rate,
        part: Part,
        seeds: Seeds,
        schedule: Option<&Schedule>,
    ) -> Result<Box<dyn Arrivals>, TraceError> {
        let process = self.statement().process(&Making { part, seeds, rate, gap: rate.mean_gap_ns() })?;
        Ok(match schedule {
            Some(schedule) => schedule.stretch(process),
            None => Box::new(Steady(process)),
        })
    }

    /// The moments of the whole process, in nanoseconds, for who simulates: from one seed, those that instances with
    /// that seed share among them.
    ///
    /// # Errors
    /// [`TraceError`], of a trace that cannot be replayed.
    pub fn moments(&self, rate: Rate, seed: u64) -> Result<Box<dyn Process>, TraceError> {
        let seeds = Seeds { seed, instance: 0, thread: 0 };
        self.statement().process(&Making { part: Part::WHOLE, seeds, rate, gap: rate.mean_gap_ns() })
    }

    /// Those of the gaps of the whole, where gaps are independent.
    pub fn cumulants(&self) -> Option<Cumulants> {
        self.statement().cumulants()
    }

    /// Index of dispersion of the counts of the whole in long spans.
    pub fn dispersion(&self, rate: Rate) -> f64 {
        self.statement().dispersion(rate)
    }

    /// The same of one part, where it is the same for any number of parts.
    pub fn part_dispersion(&self) -> Option<f64> {
        self.statement().part_dispersion()
    }

    /// The law of the gaps of one part, where it is known and has a density.
    pub fn gaps(&self) -> Option<Gaps> {
        self.statement().gaps()
    }
}
