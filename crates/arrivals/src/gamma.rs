use hindmost_random::{normal_quantile, unit, Random};
use rand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::law::Statement;
use crate::process::{Draw, EveryNth, Making};
use crate::{Cumulants, Process, Refused, TraceError};

/// Gamma gaps (C^2 = 1 / shape). A whole shape k is Erlang's law: the sum of k exponential stages.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gamma {
    /// Below 1 more varied than a Poisson process, above 1 more even.
    pub shape: f64,
}

impl Statement for Gamma {
    fn check(&self) -> Result<(), Refused> {
        Refused::outside("shape", self.shape, 0.01, 10_000.0)
    }

    fn process(&self, making: &Making) -> Result<Box<dyn Process>, TraceError> {
        Ok(EveryNth::boxed(Squeeze::new(self.shape), making))
    }

    fn cumulants(&self) -> Option<Cumulants> {
        let k = self.shape;
        Some(Cumulants([1.0, 1.0 / k, 2.0 / k.powi(2), 6.0 / k.powi(3)]))
    }
}

/// Marsaglia and Tsang's rejection (ACM TOMS 26, 2000): takes a normal number at the first try nearly always.
struct Squeeze {
    d: f64,
    c: f64,
    /// Of a shape below 1, which is drawn as one above it times a power of a uniform number.
    power: Option<f64>,
    scale: f64,
}

impl Squeeze {
    fn new(shape: f64) -> Self {
        let boosted = if shape < 1.0 { shape + 1.0 } else { shape };
        let d = boosted - 1.0 / 3.0;
        Self { d, c: 1.0 / (9.0 * d).sqrt(), power: (shape < 1.0).then_some(1.0 / shape), scale: 1.0 / shape }
    }
}

impl Draw for Squeeze {
    #[inline]
    fn gap(&mut self, random: &mut Random) -> f64 {
        let cubed = loop {
            let x = normal_quantile(open(random));
            let v = 1.0 + self.c * x;
            if v > 0.0 {
                let v = v * v * v;
                if open(random).ln() < 0.5 * x * x + self.d * (1.0 - v + v.ln()) {
                    break v;
                }
            }
        };
        let below_one = self.power.map_or(1.0, |power| open(random).powf(power));
        self.d * cubed * below_one * self.scale
    }
}

/// A number in `(0, 1)`, ends excluded.
#[inline]
fn open(random: &mut Random) -> f64 {
    unit(random.next_u64()) + 0.5 / (1u64 << 53) as f64
}
