//! Why a plan is refused: the field, what it holds, and what would be right.

use std::borrow::Cow;

use thiserror::Error;

/// Why a plan is refused.
#[derive(Debug, Error, PartialEq)]
pub enum PlanError {
    /// Not JSON, or not of the plan's shape.
    #[error("the plan cannot be read: {0}")]
    Unreadable(String),
    /// A field holds what it must not.
    #[error("plan field `{field}` is {value}, but must be {must}")]
    Field {
        /// Dotted name of the field.
        field: Cow<'static, str>,
        /// What it holds.
        value: String,
        /// What would be right.
        must: String,
    },
}

impl PlanError {
    /// The same without the value of a header, which may be secret.
    pub(crate) fn of_secret(self, name: &str) -> Self {
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
    /// The field, and what it holds.
    pub(crate) fn told(&self) -> (&str, &str) {
        match self {
            Self::Field { field, value, .. } => (field, value),
            Self::Unreadable(said) => ("", said),
        }
    }
}

/// By value, because callers hand over numbers and texts of all sorts that they made for this.
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn refuse(
    field: impl Into<Cow<'static, str>>,
    value: impl ToString,
    must: impl Into<String>,
) -> PlanError {
    PlanError::Field { field: field.into(), value: value.to_string(), must: must.into() }
}
