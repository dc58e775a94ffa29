//! Latencies as a log that grows while the trace runs: `hindmost watch start --log` follows it.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::layout::Record;
use crate::TraceError;

/// A line a request: when it left, in ns of `CLOCK_MONOTONIC`, and its latency from the network to there, in us.
pub struct LatencyLog {
    path: PathBuf,
    file: BufWriter<File>,
}

impl LatencyLog {
    pub fn create(path: &Path) -> Result<Self, TraceError> {
        let file = File::create(path).map_err(|source| failed(path, source))?;
        Ok(Self { path: path.to_owned(), file: BufWriter::new(file) })
    }

    pub fn add(&mut self, record: &Record) -> Result<(), TraceError> {
        let [came, .., left] = record.e;
        let us = left.saturating_sub(came) as f64 / 1e3;
        writeln!(self.file, "{left} {us}").map_err(|source| failed(&self.path, source))
    }

    /// Whoever follows it sees whole lines.
    pub fn flush(&mut self) -> Result<(), TraceError> {
        self.file.flush().map_err(|source| failed(&self.path, source))
    }
}

fn failed(path: &Path, source: std::io::Error) -> TraceError {
    TraceError::Records { path: path.to_owned(), source }
}
