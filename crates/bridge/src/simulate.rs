//! The queue simulator.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use hindmost_clone::{Document, Program};
use hindmost_simulate::{run_batch, simulate_rows, Batch, Row, SimulateError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{json, Value};

use crate::clone::clone_error;
use crate::fault::raise;

fn simulate_error(error: SimulateError) -> PyErr {
    raise(error.code(), &error.to_string())
}

/// Interval at which Ctrl-C and progress are checked.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Run every design point of a batch (JSON text) on all cores; return the result of each, in order, as JSON text.
/// `progress` is called regularly with the number of completed points.
#[pyfunction]
#[pyo3(signature = (document, design, progress=None))]
pub fn simulate(
    py: Python<'_>,
    document: &str,
    design: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let (document, batch) = read(document, design)?;
    let answers = interruptible(py, progress, |stop, done| run_batch(&document, &batch, stop, done))?;
    Ok(json!({ "points": answers.map_err(simulate_error)? }).to_string())
}

/// Check every design point of a batch without running it.
#[pyfunction]
pub fn check_designs(py: Python<'_>, document: &str, design: &str) -> PyResult<()> {
    let (document, batch) = read(document, design)?;
    py.detach(|| batch.check(&document)).map_err(simulate_error)
}

fn read(document: &str, design: &str) -> PyResult<(Value, Batch)> {
    let unreadable = |e: serde_json::Error| simulate_error(SimulateError::Unreadable(e.to_string()));
    let document = serde_json::from_str(document).map_err(unreadable)?;
    Ok((document, Batch::from_json(design).map_err(simulate_error)?))
}

/// Run the only design point of a batch; return the columns of its rows, including warm-up, in the order of service
/// start: `(name, bytes)`, native f64, or u32 for `kind`.
#[pyfunction]
pub fn simulate_columns<'py>(
    py: Python<'py>,
    document: &str,
    design: &str,
) -> PyResult<Vec<(&'static str, Bound<'py, PyBytes>)>> {
    let program = Program::new(&Document::from_json(document).map_err(clone_error)?).map_err(clone_error)?;
    let batch = Batch::from_json(design).map_err(simulate_error)?;
    let design = batch.only().map_err(simulate_error)?;
    let rows = interruptible(py, None, |stop, _| {
        let mut rows: Vec<Row> = Vec::new();
        simulate_rows(&program, &design, &mut rows, stop).map(|()| rows)
    })?
    .map_err(simulate_error)?;
    let column = |of: fn(&Row) -> f64| {
        let bytes: Vec<u8> = rows.iter().flat_map(|row| of(row).to_ne_bytes()).collect();
        PyBytes::new(py, &bytes)
    };
    let kinds: Vec<u8> = rows.iter().flat_map(|row| row.kind.to_ne_bytes()).collect();
    Ok(vec![
        ("arrival_ns", column(|row| row.arrival_ns)),
        ("start_ns", column(|row| row.start_ns)),
        ("finish_ns", column(|row| row.finish_ns)),
        ("demand_ns", column(|row| row.demand_ns)),
        ("lock_wait_ns", column(|row| row.lock_wait_ns)),
        ("kind", PyBytes::new(py, &kinds)),
    ])
}

/// Run work in another thread with the interpreter released, until it is done or Ctrl-C is pressed.
fn interruptible<T: Send>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&AtomicBool, &AtomicUsize) -> T + Send,
) -> PyResult<T> {
    let (stop, done) = (AtomicBool::new(false), AtomicUsize::new(0));
    py.detach(|| {
        thread::scope(|scope| {
            let (tell, hear) = channel();
            let (stop, done) = (&stop, &done);
            scope.spawn(move || tell.send(work(stop, done)));
            loop {
                match hear.recv_timeout(CHECK_INTERVAL) {
                    Ok(result) => return Ok(result),
                    Err(RecvTimeoutError::Disconnected) => {
                        return Err(raise("bug", "the simulator ended early"))
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                }
                let heard = Python::attach(|py| {
                    py.check_signals()?;
                    progress
                        .as_ref()
                        .map_or(Ok(()), |told| told.call1(py, (done.load(Ordering::Relaxed),)).map(drop))
                });
                if let Err(error) = heard {
                    stop.store(true, Ordering::Relaxed);
                    return Err(error);
                }
            }
        })
    })
}
