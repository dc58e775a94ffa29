use thiserror::Error;

/// Why a law or a schedule is refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("`{field}` is {value}, but must be {must}")]
pub struct Refused {
    /// Its key.
    pub field: &'static str,
    /// What it holds.
    pub value: String,
    /// What would be right.
    pub must: String,
}

impl Refused {
    /// `value` of `field` unless it lies within the bounds, both allowed; a number that is none does not.
    pub fn outside(field: &'static str, value: f64, least: f64, most: f64) -> Result<(), Self> {
        if (least..=most).contains(&value) {
            return Ok(());
        }
        Err(Self { field, value: value.to_string(), must: format!("between {least} and {most}") })
    }
}
