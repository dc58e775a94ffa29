use hindmost_random::{unit, Random};
use rand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::law::ArrivalLaw;
use crate::process::PartSpec;
use crate::{Cumulants, Gaps, Process, TraceError};

/// A Poisson process: memoryless gaps (C^2 = 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Exponential {}

impl ArrivalLaw for Exponential {
    /// Parts of a Poisson process are independent Poisson processes with a share of the rate.
    fn process(&self, spec: &PartSpec) -> Result<Box<dyn Process>, TraceError> {
        let mean = spec.gap * f64::from(spec.part.of.max(1));
        Ok(Box::new(Independent { mean, at: 0.0, random: spec.seeds.own_stream() }))
    }

    fn cumulants(&self) -> Option<Cumulants> {
        Some(Cumulants([1.0, 1.0, 2.0, 6.0]))
    }

    fn part_dispersion(&self) -> Option<f64> {
        Some(1.0)
    }

    fn gaps(&self) -> Option<Gaps> {
        Some(Gaps { below: |x| -(-x).exp_m1(), log_above: |x| -x })
    }
}

/// Independent exponential gaps, by inversion of the distribution function.
///
/// The sum is an f64 of nanoseconds, which is exact to one for 104 days, so rounding does not accumulate into the
/// rate.
struct Independent {
    mean: f64,
    at: f64,
    random: Random,
}

impl Process for Independent {
    #[inline]
    fn next(&mut self) -> f64 {
        self.at += exponential(&mut self.random) * self.mean;
        self.at
    }
}

/// Draw an exponential number with mean 1.
#[inline]
pub fn exponential(random: &mut Random) -> f64 {
    // 1 - u is in (0, 1], so the logarithm is finite.
    -(1.0 - unit(random.next_u64())).ln()
}
