//! A log of latencies that grows while the trace runs: `hindmost watch start --log` can follow it.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::layout::Record;
use crate::TraceError;

/// One line per request: when its response left, in ns of `CLOCK_MONOTONIC`, and its latency from the network to
/// there, in µs.
pub struct LatencyLog {
    path: PathBuf,
    file: BufWriter<File>,
}

impl LatencyLog {
    pub fn create(path: &Path) -> Result<Self, TraceError> {
        let file = File::create(path).map_err(|source| log_error(path, source))?;
        Ok(Self { path: path.to_owned(), file: BufWriter::new(file) })
    }

    pub fn add(&mut self, record: &Record) -> Result<(), TraceError> {
        let [arrived_ns, .., left_ns] = record.e;
        let us = left_ns.saturating_sub(arrived_ns) as f64 / 1e3;
        writeln!(self.file, "{left_ns} {us}").map_err(|source| log_error(&self.path, source))
    }

    /// Flush complete lines for readers that follow the log.
    pub fn flush(&mut self) -> Result<(), TraceError> {
        self.file.flush().map_err(|source| log_error(&self.path, source))
    }
}

fn log_error(path: &Path, source: std::io::Error) -> TraceError {
    TraceError::Records { path: path.to_owned(), source }
}
