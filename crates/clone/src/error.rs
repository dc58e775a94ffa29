use thiserror::Error;

/// Why a clone document is refused.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum CloneError {
    /// Not JSON, or not of the document's shape.
    #[error("the clone document cannot be read: {0}")]
    Unreadable(String),
    /// A field holds what it must not.
    #[error("clone field `{field}` is {value}, but must be {must}")]
    Field {
        /// Dotted name of the field, with positions: `kinds[0].service[1].law.sigma_log`.
        field: String,
        /// What it holds.
        value: String,
        /// What would be right.
        must: String,
    },
}
