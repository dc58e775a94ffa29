//! Distributions of key sizes, value sizes and lifetimes.

use hindmost_random::{
    extreme_cdf, extreme_quantile, normal_cdf, normal_quantile, pareto_cdf, pareto_quantile,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{refuse, PlanError};

/// Where an unbounded law is truncated unless `most` is given: memcached's default item limit is 1 MiB, header
/// included.
pub(super) const MOST: u32 = 1_000_000;

/// A distribution of whole numbers: sizes in bytes, or seconds.
///
/// Either a plain number or an object with one law. Continuous laws are rounded to the nearest whole number and
/// truncated at `least` and `most`: values outside are drawn again.
// Derived for objects alone; `spelling.rs` uses it to read and write plain numbers, too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", remote = "Self")]
#[schemars(transform = super::spelling::or_number)]
pub enum Size {
    /// Uniform over `[low, high]`, inclusive.
    Uniform(u32, u32),
    /// A discrete law: `[[number, weight], ...]`.
    #[serde(alias = "discrete")]
    Choice(Vec<(u32, f64)>),
    /// A normal law.
    Normal(Normal),
    /// A lognormal law.
    Lognormal(Lognormal),
    /// The generalised Pareto law.
    #[serde(alias = "generalized-pareto")]
    GeneralisedPareto(Extreme),
    /// The generalised extreme value law.
    #[serde(alias = "generalized-extreme-value")]
    GeneralisedExtremeValue(Extreme),
    /// A mixture of laws: `[[law, weight], ...]`.
    Mixture(Vec<(Size, f64)>),
    /// A constant: a plain number.
    #[serde(skip)]
    Fixed(u32),
}

/// A normal law.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Normal {
    /// Mean before truncation.
    pub mean: f64,
    /// Standard deviation before truncation.
    pub deviation: f64,
    /// Smallest value.
    #[serde(default = "default_least")]
    pub least: u32,
    /// Largest value.
    #[serde(default = "default_most")]
    pub most: u32,
}

/// A lognormal law.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lognormal {
    /// Median before truncation.
    pub median: f64,
    /// Standard deviation of the natural logarithm.
    pub sigma: f64,
    /// Smallest value.
    #[serde(default = "default_least")]
    pub least: u32,
    /// Largest value.
    #[serde(default = "default_most")]
    pub most: u32,
}

/// Parameters of a generalised Pareto or extreme value law.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Extreme {
    /// Location: where the law begins (Pareto) or is centred (extreme value).
    #[serde(default)]
    pub location: f64,
    /// Scale.
    pub scale: f64,
    /// Shape k (xi): above 0 a heavy tail, 0 an exponential tail, below 0 a bounded law.
    pub shape: f64,
    /// Smallest value.
    #[serde(default = "default_least")]
    pub least: u32,
    /// Largest value.
    #[serde(default = "default_most")]
    pub most: u32,
}

fn default_least() -> u32 {
    1
}

fn default_most() -> u32 {
    MOST
}

impl Size {
    /// Return the largest number that can be drawn.
    pub fn largest(&self) -> u32 {
        match self {
            Self::Fixed(n) => *n,
            Self::Uniform(_, high) => *high,
            Self::Choice(options) => options.iter().map(|&(n, _)| n).max().unwrap_or(0),
            Self::Mixture(laws) => laws.iter().map(|(law, _)| law.largest()).max().unwrap_or(0),
            _ => self.bounds().1,
        }
    }

    /// Return the smallest number that can be drawn.
    pub fn smallest(&self) -> u32 {
        match self {
            Self::Fixed(n) => *n,
            Self::Uniform(low, _) => *low,
            Self::Choice(options) => options.iter().map(|&(n, _)| n).min().unwrap_or(0),
            Self::Mixture(laws) => laws.iter().map(|(law, _)| law.smallest()).min().unwrap_or(0),
            _ => self.bounds().0,
        }
    }

    /// Return `least` and `most` of a continuous law.
    #[inline]
    pub const fn bounds(&self) -> (u32, u32) {
        match self {
            Self::Normal(law) => (law.least, law.most),
            Self::Lognormal(law) => (law.least, law.most),
            Self::GeneralisedPareto(law) | Self::GeneralisedExtremeValue(law) => (law.least, law.most),
            _ => (0, 0),
        }
    }

    /// Return the quantile at `p` of a continuous law, before truncation.
    #[inline]
    pub fn quantile(&self, p: f64) -> f64 {
        match self {
            Self::Normal(law) => law.mean + law.deviation * normal_quantile(p),
            Self::Lognormal(law) => law.median * (law.sigma * normal_quantile(p)).exp(),
            Self::GeneralisedPareto(law) => pareto_quantile(law.location, law.scale, law.shape, p),
            Self::GeneralisedExtremeValue(law) => extreme_quantile(law.location, law.scale, law.shape, p),
            _ => f64::NAN,
        }
    }

