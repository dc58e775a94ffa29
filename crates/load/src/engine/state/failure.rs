//! Why a connection failed.

use std::fmt;
use std::io;

/// A failure, stored unformatted: formatting an OS error allocates, and connections break during the load.
#[derive(Debug)]
pub enum Failure {
    Text(&'static str),
    Error(io::Error),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Error(error) => error.fmt(f),
        }
    }
}

impl From<&'static str> for Failure {
    fn from(text: &'static str) -> Self {
        Self::Text(text)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Error(error)
    }
}
