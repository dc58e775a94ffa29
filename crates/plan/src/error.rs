//! Errors of a plan: the field, its value, and the expected value.

use std::borrow::Cow;

use thiserror::Error;

/// The reason why a plan is refused.
#[derive(Debug, Error, PartialEq)]
pub enum PlanError {
    /// The text is not JSON, or does not have the structure of a plan.
    #[error("the plan cannot be read: {0}")]
    Unreadable(String),
    /// A field has an invalid value.
    #[error("plan field `{field}` is {value}, but must be {must}")]
    Field {
        /// Dotted name of the field.
        field: Cow<'static, str>,
        /// The value of the field.
        value: String,
        /// The expected value.
        must: String,
    },
}

impl PlanError {
    /// Replace the value, which may be a secret header, by a description.
    pub(crate) fn hide_value(self, name: &str) -> Self {
        match self {
            Self::Field { field, must, .. } => {
                Self::Field { field, value: format!("a value of {name}"), must }
            }
            other @ Self::Unreadable(_) => other,
        }
    }
}

#[cfg(test)]
impl PlanError {
    /// Return the field and its value.
    pub(crate) fn field_and_value(&self) -> (&str, &str) {
        match self {
            Self::Field { field, value, .. } => (field, value),
            Self::Unreadable(said) => ("", said),
        }
    }
}

/// Takes values and not references, because callers pass temporary numbers and strings of several types.
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn refuse(
    field: impl Into<Cow<'static, str>>,
    value: impl ToString,
    must: impl Into<String>,
) -> PlanError {
    PlanError::Field { field: field.into(), value: value.to_string(), must: must.into() }
}
