use thiserror::Error;

/// An invalid clone document.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum CloneError {
    /// The text is not JSON, or does not have the document's shape.
    #[error("cannot read the clone document: {0}")]
    Unreadable(String),
    /// A field has an invalid value.
    #[error("clone field `{field}` is {value}, but must be {must}")]
    Field {
        /// Dotted name of the field, with indices: `kinds[0].service[1].law.sigma_log`.
        field: String,
        /// Its value.
        value: String,
        /// The allowed values.
        must: String,
    },
}
