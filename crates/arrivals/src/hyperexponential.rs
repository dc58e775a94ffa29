use hindmost_random::{unit, Random};
use rand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::exponential::exponential;
use crate::law::ArrivalLaw;
use crate::process::{Draw, EveryNth, PartSpec};
use crate::{Cumulants, ParameterError, Process, TraceError};

/// Two exponential laws, of short and long gaps, each of which makes up half of the time ("balanced means").
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hyperexponential {
    /// Squared coefficient of variation C^2 of the gaps: 1 for a Poisson process; larger values vary more.
    pub c2: f64,
}

impl Hyperexponential {
    /// Return the probability of a short gap, and the means of short and long gaps.
    fn branches(self) -> (f64, [f64; 2]) {
        // Balanced means: p / rate of short gaps = (1 - p) / rate of long gaps (Whitt, Oper. Res. 30, 1982).
        let p = f64::midpoint(1.0, ((self.c2 - 1.0) / (self.c2 + 1.0)).sqrt());
        (p, [0.5 / p, 0.5 / (1.0 - p)])
    }
}

impl ArrivalLaw for Hyperexponential {
    fn check(&self) -> Result<(), ParameterError> {
        ParameterError::check_range("c2", self.c2, 1.0, 10_000.0)
    }

    fn process(&self, spec: &PartSpec) -> Result<Box<dyn Process>, TraceError> {
        let (short, means) = self.branches();
        Ok(EveryNth::new_process(Branches { short, means }, spec))
    }

    fn cumulants(&self) -> Option<Cumulants> {
        let (p, [short, long]) = self.branches();
        let moment = |j: i32, factorial: f64| factorial * (p * short.powi(j) + (1.0 - p) * long.powi(j));
        let moments = [moment(1, 1.0), moment(2, 2.0), moment(3, 6.0), moment(4, 24.0)];
        Some(Cumulants::from_moments(moments))
    }
}

struct Branches {
    short: f64,
    means: [f64; 2],
}

impl Draw for Branches {
    #[inline]
    fn gap(&mut self, random: &mut Random) -> f64 {
        let mean = self.means[usize::from(unit(random.next_u64()) >= self.short)];
        exponential(random) * mean
    }
}
