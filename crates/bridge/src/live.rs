//! Counters of clients that are read while they run.

use std::os::fd::{AsRawFd, OwnedFd};

use hindmost_load::record::{LiveReader, LiveSpan};
use pyo3::prelude::*;

use crate::fault::raise;

/// Counters of a number of workers, in a file that their clients map.
#[pyclass(module = "hindmost._engine")]
pub struct LiveCounters {
    file: OwnedFd,
    reader: LiveReader,
}

#[pymethods]
impl LiveCounters {
    #[new]
    fn new(workers: usize) -> PyResult<Self> {
        let (file, reader) = LiveReader::create(workers).map_err(|e| raise("host", &e.to_string()))?;
        Ok(Self { file, reader })
    }

    /// Return the descriptor of the file.
    fn fileno(&self) -> i32 {
        self.file.as_raw_fd()
    }

    /// Return the requests sent, completed and failed since the last reading, and the p50 and p99 of latency in
    /// nanoseconds, if any request completed.
    fn read(&mut self) -> (u64, u64, u64, Option<(u64, u64)>) {
        let LiveSpan { sent, completed, failed, quantiles_ns } = self.reader.read();
        (sent, completed, failed, quantiles_ns)
    }
}