    /// Return the probability of values below `x` under a continuous law, before truncation.
    pub fn cdf(&self, x: f64) -> f64 {
        match self {
            Self::Normal(law) => normal_cdf((x - law.mean) / law.deviation),
            Self::Lognormal(law) if x > 0.0 => normal_cdf((x / law.median).ln() / law.sigma),
            Self::Lognormal(_) => 0.0,
            Self::GeneralisedPareto(law) => pareto_cdf(law.location, law.scale, law.shape, x),
            Self::GeneralisedExtremeValue(law) => extreme_cdf(law.location, law.scale, law.shape, x),
            _ => f64::NAN,
        }
    }

    /// Return the probabilities of a continuous law below `least` and up to `most`, after rounding.
    pub fn cdf_at_bounds(&self) -> (f64, f64) {
        let (least, most) = self.bounds();
        (self.cdf(f64::from(least) - 0.5), self.cdf(f64::from(most) + 0.5))
    }

    /// Check that the law is meaningful and that its values lie within `allowed`.
    pub(super) fn check(&self, field: &str, allowed: (u32, u32), unit: &str) -> Result<(), PlanError> {
        self.check_law(field)?;
        let (least, largest) = allowed;
        for (name, n) in [("least", self.smallest()), ("most", self.largest())] {
            if n < least || n > largest {
                let open = matches!(
                    self,
                    Self::Normal(_)
                        | Self::Lognormal(_)
                        | Self::GeneralisedPareto(_)
                        | Self::GeneralisedExtremeValue(_)
                );
                let cut = if open { format!(": set `{name}`") } else { String::new() };
                return Err(refuse(
                    field.to_owned(),
                    n,
                    format!("between {least} and {largest} {unit}{cut}"),
                ));
            }
        }
        Ok(())
    }

    fn check_law(&self, field: &str) -> Result<(), PlanError> {
        let weighted = |weights: &mut dyn Iterator<Item = f64>, shape: &str| {
            let mut sum = 0.0;
            let are_valid = weights.inspect(|w| sum += w).all(|w| w.is_finite() && w >= 0.0);
            if are_valid && sum > 0.0 {
                return Ok(());
            }
            let value = format!("weighted {sum} in all");
            Err(refuse(
                field.to_owned(),
                value,
                format!("a list of {shape} whose weights sum to more than 0"),
            ))
        };
        let positive = |name: &str, value: f64| {
            if value.is_finite() && value > 0.0 {
                return Ok(());
            }
            Err(refuse(format!("{field}.{name}"), value, "a number above 0"))
        };
        match self {
            Self::Uniform(low, high) if low > high => {
                let value = format!("uniform [{low}, {high}]");
                return Err(refuse(field.to_owned(), value, "[low, high] with low <= high"));
            }
            Self::Fixed(_) | Self::Uniform(..) => return Ok(()),
            Self::Choice(options) => {
                return weighted(&mut options.iter().map(|&(_, w)| w), "[number, weight]")
            }
            Self::Mixture(laws) => {
                weighted(&mut laws.iter().map(|&(_, w)| w), "[law, weight]")?;
                return laws.iter().try_for_each(|(law, _)| law.check_law(field));
            }
            Self::Normal(law) => {
                positive("normal.deviation", law.deviation)?;
                finite(&format!("{field}.normal.mean"), law.mean)?;
            }
            Self::Lognormal(law) => {
                positive("lognormal.median", law.median)?;
                positive("lognormal.sigma", law.sigma)?;
            }
            Self::GeneralisedPareto(law) | Self::GeneralisedExtremeValue(law) => {
                positive("scale", law.scale)?;
                finite(&format!("{field}.location"), law.location)?;
                if !(law.shape.is_finite() && law.shape.abs() <= 10.0) {
                    return Err(refuse(format!("{field}.shape"), law.shape, "between -10 and 10"));
                }
            }
        }
        let ((least, most), (low, high)) = (self.bounds(), self.cdf_at_bounds());
        if least > most || high - low < 1e-9 {
            let value = format!("cut to [{least}, {most}], where it has a share of {:.1e}", high - low);
            return Err(refuse(
                field.to_owned(),
                value,
                "a law that has something between `least` and `most`",
            ));
        }
        Ok(())
    }
}

fn finite(field: &str, value: f64) -> Result<(), PlanError> {
    if value.is_finite() {
        return Ok(());
    }
    Err(refuse(field.to_owned(), value, "a number"))
}
