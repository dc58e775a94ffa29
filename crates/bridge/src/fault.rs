//! The one mapping of engine errors to Python.

use hindmost_load::LoadError;
use hindmost_plan::PlanError;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::IntoPyDict;

create_exception!(
    hindmost._engine,
    EngineError,
    PyException,
    "An engine error: `args` are its code, which programs can rely on, and its message; `fields`, if it has any, are \
     the values that it is about."
);

/// An engine error as Python's.
pub fn raise(code: &'static str, message: &str) -> PyErr {
    EngineError::new_err((code, message.to_owned()))
}

/// A client's failure as Python's; a refused plan names the field, its value, and what it must be.
pub fn load_error(error: LoadError) -> PyErr {
    let raised = raise(error.code(), &error.to_string());
    if let LoadError::Plan(PlanError::Field { field, value, must }) = error {
        Python::attach(|py| {
            if let Ok(fields) =
                [("field", field.into_owned()), ("value", value), ("must", must)].into_py_dict(py)
            {
                // An error without its fields is still an error.
                let _ = raised.value(py).setattr("fields", fields);
            }
        });
    }
    raised
}
