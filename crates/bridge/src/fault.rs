//! The single mapping of engine errors to Python exceptions.

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
    "An engine error: `args` are its stable code and its message; `fields`, if present, are \
     the values concerned."
);

/// Create an `EngineError`.
pub fn raise(code: &'static str, message: &str) -> PyErr {
    EngineError::new_err((code, message.to_owned()))
}

/// Convert the error of a client; if a plan is refused, `fields` has the field, its value and the expected value.
pub fn load_error(error: LoadError) -> PyErr {
    let raised = raise(error.code(), &error.to_string());
    if let LoadError::Plan(PlanError::Field { field, value, must }) = error {
        Python::attach(|py| {
            if let Ok(fields) =
                [("field", field.into_owned()), ("value", value), ("must", must)].into_py_dict(py)
            {
                // Setting the fields is optional: the error is raised in any case.
                let _ = raised.value(py).setattr("fields", fields);
            }
        });
    }
    raised
}
