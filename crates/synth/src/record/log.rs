//! The truth about each request: kept in memory that was made and touched before, written at the end.
//!
//! Format of the file: CSV with the header `arrival_ns,start_ns,end_ns,cpu_ns,thread,kind,drawn_ns,waited_ns`, one
//! line a request, in the order of arrival. Stamps are of `CLOCK_MONOTONIC`; `cpu_ns` is empty where it was not read.
//! History: version 1 of the originals' logs had the first six columns (0.1.0); the last two came with the clones.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use hindmost_clock::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::counters::Served;
use crate::SynthError;

/// What one thread keeps.
pub(crate) struct Log {
    rows: Vec<Served>,
    room: usize,
    beyond: u64,
}

impl Log {
    /// Room for so many requests, touched now so that no page is missing later.
    fn new(room: usize) -> Self {
        let nothing = Served {
            arrival: Nanos::MAX,
            start: Nanos::MAX,
            due: Nanos::MAX,
            ended: Nanos::MAX,
            drawn: Nanos::MAX,
            waited: Nanos::MAX,
            cpu: None,
            kind: u32::MAX,
        };
        let mut rows = vec![nothing; room];
        rows.clear();
        Self { rows, room, beyond: 0 }
    }

    #[inline]
    pub(crate) fn keep(&mut self, request: &Served) {
        if self.rows.len() < self.room {
            self.rows.push(*request);
        } else {
            self.beyond += 1;
        }
    }
}

/// What became of a log.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct LogSummary {
    /// The file.
    pub path: PathBuf,
    /// Requests in it.
    pub requests: u64,
    /// Requests that found no room.
    pub beyond: u64,
}

/// A log's file, opened before the first request, and what threads keep until it is written.
pub(crate) struct LogFile {
    path: PathBuf,
    hidden: PathBuf,
    file: File,
    /// Of threads that have not begun.
    rooms: Vec<Log>,
}

impl LogFile {
    /// Opens it under a name of its own, so that the file is whole or absent; each of `threads` has room for so many
    /// requests.
    pub(crate) fn create(path: &Path, threads: usize, room: usize) -> Result<Self, SynthError> {
        let mut hidden = path.as_os_str().to_owned();
        hidden.push(".part");
        let hidden = PathBuf::from(hidden);
        let failed = |source| SynthError::File { path: path.to_owned(), source };
        let file = File::create(&hidden).map_err(failed)?;
        let rooms = (0..threads).map(|_| Log::new(room)).collect();
        Ok(Self { path: path.to_owned(), hidden, file, rooms })
    }

    /// That of one more thread.
    pub(crate) fn thread_log(&mut self) -> Option<Log> {
        self.rooms.pop()
    }

    /// Writes what all threads kept.
    pub(crate) fn write(self, logs: &[Log], kinds: &[&str]) -> Result<LogSummary, SynthError> {
        let mut order: Vec<(u64, u32, u32)> = Vec::with_capacity(logs.iter().map(|log| log.rows.len()).sum());
        for (thread, log) in logs.iter().enumerate() {
            let places = log.rows.iter().enumerate();
            order.extend(places.map(|(place, row)| (row.arrival.0, thread as u32, place as u32)));
        }
        order.sort_unstable();
        let kinds: Vec<String> = kinds.iter().map(|name| quoted(name)).collect();
        let write = || {
            let mut out = BufWriter::new(self.file);
            writeln!(out, "arrival_ns,start_ns,end_ns,cpu_ns,thread,kind,drawn_ns,waited_ns")?;
            for &(arrival, thread, place) in &order {
                let row = &logs[thread as usize].rows[place as usize];
                write!(out, "{arrival},{},{},", row.start.0, row.ended.0)?;
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

/// A name as a field of CSV (RFC 4180).
fn quoted(name: &str) -> String {
    if name.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.to_owned()
    }
}
