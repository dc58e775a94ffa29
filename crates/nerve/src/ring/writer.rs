//! Writes the ring.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use hindmost_sys::file;
use serde_json::{json, Value};

use super::foretold::{Before, Sampled};
use super::{
    check, reader, varint, BLOCK, BLOCK_HEAD, EVENT, FORETOLD, HEADER, HISTOGRAM, MAGIC, RECORD_EXTRA, SCHEMA,
};
use crate::counters::{Kind, Values, COUNTERS};
use crate::NerveError;

/// A ring that is being written; the lock goes with it.
pub(crate) struct Ring {
    file: File,
    path: String,
    blocks: u64,
    lap: u64,
    at: usize,
    /// Of this block; none before its first sample.
    before: Option<Before>,
    totals: Vec<bool>,
    buffer: Vec<u8>,
    /// Bytes written since the start.
    pub(crate) written: u64,
}

impl Ring {
    /// Makes the ring, or goes on with one of the same shape; all of its size is taken now. Where that fails, no new
    /// file stays.
    pub(crate) fn open(path: &Path, bytes: u64, about: &Value) -> Result<Self, NerveError> {
        let is_new = !path.exists();
        Self::prepare(path, bytes, about).inspect_err(|error| {
            if is_new && !matches!(error, NerveError::Held(_)) {
                let _ = fs::remove_file(path);
            }
        })
    }

    fn prepare(path: &Path, bytes: u64, about: &Value) -> Result<Self, NerveError> {
        let name = path.display().to_string();
        let failed = |doing| {
            let file = name.clone();
            move |source| NerveError::Ring { file, doing, source }
        };
        let blocks = (bytes.saturating_sub(HEADER as u64) / BLOCK as u64).max(4);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(path).map_err(failed("it cannot be made"))?;
        if !file::try_lock(&file) {
            return Err(NerveError::Held(name));
        }
        let header = header(blocks, about);
        let before = reader::shape(&file);
        let names: Vec<&str> = COUNTERS.iter().map(|counter| counter.name).collect();
        let same = before.as_ref().is_some_and(|shape| shape.blocks == blocks && shape.names == names);
        let lap = if same { before.map_or(0, |shape| shape.last_lap + 1) } else { 1 };
        if !same && file.metadata().is_ok_and(|facts| facts.len() > 0) {
            // Of another shape, or no ring at all: kept beside the new one.
            fs::rename(path, path.with_extension("old")).map_err(failed("the old one cannot be kept"))?;
            file = options.open(path).map_err(failed("it cannot be made"))?;
            if !file::try_lock(&file) {
                return Err(NerveError::Held(name));
            }
        }
        file::allocate(&file, HEADER as u64 + blocks * BLOCK as u64)
            .map_err(failed("there is no room for it"))?;
        file.write_all_at(&header, 0).map_err(failed("it cannot be written"))?;
        let written = 0;
        Ok(Self {
            file,
            path: name,
            blocks,
            lap,
            at: BLOCK,
            before: None,
            totals: totals(),
            buffer: Vec::with_capacity(BLOCK),
            written,
        })
    }

    fn failed(&self, source: io::Error) -> NerveError {
        NerveError::Ring { file: self.path.clone(), doing: "it cannot be written", source }
    }

    /// One sample: since when (monotonic nanoseconds), by which wall clock (nanoseconds since 1970).
    pub(crate) fn sample(&mut self, at: u64, real: u64, values: &Values) -> Result<(), NerveError> {
        // Wall clock against monotonic: constant but for steps and slewing.
        let (at_us, offset_us) = ((at / 1000) as i64, (real as i64 - at as i64) / 1000);
        let sample = Sampled { at_us, offset_us, values: values.0.clone() };
        let mut payload = Vec::with_capacity(2 * COUNTERS.len());
        let mut before = self.pack(&sample, &mut payload);
        if self.at + payload.len() + RECORD_EXTRA > BLOCK {
            // The next block begins with it.
            self.before = None;
            payload.clear();
            before = self.pack(&sample, &mut payload);
        }
        self.record(FORETOLD, &payload)?;
        self.before = Some(before);
        Ok(())
    }

    fn pack(&self, sample: &Sampled, into: &mut Vec<u8>) -> Before {
        let first = self.before.is_none() || self.at >= BLOCK;
        let mut before = match &self.before {
            Some(before) if !first => before.clone(),
            _ => Before::nothing(COUNTERS.len()),
        };
        before.put(sample, &self.totals, first, into);
        before
    }

    /// Something worth telling, as JSON.
    pub(crate) fn event(&mut self, at: u64, event: &Value) -> Result<(), NerveError> {
        let mut payload = Vec::new();
        varint::put(&mut payload, at / 1000);
        payload.extend_from_slice(event.to_string().as_bytes());
        payload.truncate(BLOCK / 4);
        self.record(EVENT, &payload)
    }

    /// Counts by bin, ascending, of latencies until `at`.
    pub(crate) fn histogram(&mut self, at: u64, bins: &[(u64, u64)]) -> Result<(), NerveError> {
        let mut payload = Vec::new();
        varint::put(&mut payload, at / 1000);
        let mut before = 0;
        for (bin, count) in bins {
            varint::put(&mut payload, bin - before);
            varint::put(&mut payload, *count);
            before = *bin;
        }
        self.record(HISTOGRAM, &payload)
    }

    fn record(&mut self, kind: u8, payload: &[u8]) -> Result<(), NerveError> {
        self.buffer.clear();
        if self.at + payload.len() + RECORD_EXTRA > BLOCK {
            if self.at < BLOCK || self.written > 0 {
                self.lap += 1;
            }
            self.at = 0;
            self.before = None;
            self.buffer.extend_from_slice(MAGIC);
            self.buffer.extend_from_slice(&self.lap.to_le_bytes());
        }
        let begin = self.buffer.len();
        self.buffer.extend_from_slice(&(payload.len() as u16).to_le_bytes());
        self.buffer.push(kind);
        self.buffer.extend_from_slice(payload);
        let sum = check(self.lap, &self.buffer[begin..]);
        self.buffer.extend_from_slice(&sum.to_le_bytes());
        let block = HEADER as u64 + (self.lap % self.blocks) * BLOCK as u64;
        self.file.write_all_at(&self.buffer, block + self.at as u64).map_err(|error| self.failed(error))?;
        self.at += self.buffer.len();
        self.written += self.buffer.len() as u64;
        debug_assert!(self.at >= BLOCK_HEAD);
        Ok(())
    }
}

fn totals() -> Vec<bool> {
    COUNTERS.iter().map(|counter| counter.kind == Kind::Total).collect()
}

fn header(blocks: u64, about: &Value) -> Vec<u8> {
    let names: Vec<&str> = COUNTERS.iter().map(|counter| counter.name).collect();
    let totals = totals();
    let text = json!({
        "schema": SCHEMA, "blocks": blocks, "block": BLOCK, "names": names, "totals": totals, "about": about,
    });
    let mut bytes = text.to_string().into_bytes();
    bytes.resize(HEADER - 1, b' ');
    bytes.push(b'\n');
    bytes
}
