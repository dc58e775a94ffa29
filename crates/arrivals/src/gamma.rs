use hindmost_random::{normal_quantile, unit, Random};
use rand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::law::ArrivalLaw;
use crate::process::{Draw, EveryNth, PartSpec};
use crate::{Cumulants, ParameterError, Process, TraceError};

/// Gamma gaps (C^2 = 1 / shape). An integer shape k is Erlang's law: the sum of k exponential stages.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gamma {
    /// Shape: below 1, gaps vary more than in a Poisson process; above 1, less.
    pub shape: f64,
}

impl ArrivalLaw for Gamma {
    fn check(&self) -> Result<(), ParameterError> {
        ParameterError::check_range("shape", self.shape, 0.01, 10_000.0)
    }

    fn process(&self, spec: &PartSpec) -> Result<Box<dyn Process>, TraceError> {
        Ok(EveryNth::new_process(MarsagliaTsang::new(self.shape), spec))
    }

    fn cumulants(&self) -> Option<Cumulants> {
        let k = self.shape;
        Some(Cumulants([1.0, 1.0 / k, 2.0 / k.powi(2), 6.0 / k.powi(3)]))
    }
}

/// Marsaglia and Tsang's rejection method (ACM TOMS 26, 2000), which almost always accepts the first normal number.
struct MarsagliaTsang {
    d: f64,
    c: f64,
    /// For a shape below 1: the power of a uniform number that multiplies a draw of shape + 1.
    power: Option<f64>,
    scale: f64,
}

impl MarsagliaTsang {
    fn new(shape: f64) -> Self {
        let boosted = if shape < 1.0 { shape + 1.0 } else { shape };
        let d = boosted - 1.0 / 3.0;
        Self { d, c: 1.0 / (9.0 * d).sqrt(), power: (shape < 1.0).then_some(1.0 / shape), scale: 1.0 / shape }
    }
}

impl Draw for MarsagliaTsang {
    #[inline]
    fn gap(&mut self, random: &mut Random) -> f64 {
        let cubed = loop {
            let x = normal_quantile(open_unit(random));
            let v = 1.0 + self.c * x;
            if v > 0.0 {
                let v = v * v * v;
                if open_unit(random).ln() < 0.5 * x * x + self.d * (1.0 - v + v.ln()) {
                    break v;
                }
            }
        };
        let below_one = self.power.map_or(1.0, |power| open_unit(random).powf(power));
        self.d * cubed * below_one * self.scale
    }
}

/// Draw a number in `(0, 1)`, without the ends.
#[inline]
fn open_unit(random: &mut Random) -> f64 {
    unit(random.next_u64()) + 0.5 / (1u64 << 53) as f64
}
