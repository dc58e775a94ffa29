//! The one mapping of engine errors to Python.

use hindmost_load::LoadError;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(
    hindmost._engine,
    EngineError,
    PyException,
    "An engine error: `args` are its code, which programs can rely on, and its message."
);

/// An engine error as Python's.
pub fn raise(code: &'static str, message: &str) -> PyErr {
    EngineError::new_err((code, message.to_owned()))
}

/// A load instance's failure as Python's.
pub fn load_error(error: LoadError) -> PyErr {
    raise(error.code(), &error.to_string())
}
