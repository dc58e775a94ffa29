//! Stages of requests, traced in the kernel.

use std::path::PathBuf;

use hindmost_clock::Nanos;
use hindmost_trace::{Framing, RequestStart, TraceError, TraceRequest, Tracer};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::fault::raise;

/// Traces a server's requests from its creation until `end`.
#[pyclass]
pub struct Trace {
    tracer: Option<Tracer>,
}

#[pymethods]
impl Trace {
    /// `framing` is JSON text (`hindmost_trace::Framing`). One request in `every` is stored in the file
    /// `records`, and its latency in the text file `log`. `begun` is a program (or library) and its function
    /// that begins a request.
    #[new]
    #[pyo3(signature = (port, framing, *, block_ns, one_connection_in=1, one_window_in=1, every=0, records=None, log=None, handover=true, who=false, begun=None))]
    #[expect(clippy::too_many_arguments, reason = "Python passes them by name")]
    fn new(
        py: Python<'_>,
        port: u16,
        framing: &str,
        block_ns: u64,
        one_connection_in: u32,
        one_window_in: u32,
        every: u32,
        records: Option<PathBuf>,
        log: Option<PathBuf>,
        handover: bool,
        who: bool,
        begun: Option<(PathBuf, String)>,
    ) -> PyResult<Self> {
        let framing: Framing =
            serde_json::from_str(framing).map_err(|e| PyValueError::new_err(e.to_string()))?;
        let records = records.map(|path| (every, path));
        let log = log.map(|path| (every, path));
        let block = Nanos(block_ns);
        let request_start = begun
            .map(|(file, function)| RequestStart::find(&file, &function))
            .transpose()
            .map_err(to_python)?;
        let request = TraceRequest {
            port,
            framing,
            one_connection_in,
            block,
            one_window_in,
            records,
            log,
            handover,
            follow_scheduler: who,
            request_start,
        };
        let tracer = py.detach(|| Tracer::start(&request)).map_err(to_python)?;
        Ok(Self { tracer: Some(tracer) })
    }

    /// Remove the probes and return the results as JSON text (`hindmost_trace::TraceSummary`).
    fn end(&mut self, py: Python<'_>) -> PyResult<String> {
        let tracer =
            self.tracer.take().ok_or_else(|| PyRuntimeError::new_err("this trace has already ended"))?;
        let seen = py.detach(|| tracer.end()).map_err(to_python)?;
        serde_json::to_string(&seen).map_err(|e| raise("trace", &e.to_string()))
    }
}

/// Load the probes; return code and message if tracing is impossible here, otherwise `None`.
#[pyfunction]
pub fn trace_fault(py: Python<'_>) -> Option<(&'static str, String)> {
    py.detach(hindmost_trace::check_support).map(|why| (why.code(), why.to_string()))
}

fn to_python(why: TraceError) -> PyErr {
    raise(why.code(), &why.to_string())
}
