//! Sampled requests in full, as Parquet.

use std::fs::File;
use std::path::{Path, PathBuf};

use hindmost_table::{TableError, Writer};

use crate::framing::Framing;
use crate::layout::Record;
use crate::TraceError;

/// Times are nanoseconds of `CLOCK_MONOTONIC`. `request_end` and `response_end` are TCP sequence numbers behind the last
/// byte. `reader` and `sender` are threads.
const COLUMNS: &str = "message request {
    required int64 network_ns;
    required int64 readable_ns;
    required int64 read_ns;
    required int64 started_ns;
    required int64 responded_ns;
    required int64 left_ns;
    required int64 connection;
    required int32 client_port;
    required binary kind (UTF8);
    required int32 batch;
    required int64 request_end;
    required int64 response_end;
    required int32 reader;
    required int32 sender;
    required int32 cpu_arrived;
    required int32 cpu_read;
    required int32 cpu_sent;
    required int32 cpu_left;
}";

/// Rows that are kept in memory: a group of the file.
const GROUP: usize = 1 << 16;

pub struct Records {
    path: PathBuf,
    writer: Writer<'static>,
    framing: Framing,
    waiting: Vec<Record>,
    pub written: u64,
}

impl Records {
    pub fn create(path: &Path, framing: Framing) -> Result<Self, TraceError> {
        let open = || Writer::new(Box::new(File::create(path)?), COLUMNS);
        let writer = open().map_err(|e| failed(path, e))?;
        let waiting = Vec::with_capacity(GROUP);
        Ok(Self { path: path.to_owned(), writer, framing, waiting, written: 0 })
    }

    pub fn add(&mut self, record: Record) -> Result<(), TraceError> {
        self.waiting.push(record);
        if self.waiting.len() < GROUP {
            return Ok(());
        }
        self.flush()
    }

    pub fn finish(mut self) -> Result<u64, TraceError> {
        self.flush()?;
        self.writer.finish().map_err(|e| failed(&self.path, e))?;
        Ok(self.written)
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        if !self.waiting.is_empty() {
            let rows = std::mem::take(&mut self.waiting);
            self.group(&rows).map_err(|e| failed(&self.path, e))?;
            self.written += rows.len() as u64;
            self.waiting = rows;
            self.waiting.clear();
        }
        Ok(())
    }

    fn group(&mut self, rows: &[Record]) -> Result<(), TableError> {
        let mut group = self.writer.begin_group()?;
        for at in 0..6 {
            group.int64(rows.iter().map(|row| row.e[at] as i64))?;
        }
        group.int64(rows.iter().map(|row| row.cookie as i64))?;
        group.int32(rows.iter().map(|row| i32::from(row.port)))?;
        group.text(rows.iter().map(|row| self.framing.kind(usize::from(row.kind))))?;
        group.int32(rows.iter().map(|row| i32::from(row.batch)))?;
        group.int64(rows.iter().map(|row| i64::from(row.rx_end)))?;
        group.int64(rows.iter().map(|row| i64::from(row.tx_end)))?;
        group.int32(rows.iter().map(|row| row.reader as i32))?;
        group.int32(rows.iter().map(|row| row.sender as i32))?;
        for at in 0..4 {
            group.int32(rows.iter().map(|row| i32::from(row.cpus[at])))?;
        }
        group.close()
    }
}

fn failed(path: &Path, error: TableError) -> TraceError {
    TraceError::Records { path: path.to_owned(), source: error.into() }
}
