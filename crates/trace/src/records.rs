//! Sampled requests in full, as Parquet.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

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
    writer: SerializedFileWriter<File>,
    framing: Framing,
    waiting: Vec<Record>,
    pub written: u64,
}

impl Records {
    pub fn create(path: &Path, framing: Framing) -> Result<Self, TraceError> {
        let open = || -> Result<SerializedFileWriter<File>, ParquetError> {
            let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
            SerializedFileWriter::new(
                File::create(path)?,
                Arc::new(parse_message_type(COLUMNS)?),
                Arc::new(properties),
            )
        };
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

    fn group(&mut self, rows: &[Record]) -> Result<(), ParquetError> {
        let mut group = Columns { group: self.writer.next_row_group()?, rows };
        for at in 0..6 {
            group.long(|row| row.e[at] as i64)?;
        }
        group.long(|row| row.cookie as i64)?;
        group.int(|row| i32::from(row.port))?;
        group.words(|row| self.framing.kind(usize::from(row.kind)))?;
        group.int(|row| i32::from(row.batch))?;
        group.long(|row| i64::from(row.rx_end))?;
        group.long(|row| i64::from(row.tx_end))?;
        group.int(|row| row.reader as i32)?;
        group.int(|row| row.sender as i32)?;
        for at in 0..4 {
            group.int(|row| i32::from(row.cpus[at]))?;
        }
        group.group.close()?;
        Ok(())
    }
}

/// Columns of a group, one after another.
struct Columns<'w, 'r> {
    group: SerializedRowGroupWriter<'w, File>,
    rows: &'r [Record],
}

impl Columns<'_, '_> {
    fn long(&mut self, value: impl Fn(&Record) -> i64) -> Result<(), ParquetError> {
        self.write::<Int64Type>(value)
    }

    fn int(&mut self, value: impl Fn(&Record) -> i32) -> Result<(), ParquetError> {
        self.write::<Int32Type>(value)
    }

    fn words(&mut self, value: impl Fn(&Record) -> &'static str) -> Result<(), ParquetError> {
        self.write::<ByteArrayType>(|row| ByteArray::from(value(row)))
    }

    fn write<T: DataType>(&mut self, value: impl Fn(&Record) -> T::T) -> Result<(), ParquetError> {
        let values: Vec<T::T> = self.rows.iter().map(value).collect();
        let mut column = self.group.next_column()?.expect("as many columns as are declared");
        column.typed::<T>().write_batch(&values, None, None)?;
        column.close()
    }
}

fn failed(path: &Path, error: ParquetError) -> TraceError {
    TraceError::Records { path: path.to_owned(), source: io::Error::other(error) }
}
