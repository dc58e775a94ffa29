//! Reads a ring, whole or cut off, while it is written or years later.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use hindmost_sys::file::{next_data, open_regular};
use serde_json::Value;

use super::foretold::Before;
use super::{
    check, varint, BLOCK, BLOCK_HEAD, EVENT, FORETOLD, HEADER, HISTOGRAM, MAGIC, RECORD_EXTRA, SAMPLE, SCHEMA,
};
use crate::NerveError;

/// All that a ring holds, the oldest first.
#[derive(Debug, Default)]
pub struct Frames {
    /// Its header.
    pub header: Value,
    /// Names of the values.
    pub names: Vec<String>,
    /// Which of them only grow.
    totals: Vec<bool>,
    /// Monotonic microseconds of each sample.
    pub at_us: Vec<i64>,
    /// Wall clock minus monotonic, microseconds.
    pub offset_us: Vec<i64>,
    /// Sample by sample, each with as many values as there are names.
    pub values: Vec<i64>,
    /// When, and what.
    pub events: Vec<(i64, String)>,
    /// Until when, and counts by bin.
    pub histograms: Vec<(i64, Vec<(u64, u64)>)>,
    /// The file is shorter than its header says: something cut it off.
    pub cut: bool,
}

pub(super) struct Shape {
    pub(super) blocks: u64,
    pub(super) names: Vec<String>,
    pub(super) last_lap: u64,
}

fn header(file: &File) -> Result<(Value, Vec<String>, u64), String> {
    let mut bytes = vec![0; HEADER];
    file.read_exact_at(&mut bytes, 0).map_err(|error| format!("it has no header ({error})"))?;
    let text = String::from_utf8_lossy(&bytes);
    let header: Value =
        serde_json::from_str(text.trim_end()).map_err(|_| "its header is no JSON".to_owned())?;
    if header["schema"] != SCHEMA {
        return Err(format!("it says {}, and this reads {SCHEMA}", header["schema"]));
    }
    let names = header["names"].as_array().map(Vec::as_slice).unwrap_or_default();
    let names: Vec<String> = names.iter().filter_map(|name| Some(name.as_str()?.to_owned())).collect();
    let blocks = header["blocks"].as_u64().filter(|blocks| (1..1 << 24).contains(blocks));
    Ok((header.clone(), names, blocks.ok_or("it says no number of blocks")?))
}

/// What a writer must know to go on.
pub(super) fn shape(file: &File) -> Option<Shape> {
    let (_, names, blocks) = header(file).ok()?;
    let last_lap = written(file, blocks).map(|(_, lap)| lap).max().unwrap_or(0);
    Some(Shape { blocks, names, last_lap })
}

/// Each block that was written, with its lap; holes are passed over.
fn written(file: &File, blocks: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
    let mut next = 0;
    std::iter::from_fn(move || loop {
        let from = HEADER as u64 + next * BLOCK as u64;
        let data = next_data(file, from)?;
        let block = next.max(data.saturating_sub(HEADER as u64) / BLOCK as u64);
        if block >= blocks {
            return None;
        }
        next = block + 1;
        if let Some(lap) = lap(file, block) {
            return Some((block, lap));
        }
    })
}

fn lap(file: &File, block: u64) -> Option<u64> {
    let mut head = [0; BLOCK_HEAD];
    file.read_exact_at(&mut head, HEADER as u64 + block * BLOCK as u64).ok()?;
    (&head[..8] == MAGIC).then(|| u64::from_le_bytes(head[8..].try_into().unwrap_or_default()))
}

