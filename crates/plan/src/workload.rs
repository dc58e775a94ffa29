//! What is sent: mixes, sizes, popularity.

use hindmost_wire::Mix;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The requests of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Workload {
    /// Get and set of keys: memcached and redis.
    KeyValue(KeyValue),
    /// GET of paths: HTTP.
    Http(Http),
}

impl Workload {
    /// The requests that it is made of.
    pub const fn mix(&self) -> Mix {
        match self {
            Self::KeyValue(_) => Mix::KEY_VALUE,
            Self::Http(_) => Mix::HTTP,
        }
    }
}

impl Default for Workload {
    fn default() -> Self {
        Self::KeyValue(KeyValue::default())
    }
}

/// A key-value mix. The defaults are small and plain: 90 % gets of 200-byte values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct KeyValue {
    /// How many distinct keys there are.
    pub keys: u32,
    /// The share of gets, 0 to 1; the rest are sets.
    pub get_ratio: f64,
    /// Length of a key in bytes (at most 250, memcached's limit). A key keeps its length.
    pub key_bytes: Size,
    /// Length of a value in bytes.
    pub value_bytes: Size,
    /// How often each key is asked for.
    pub popularity: Popularity,
}

impl Default for KeyValue {
    fn default() -> Self {
        Self {
            keys: 10_000,
            get_ratio: 0.9,
            key_bytes: Size::Fixed(30),
            value_bytes: Size::Fixed(200),
            popularity: Popularity::Uniform,
        }
    }
}

/// A mix of HTTP GETs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Http {
    /// The paths, asked for with equal chance.
    pub paths: Vec<String>,
    /// The `Host` header; absent means the target's address.
    pub host: Option<String>,
    /// The status codes that are a success: codes, and classes such as `"2xx"`. What is not among them is an error,
    /// but for 404 and 410, which are misses.
    pub accept: Vec<Codes>,
}

impl Default for Http {
    fn default() -> Self {
        Self { paths: vec!["/".to_owned()], host: None, accept: vec![Codes::Successful] }
    }
}

/// One status code, or a class of them (RFC 9110, 15). Interim replies (1xx) answer nothing and have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Codes {
    /// What was asked for was done.
    #[serde(rename = "2xx")]
    Successful,
    /// To be asked for elsewhere, or unchanged.
    #[serde(rename = "3xx")]
    Redirection,
    /// The request was wrong.
    #[serde(rename = "4xx")]
    ClientError,
    /// The server failed.
    #[serde(rename = "5xx")]
    ServerError,
    /// This one.
    #[serde(untagged)]
    One(u16),
}

impl Codes {
    /// Whether `code` is one of them.
    pub const fn holds(self, code: u16) -> bool {
        match self {
            Self::One(one) => code == one,
            Self::Successful => code / 100 == 2,
            Self::Redirection => code / 100 == 3,
            Self::ClientError => code / 100 == 4,
            Self::ServerError => code / 100 == 5,
        }
    }
}

/// A distribution of sizes in bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Size {
    /// Uniform over `[low, high]`, both included.
    Uniform(u32, u32),
    /// One of several sizes: `[[bytes, weight], ...]`.
    Choice(Vec<(u32, f64)>),
    /// Always the same: a plain number.
    #[serde(untagged)]
    Fixed(u32),
}

impl Size {
    /// The largest size that can be drawn.
    pub fn largest(&self) -> u32 {
        match self {
            Self::Fixed(n) => *n,
            Self::Uniform(_, high) => *high,
            Self::Choice(options) => options.iter().map(|&(n, _)| n).max().unwrap_or(0),
        }
    }

    /// The smallest size that can be drawn.
    pub fn smallest(&self) -> u32 {
        match self {
            Self::Fixed(n) => *n,
            Self::Uniform(low, _) => *low,
            Self::Choice(options) => options.iter().map(|&(n, _)| n).min().unwrap_or(0),
        }
    }
}

/// How often each key is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Popularity {
    /// All alike.
    #[default]
    Uniform,
    /// Zipf's law with this exponent: the key of rank r weighs r^-exponent.
    Zipf(f64),
}
