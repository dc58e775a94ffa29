//! Sampled requests in full, as a Parquet file.

use std::fs::File;
use std::path::{Path, PathBuf};

use hindmost_table::{TableError, Writer};

use crate::framing::Framing;
use crate::layout::Record;
use crate::request_name::{request_name, Head};
use crate::TraceError;

/// Columns of the file. Times are nanoseconds of `CLOCK_MONOTONIC`. `request_end` and `response_end` are the TCP
/// sequence numbers after the last byte. `reader` and `sender` are threads. `request` is its method and path, command or
/// first word of SQL.
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
    required binary request (UTF8);
}";

/// Rows per group of the file; a group is kept in memory until it is written.
const GROUP_ROWS: usize = 1 << 16;

pub struct Records {
    path: PathBuf,
    writer: Writer<'static>,
    framing: Framing,
    pending: Vec<(Record, String)>,
    pub written: u64,
}

impl Records {
    pub fn create(path: &Path, framing: Framing) -> Result<Self, TraceError> {
        let open = || Writer::new(Box::new(File::create(path)?), COLUMNS);
        let writer = open().map_err(|e| records_error(path, e))?;
        let pending = Vec::with_capacity(GROUP_ROWS);
        Ok(Self { path: path.to_owned(), writer, framing, pending, written: 0 })
    }

    pub fn add(&mut self, record: Record, head: Option<Head>) -> Result<(), TraceError> {
        let name = head.map_or_else(String::new, |head| request_name(self.framing, &head));
        self.pending.push((record, name));
        if self.pending.len() < GROUP_ROWS {
            return Ok(());
        }
        self.flush()
    }

    pub fn finish(mut self) -> Result<u64, TraceError> {
        self.flush()?;
        self.writer.finish().map_err(|e| records_error(&self.path, e))?;
        Ok(self.written)
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        if !self.pending.is_empty() {
            let rows = std::mem::take(&mut self.pending);
            self.group(&rows).map_err(|e| records_error(&self.path, e))?;
            self.written += rows.len() as u64;
            self.pending = rows;
            self.pending.clear();
        }
        Ok(())
    }

    fn group(&mut self, rows: &[(Record, String)]) -> Result<(), TableError> {
        let mut group = self.writer.begin_group()?;
        for stamp in 0..6 {
            group.int64(rows.iter().map(|(row, _)| row.e[stamp] as i64))?;
        }
        group.int64(rows.iter().map(|(row, _)| row.cookie as i64))?;
        group.int32(rows.iter().map(|(row, _)| i32::from(row.port)))?;
        group.text(rows.iter().map(|(row, _)| self.framing.kind(usize::from(row.kind))))?;
        group.int32(rows.iter().map(|(row, _)| i32::from(row.batch)))?;
        group.int64(rows.iter().map(|(row, _)| i64::from(row.rx_end)))?;
        group.int64(rows.iter().map(|(row, _)| i64::from(row.tx_end)))?;
        group.int32(rows.iter().map(|(row, _)| row.reader as i32))?;
        group.int32(rows.iter().map(|(row, _)| row.sender as i32))?;
        for cpu in 0..4 {
            group.int32(rows.iter().map(|(row, _)| i32::from(row.cpus[cpu])))?;
        }
        group.text(rows.iter().map(|(_, name)| name.as_str()))?;
        group.close()
    }
}

fn records_error(path: &Path, error: TableError) -> TraceError {
    TraceError::Records { path: path.to_owned(), source: error.into() }
}
