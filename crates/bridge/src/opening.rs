//! What is said on a fresh connection, for Python's own.

use std::borrow::Cow;

use hindmost_load::protocol::Dialogue;
use hindmost_plan::Plan;
use pyo3::prelude::*;

use crate::fault::{load_error, raise};

/// The opening of one connection to the target of a plan.
#[pyclass(module = "hindmost._engine")]
pub struct Opening(Dialogue);

#[pymethods]
impl Opening {
    #[new]
    fn new(plan: &str) -> PyResult<Self> {
        Ok(Self(Dialogue::new(&Plan::from_json(plan).map_err(|e| load_error(e.into()))?)))
    }

    /// Whether the connection can carry requests at once, and what is said first.
    fn begin(&mut self) -> (bool, Cow<'static, [u8]>) {
        let mut out = Vec::new();
        (self.0.begin(&mut out), out.into())
    }

    /// Takes what the server has said: whether the connection can carry requests now, and what is said next. Raises
    /// `EngineError` with the refusal's code and the server's words.
    fn hear(&mut self, said: &[u8]) -> PyResult<(bool, Cow<'static, [u8]>)> {
        let mut out = Vec::new();
        let done = self
            .0
            .receive_opening(said, &mut out)
            .map_err(|refusal| raise(refusal.code(), &refusal.to_string()))?;
        Ok((done, out.into()))
    }
}
