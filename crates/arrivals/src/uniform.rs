use hindmost_random::{unit, Random};
use rand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::law::Statement;
use crate::process::{Draw, EveryNth, Making};
use crate::{Cumulants, Process, Refused, TraceError};

/// Gaps that are equally likely within `spread` of the mean (C^2 = spread^2 / 3).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Uniform {
    /// How far a gap may be from the mean, as a share of it; 1: from none to twice the mean.
    #[serde(default = "whole")]
    pub spread: f64,
}

fn whole() -> f64 {
    1.0
}

impl Statement for Uniform {
    fn check(&self) -> Result<(), Refused> {
        Refused::outside("spread", self.spread, 0.0, 1.0)
    }

    fn process(&self, making: &Making) -> Result<Box<dyn Process>, TraceError> {
        Ok(EveryNth::boxed(*self, making))
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
