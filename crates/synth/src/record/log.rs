//! The log of all requests. It is kept in memory that is allocated and touched in advance, and written at the end.
//!
//! File format: CSV with the header `arrival_ns,start_ns,end_ns,cpu_ns,thread,kind,drawn_ns,waited_ns`, one line per
//! request, in order of arrival. Time stamps are of `CLOCK_MONOTONIC`; `cpu_ns` is empty if it was not read. Logs of
//! the originals have only the first six columns.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use hindmost_clock::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::counters::ServedRequest;
use crate::SynthError;

/// The log of one thread.
pub(crate) struct Log {
    rows: Vec<ServedRequest>,
    capacity: usize,
    beyond: u64,
}

impl Log {
    /// Allocate a log, and touch all of its pages now to avoid page faults later.
    fn new(capacity: usize) -> Self {
        let nothing = ServedRequest {
            arrival: Nanos::MAX,
            start: Nanos::MAX,
            scheduled: Nanos::MAX,
            completed: Nanos::MAX,
            drawn: Nanos::MAX,
            waited: Nanos::MAX,
            cpu: None,
            kind: u32::MAX,
        };
        let mut rows = vec![nothing; capacity];
        rows.clear();
        Self { rows, capacity, beyond: 0 }
    }

    #[inline]
    pub(crate) fn keep(&mut self, request: &ServedRequest) {
        if self.rows.len() < self.capacity {
            self.rows.push(*request);
        } else {
            self.beyond += 1;
        }
    }
}

/// Summary of a written log.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct LogSummary {
    /// Path of the file.
    pub path: PathBuf,
    /// Number of requests in it.
    pub requests: u64,
    /// Number of requests that did not fit.
    pub beyond: u64,
}

/// The file of a log, opened before the first request, and the threads' logs until they are written.
pub(crate) struct LogFile {
    path: PathBuf,
    hidden: PathBuf,
    file: File,
    /// Logs of threads that have not started.
    logs_to_start: Vec<Log>,
}

impl LogFile {
    /// Create the file under a temporary name, so that the final file is complete or absent. Each thread may log
    /// `capacity` requests.
    pub(crate) fn create(path: &Path, threads: usize, capacity: usize) -> Result<Self, SynthError> {
        let mut hidden = path.as_os_str().to_owned();
        hidden.push(".part");
        let hidden = PathBuf::from(hidden);
        let failed = |source| SynthError::File { path: path.to_owned(), source };
        let file = File::create(&hidden).map_err(failed)?;
        let logs_to_start = (0..threads).map(|_| Log::new(capacity)).collect();
        Ok(Self { path: path.to_owned(), hidden, file, logs_to_start })
    }

    /// Return the log of the next thread.
    pub(crate) fn thread_log(&mut self) -> Option<Log> {
        self.logs_to_start.pop()
    }

    /// Write the logs of all threads.
    pub(crate) fn write(self, logs: &[Log], kinds: &[&str]) -> Result<LogSummary, SynthError> {
        let mut order: Vec<(u64, u32, u32)> = Vec::with_capacity(logs.iter().map(|log| log.rows.len()).sum());
        for (thread, log) in logs.iter().enumerate() {
            let places = log.rows.iter().enumerate();
            order.extend(places.map(|(place, row)| (row.arrival.0, thread as u32, place as u32)));
        }
        order.sort_unstable();
        let kinds: Vec<String> = kinds.iter().map(|name| quote(name)).collect();
        let write = || {
            let mut out = BufWriter::new(self.file);
            writeln!(out, "arrival_ns,start_ns,end_ns,cpu_ns,thread,kind,drawn_ns,waited_ns")?;
            for &(arrival, thread, place) in &order {
                let row = &logs[thread as usize].rows[place as usize];
                write!(out, "{arrival},{},{},", row.start.0, row.completed.0)?;
                if let Some(cpu) = row.cpu {
                    write!(out, "{}", cpu.0)?;
                }
                writeln!(out, ",{thread},{},{},{}", kinds[row.kind as usize], row.drawn.0, row.waited.0)?;
            }
            out.into_inner()?.sync_all()?;
            std::fs::rename(&self.hidden, &self.path)
        };
        write().map_err(|source: std::io::Error| SynthError::File { path: self.path.clone(), source })?;
        let beyond = logs.iter().map(|log| log.beyond).sum();
        Ok(LogSummary { path: self.path, requests: order.len() as u64, beyond })
    }
}

/// Quote a name for CSV (RFC 4180).
fn quote(name: &str) -> String {
    if name.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.to_owned()
    }
}
