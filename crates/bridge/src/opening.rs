//! The opening dialogue of connections that Python itself makes.

use std::borrow::Cow;

use hindmost_load::protocol::Dialogue;
use hindmost_plan::Plan;
use pyo3::prelude::*;

use crate::fault::{load_error, raise};

/// The opening dialogue of one connection to the target of a plan.
#[pyclass(module = "hindmost._engine")]
pub struct Opening(Dialogue);

#[pymethods]
impl Opening {
    #[new]
    fn new(plan: &str) -> PyResult<Self> {
        Ok(Self(Dialogue::new(&Plan::from_json(plan).map_err(|e| load_error(e.into()))?)))
    }

    /// Return whether the connection is ready for requests at once, and the first bytes to send.
    fn begin(&mut self) -> (bool, Cow<'static, [u8]>) {
        let mut out = Vec::new();
        (self.0.begin(&mut out), out.into())
    }

    /// Process bytes from the server; return whether the connection is ready for requests, and the next bytes
    /// to send. Raises `EngineError` with the refusal's code and the server's text.
    fn hear(&mut self, said: &[u8]) -> PyResult<(bool, Cow<'static, [u8]>)> {
        let mut out = Vec::new();
        let done = self
            .0
            .receive_opening(said, &mut out)
            .map_err(|refusal| raise(refusal.code(), &refusal.to_string()))?;
        Ok((done, out.into()))
    }
}
