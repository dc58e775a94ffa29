//! The writer of the ring.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use hindmost_sys::file;
use serde_json::{json, Value};

use super::prediction::{Predictor, Sample};
use super::{
    checksum, reader, varint, BLOCK, BLOCK_HEAD, EVENT, HEADER, HISTOGRAM, MAGIC, PREDICTED, RECORD_EXTRA,
    SCHEMA,
};
use crate::counters::{Kind, Values, COUNTERS};
use crate::NerveError;

/// A ring open for writing; it holds a file lock.
pub(crate) struct Ring {
    file: File,
    path: String,
    blocks: u64,
    lap: u64,
    at: usize,
    /// Prediction within the current block; None before its first sample.
    predictor: Option<Predictor>,
    totals: Vec<bool>,
    buffer: Vec<u8>,
    /// Bytes written since the start.
    pub(crate) bytes_written: u64,
}

impl Ring {
    /// Create a ring, or continue one of the same layout, and allocate its whole size. If that fails, remove a new
    /// file.
    pub(crate) fn open(path: &Path, bytes: u64, metadata: &Value) -> Result<Self, NerveError> {
        let is_new = !path.exists();
        Self::prepare(path, bytes, metadata).inspect_err(|error| {
            if is_new && !matches!(error, NerveError::Held(_)) {
                let _ = fs::remove_file(path);
            }
        })
    }

    fn prepare(path: &Path, bytes: u64, metadata: &Value) -> Result<Self, NerveError> {
        let name = path.display().to_string();
        let ring_error = |action| {
            let file = name.clone();
            move |source| NerveError::Ring { file, action, source }
        };
        let blocks = (bytes.saturating_sub(HEADER as u64) / BLOCK as u64).max(4);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(path).map_err(ring_error("cannot create it"))?;
        if !file::try_lock(&file) {
            return Err(NerveError::Held(name));
        }
        let header = header(blocks, metadata);
        let existing = reader::read_layout(&file);
        let names: Vec<&str> = COUNTERS.iter().map(|counter| counter.name).collect();
        let is_same =
            existing.as_ref().is_some_and(|layout| layout.blocks == blocks && layout.names == names);
        let lap = if is_same { existing.map_or(0, |layout| layout.last_lap + 1) } else { 1 };
        if !is_same && file.metadata().is_ok_and(|facts| facts.len() > 0) {
            // Keep a file with another layout, or a file that is not a ring, under another name.
            fs::rename(path, path.with_extension("old")).map_err(ring_error("cannot keep the old file"))?;
            file = options.open(path).map_err(ring_error("cannot create it"))?;
            if !file::try_lock(&file) {
                return Err(NerveError::Held(name));
            }
        }
        file::allocate(&file, HEADER as u64 + blocks * BLOCK as u64)
            .map_err(ring_error("not enough disk space"))?;
        file.write_all_at(&header, 0).map_err(ring_error("cannot write it"))?;
        Ok(Self {
            file,
            path: name,
            blocks,
            lap,
            at: BLOCK,
            predictor: None,
            totals: totals(),
            buffer: Vec::with_capacity(BLOCK),
            bytes_written: 0,
        })
    }

    fn write_error(&self, source: io::Error) -> NerveError {
        NerveError::Ring { file: self.path.clone(), action: "cannot write it", source }
    }

    /// Write a sample taken at `at` (monotonic nanoseconds) and `real` (nanoseconds since 1970).
    pub(crate) fn sample(&mut self, at: u64, real: u64, values: &Values) -> Result<(), NerveError> {
        // The difference of the clocks is constant except for steps and slewing.
        let (at_us, offset_us) = ((at / 1000) as i64, (real as i64 - at as i64) / 1000);
        let sample = Sample { at_us, offset_us, values: values.0.clone() };
        let mut payload = Vec::with_capacity(2 * COUNTERS.len());
        let mut predictor = self.pack(&sample, &mut payload);
        if self.at + payload.len() + RECORD_EXTRA > BLOCK {
            // The sample starts the next block.
            self.predictor = None;
            payload.clear();
            predictor = self.pack(&sample, &mut payload);
        }
        self.record(PREDICTED, &payload)?;
        self.predictor = Some(predictor);
        Ok(())
    }

    fn pack(&self, sample: &Sample, into: &mut Vec<u8>) -> Predictor {
        let first = self.predictor.is_none() || self.at >= BLOCK;
        let mut predictor = match &self.predictor {
            Some(predictor) if !first => predictor.clone(),
            _ => Predictor::new(COUNTERS.len()),
        };
        predictor.encode(sample, &self.totals, first, into);
        predictor
    }

    /// Write an event as JSON.
    pub(crate) fn event(&mut self, at: u64, event: &Value) -> Result<(), NerveError> {
        let mut payload = Vec::new();
        varint::write(&mut payload, at / 1000);
        payload.extend_from_slice(event.to_string().as_bytes());
        payload.truncate(BLOCK / 4);
        self.record(EVENT, &payload)
    }

    /// Write a histogram of latencies until `at`: counts by bin, in ascending order.
    pub(crate) fn histogram(&mut self, at: u64, bins: &[(u64, u64)]) -> Result<(), NerveError> {
        let mut payload = Vec::new();
        varint::write(&mut payload, at / 1000);
        let mut before = 0;
        for (bin, count) in bins {
            varint::write(&mut payload, bin - before);
            varint::write(&mut payload, *count);
            before = *bin;
        }
        self.record(HISTOGRAM, &payload)
    }

    fn record(&mut self, kind: u8, payload: &[u8]) -> Result<(), NerveError> {
        self.buffer.clear();
        if self.at + payload.len() + RECORD_EXTRA > BLOCK {
            if self.at < BLOCK || self.bytes_written > 0 {
                self.lap += 1;
            }
            self.at = 0;
            self.predictor = None;
            self.buffer.extend_from_slice(MAGIC);
            self.buffer.extend_from_slice(&self.lap.to_le_bytes());
        }
        let begin = self.buffer.len();
        self.buffer.extend_from_slice(&(payload.len() as u16).to_le_bytes());
        self.buffer.push(kind);
        self.buffer.extend_from_slice(payload);
        let sum = checksum(self.lap, &self.buffer[begin..]);
        self.buffer.extend_from_slice(&sum.to_le_bytes());
        let block = HEADER as u64 + (self.lap % self.blocks) * BLOCK as u64;
        self.file
            .write_all_at(&self.buffer, block + self.at as u64)
            .map_err(|error| self.write_error(error))?;
        self.at += self.buffer.len();
        self.bytes_written += self.buffer.len() as u64;
        debug_assert!(self.at >= BLOCK_HEAD);
        Ok(())
    }
}

fn totals() -> Vec<bool> {
    COUNTERS.iter().map(|counter| counter.kind == Kind::Total).collect()
}

fn header(blocks: u64, metadata: &Value) -> Vec<u8> {
    let names: Vec<&str> = COUNTERS.iter().map(|counter| counter.name).collect();
    let totals = totals();
    let text = json!({
        "schema": SCHEMA, "blocks": blocks, "block": BLOCK, "names": names, "totals": totals, "about": metadata,
    });
    let mut bytes = text.to_string().into_bytes();
    bytes.resize(HEADER - 1, b' ');
    bytes.push(b'\n');
    bytes
}
