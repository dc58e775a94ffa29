use hindmost_random::{unit, Random};
use rand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::law::ArrivalLaw;
use crate::process::{Draw, EveryNth, PartSpec};
use crate::{Cumulants, ParameterError, Process, TraceError};

/// Gaps that are uniform within `spread` of the mean (C^2 = spread^2 / 3).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Uniform {
    /// Largest deviation of a gap from the mean, as a share of it; 1: from 0 to twice the mean.
    #[serde(default = "default_spread")]
    pub spread: f64,
}

fn default_spread() -> f64 {
    1.0
}

impl ArrivalLaw for Uniform {
    fn check(&self) -> Result<(), ParameterError> {
        ParameterError::check_range("spread", self.spread, 0.0, 1.0)
    }

    fn process(&self, spec: &PartSpec) -> Result<Box<dyn Process>, TraceError> {
        Ok(EveryNth::new_process(*self, spec))
    }

    fn cumulants(&self) -> Option<Cumulants> {
        let w = self.spread;
        Some(Cumulants([1.0, w.powi(2) / 3.0, 0.0, -2.0 * w.powi(4) / 15.0]))
    }
}

impl Draw for Uniform {
    #[inline]
    fn gap(&mut self, random: &mut Random) -> f64 {
        1.0 + self.spread * (2.0 * unit(random.next_u64()) - 1.0)
    }
}
