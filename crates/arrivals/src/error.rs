use thiserror::Error;

/// An invalid parameter of a law or a schedule.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("`{field}` is {value}, but must be {must}")]
pub struct ParameterError {
    /// Name of the parameter.
    pub field: &'static str,
    /// Its value.
    pub value: String,
    /// The allowed values.
    pub must: String,
}

impl ParameterError {
    /// Refuse a value outside the bounds (both allowed), or NaN.
    pub fn check_range(field: &'static str, value: f64, least: f64, most: f64) -> Result<(), Self> {
        if (least..=most).contains(&value) {
            return Ok(());
        }
        Err(Self { field, value: value.to_string(), must: format!("between {least} and {most}") })
    }
}
