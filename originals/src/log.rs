//! Records of all requests: stored in memory that is touched beforehand, and written at the end.
//!
//! File format, version 1: CSV with the header `arrival_ns,start_ns,end_ns,cpu_ns,thread,kind`, one line per
//! request, in the order of arrival. Stamps are from `CLOCK_MONOTONIC`; `cpu_ns` is empty if it was not measured.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::clock::Service;

/// Represents a CPU time that was not measured.
const NONE: u64 = u64::MAX;

/// One request. All fields are zero until its service has ended: no service ends at time zero.
#[derive(Default)]
struct Record {
    arrival_ns: AtomicU64,
    start_ns: AtomicU64,
    end_ns: AtomicU64,
    cpu_ns: AtomicU64,
    /// Thread in the upper half, kind in the lower.
    who: AtomicU64,
}

/// Space for a fixed number of requests. Threads write without a lock: each request has its own place.
pub struct Log {
    records: Vec<Record>,
    beyond: AtomicU64,
}

/// Counts of a written log.
#[derive(Debug)]
pub struct LogCounts {
    /// Number of lines.
    pub requests: u64,
    /// Requests that were served but exceeded the capacity.
    pub beyond: u64,
}

impl Log {
    /// Allocate space for `capacity` requests, 40 bytes each, and touch it so that no page fault occurs later.
    pub fn new(capacity: usize) -> Self {
        let records: Vec<Record> = (0..capacity).map(|_| Record::default()).collect();
        for record in &records {
            record.cpu_ns.store(NONE, Relaxed);
        }
        Self { records, beyond: AtomicU64::new(0) }
    }

    /// Store the record of the request that arrived as number `place`.
    pub fn keep(&self, place: usize, arrival_ns: u64, service: &Service, thread: usize, kind: usize) {
        let Some(record) = self.records.get(place) else {
            self.beyond.fetch_add(1, Relaxed);
            return;
        };
        record.arrival_ns.store(arrival_ns, Relaxed);
        record.start_ns.store(service.start_ns, Relaxed);
        record.cpu_ns.store(service.cpu_ns.unwrap_or(NONE), Relaxed);
        record.who.store((thread as u64) << 32 | kind as u64, Relaxed);
        record.end_ns.store(service.end_ns, Relaxed);
    }

    /// Write the records under a temporary name first, so that the file is complete or absent.
    pub fn write(&self, path: &Path, kinds: &[&str]) -> io::Result<LogCounts> {
        let mut hidden = path.as_os_str().to_owned();
        hidden.push(".part");
        let mut file = BufWriter::new(File::create(&hidden)?);
        writeln!(file, "arrival_ns,start_ns,end_ns,cpu_ns,thread,kind")?;
        let mut requests = 0;
        for record in &self.records {
            let end = record.end_ns.load(Relaxed);
            if end == 0 {
                continue; // never served before the end
            }
            let (arrival, start) = (record.arrival_ns.load(Relaxed), record.start_ns.load(Relaxed));
            let who = record.who.load(Relaxed);
            write!(file, "{arrival},{start},{end},")?;
            match record.cpu_ns.load(Relaxed) {
                NONE => {}
                cpu => write!(file, "{cpu}")?,
            }
            writeln!(file, ",{},{}", who >> 32, kinds[(who & 0xffff_ffff) as usize])?;
            requests += 1;
        }
        file.into_inner()?.sync_all()?;
        std::fs::rename(&hidden, path)?;
        Ok(LogCounts { requests, beyond: self.beyond.load(Relaxed) })
    }
}
