use std::io;

use parquet::errors::ParquetError;
use thiserror::Error;

/// The reason why a table cannot be read or written.
#[derive(Debug, Error)]
pub enum TableError {
    /// The file cannot be opened, read or written.
    #[error(transparent)]
    File(#[from] io::Error),
    /// The file has no column of this name.
    #[error("there is no column {0}")]
    MissingColumn(String),
    /// The column has values of another type.
    #[error("column {0} has another type")]
    OtherKind(String),
    /// The bytes are not a Parquet file, or the columns do not fit the schema.
    #[error("{0}")]
    Format(String),
}

impl From<ParquetError> for TableError {
    fn from(error: ParquetError) -> Self {
        match error {
            ParquetError::External(source) => match source.downcast::<io::Error>() {
                Ok(error) => Self::File(*error),
                Err(error) => Self::Format(error.to_string()),
            },
            error => Self::Format(error.to_string()),
        }
    }
}

impl From<TableError> for io::Error {
    fn from(error: TableError) -> Self {
        match error {
            TableError::File(error) => error,
            error => io::Error::other(error),
        }
    }
}