/// Reads a ring; what is missing at its end, or was being written, is not there.
///
/// # Errors
/// [`NerveError::Ring`] where the file cannot be read, [`NerveError::NoRing`] where it is none.
pub fn read(path: &Path) -> Result<Frames, NerveError> {
    let name = path.display().to_string();
    let file = open_regular(path).map_err(|source| NerveError::Ring {
        file: name.clone(),
        doing: "it cannot be read",
        source,
    })?;
    let (header, names, blocks) = header(&file).map_err(|why| NerveError::NoRing { file: name, why })?;
    let cut = file.metadata().is_ok_and(|facts| facts.len() < HEADER as u64 + blocks * BLOCK as u64);
    let is_total = |at: usize| header["totals"][at].as_bool().unwrap_or(false);
    let totals = (0..names.len()).map(is_total).collect();
    let mut frames = Frames { header, names, totals, cut, ..Frames::default() };
    let mut order: Vec<(u64, u64)> = written(&file, blocks).map(|(at, lap)| (lap, at)).collect();
    order.sort_unstable();
    let mut bytes = vec![0; BLOCK];
    for (lap, block) in order {
        let length = available(&file, &mut bytes, HEADER as u64 + block * BLOCK as u64);
        frames.block(lap, &bytes[..length]);
    }
    Ok(frames)
}

fn available(file: &File, bytes: &mut [u8], from: u64) -> usize {
    let mut length = 0;
    while length < bytes.len() {
        match file.read_at(&mut bytes[length..], from + length as u64) {
            Ok(0) | Err(_) => break,
            Ok(more) => length += more,
        }
    }
    length
}

impl Frames {
    fn block(&mut self, lap: u64, bytes: &[u8]) {
        let mut last: Option<(i64, i64, Vec<i64>)> = None;
        let mut before: Option<Before> = None;
        let mut rest = bytes.get(BLOCK_HEAD..).unwrap_or_default();
        while rest.len() >= RECORD_EXTRA {
            let length = usize::from(u16::from_le_bytes([rest[0], rest[1]]));
            if length == 0 {
                break;
            }
            let end = 3 + length;
            // Cut off here, or what an earlier lap left.
            if rest.get(end..end + 4) != Some(&check(lap, rest.get(..end).unwrap_or_default()).to_le_bytes())
            {
                break;
            }
            let payload = &rest[3..end];
            let taken = match rest[2] {
                SAMPLE => self.sample(payload, &mut last),
                FORETOLD => self.foretold(payload, &mut before),
                EVENT => self.event(payload),
                HISTOGRAM => self.histogram(payload),
                _ => Some(()), // of a later version
            };
            if taken.is_none() {
                break;
            }
            rest = &rest[end + 4..];
        }
    }

    fn sample(&mut self, mut payload: &[u8], last: &mut Option<(i64, i64, Vec<i64>)>) -> Option<()> {
        let (whole, rest) = payload.split_first()?;
        payload = rest;
        let (before, shift, zero) = match last.take() {
            Some(last) if *whole == 0 => last,
            _ if *whole == 1 => (0, 0, vec![0; self.names.len()]),
            _ => return None,
        };
        let at = before.wrapping_add(varint::take(&mut payload)? as i64);
        let offset = shift.wrapping_add(varint::take_signed(&mut payload)?);
        let mut values = Vec::with_capacity(zero.len());
        for before in zero {
            values.push(before.wrapping_add(varint::take_signed(&mut payload)?));
        }
        self.at_us.push(at);
        self.offset_us.push(offset);
        self.values.extend_from_slice(&values);
        *last = Some((at, offset, values));
        Some(())
    }

    fn foretold(&mut self, payload: &[u8], before: &mut Option<Before>) -> Option<()> {
        if payload.first() == Some(&1) {
            *before = Some(Before::nothing(self.names.len()));
        }
        let sample = before.as_mut()?.take(payload, &self.totals)?;
        self.at_us.push(sample.at_us);
        self.offset_us.push(sample.offset_us);
        self.values.extend_from_slice(&sample.values);
        Some(())
    }

    fn event(&mut self, mut payload: &[u8]) -> Option<()> {
        let at = varint::take(&mut payload)? as i64;
        self.events.push((at, String::from_utf8_lossy(payload).into_owned()));
        Some(())
    }

    fn histogram(&mut self, mut payload: &[u8]) -> Option<()> {
        let at = varint::take(&mut payload)? as i64;
        let (mut bins, mut bin) = (Vec::new(), 0u64);
        while !payload.is_empty() {
            bin = bin.checked_add(varint::take(&mut payload)?)?;
            bins.push((bin, varint::take(&mut payload)?));
        }
        self.histograms.push((at, bins));
        Some(())
    }
}
