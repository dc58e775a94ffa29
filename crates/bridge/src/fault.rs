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
    let (code, message) = (error.code(), error.to_string());
    match error {
        LoadError::Plan(PlanError::Field { field, value, must }) => {
            raise_with(code, &message, [("field", field.into_owned()), ("value", value), ("must", must)])
        }
        _ => raise(code, &message),
    }
}

/// Create an `EngineError` with `fields`.
pub fn raise_with<const N: usize>(
    code: &'static str,
    message: &str,
    fields: [(&'static str, String); N],
) -> PyErr {
    let raised = raise(code, message);
    Python::attach(|py| {
        if let Ok(fields) = fields.into_py_dict(py) {
            // Setting the fields is optional: the error is raised in any case.
            let _ = raised.value(py).setattr("fields", fields);
        }
    });
    raised
}
