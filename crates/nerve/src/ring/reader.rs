//! The reader of rings, complete or truncated, during or after writing.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use hindmost_sys::file::{next_data, open_regular};
use serde_json::Value;

use super::prediction::Predictor;
use super::{
    checksum, varint, BLOCK, BLOCK_HEAD, EVENT, HEADER, HISTOGRAM, MAGIC, PREDICTED, RECORD_EXTRA, SAMPLE,
    SCHEMA,
};
use crate::NerveError;

/// Contents of a ring, oldest first.
#[derive(Debug, Default)]
pub struct Frames {
    /// Header.
    pub header: Value,
    /// Names of the values.
    pub names: Vec<String>,
    /// Whether each value is a total.
    totals: Vec<bool>,
    /// Time of each sample, in monotonic microseconds.
    pub at_us: Vec<i64>,
    /// Wall clock minus monotonic clock of each sample, in microseconds.
    pub offset_us: Vec<i64>,
    /// Values by sample, one per name.
    pub values: Vec<i64>,
    /// Events: time and JSON text.
    pub events: Vec<(i64, String)>,
    /// Histograms: end time, and counts by bin.
    pub histograms: Vec<(i64, Vec<(u64, u64)>)>,
    /// Whether the file is shorter than its header says.
    pub cut: bool,
}

pub(super) struct Layout {
    pub(super) blocks: u64,
    pub(super) names: Vec<String>,
    pub(super) last_lap: u64,
}

fn header(file: &File) -> Result<(Value, Vec<String>, u64), String> {
    let mut bytes = vec![0; HEADER];
    file.read_exact_at(&mut bytes, 0).map_err(|error| format!("it has no header ({error})"))?;
    let text = String::from_utf8_lossy(&bytes);
    let header: Value =
        serde_json::from_str(text.trim_end()).map_err(|_| "its header is not JSON".to_owned())?;
    if header["schema"] != SCHEMA {
        return Err(format!("its schema is {}, not {SCHEMA}", header["schema"]));
    }
    let names = header["names"].as_array().map(Vec::as_slice).unwrap_or_default();
    let names: Vec<String> = names.iter().filter_map(|name| Some(name.as_str()?.to_owned())).collect();
    let blocks = header["blocks"].as_u64().filter(|blocks| (1..1 << 24).contains(blocks));
    Ok((header.clone(), names, blocks.ok_or("it has no valid number of blocks")?))
}

/// Return the layout of an existing ring, which a writer needs to continue it.
pub(super) fn read_layout(file: &File) -> Option<Layout> {
    let (_, names, blocks) = header(file).ok()?;
    let last_lap = written_blocks(file, blocks).map(|(_, lap)| lap).max().unwrap_or(0);
    Some(Layout { blocks, names, last_lap })
}

/// Return the number and lap of each written block; skip holes.
fn written_blocks(file: &File, blocks: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
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

/// Read a ring. A missing or incomplete end is left out.
///
/// # Errors
/// [`NerveError::Ring`] if the file cannot be read, [`NerveError::NoRing`] if it is not a ring.
pub fn read(path: &Path) -> Result<Frames, NerveError> {
    let name = path.display().to_string();
    let file = open_regular(path).map_err(|source| NerveError::Ring {
        file: name.clone(),
        action: "cannot read it",
        source,
    })?;
    let (header, names, blocks) =
        header(&file).map_err(|reason| NerveError::NoRing { file: name, reason })?;
    let cut = file.metadata().is_ok_and(|facts| facts.len() < HEADER as u64 + blocks * BLOCK as u64);
    let is_total = |at: usize| header["totals"][at].as_bool().unwrap_or(false);
    let totals = (0..names.len()).map(is_total).collect();
    let mut frames = Frames { header, names, totals, cut, ..Frames::default() };
    let mut order: Vec<(u64, u64)> = written_blocks(&file, blocks).map(|(at, lap)| (lap, at)).collect();
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
        let mut predictor: Option<Predictor> = None;
        let mut rest = bytes.get(BLOCK_HEAD..).unwrap_or_default();
        while rest.len() >= RECORD_EXTRA {
            let length = usize::from(u16::from_le_bytes([rest[0], rest[1]]));
            if length == 0 {
                break;
            }
            let end = 3 + length;
            // The block was interrupted here, or the rest is of an earlier lap.
            if rest.get(end..end + 4)
                != Some(&checksum(lap, rest.get(..end).unwrap_or_default()).to_le_bytes())
            {
                break;
            }
            let payload = &rest[3..end];
            let record = match rest[2] {
                SAMPLE => self.sample(payload, &mut last),
                PREDICTED => self.predicted_sample(payload, &mut predictor),
                EVENT => self.event(payload),
                HISTOGRAM => self.histogram(payload),
                _ => Some(()), // a kind of a later version
            };
            if record.is_none() {
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
        let at = before.wrapping_add(varint::read(&mut payload)? as i64);
        let offset = shift.wrapping_add(varint::read_signed(&mut payload)?);
        let mut values = Vec::with_capacity(zero.len());
        for before in zero {
            values.push(before.wrapping_add(varint::read_signed(&mut payload)?));
        }
        self.at_us.push(at);
        self.offset_us.push(offset);
        self.values.extend_from_slice(&values);
        *last = Some((at, offset, values));
        Some(())
    }

    fn predicted_sample(&mut self, payload: &[u8], predictor: &mut Option<Predictor>) -> Option<()> {
        if payload.first() == Some(&1) {
            *predictor = Some(Predictor::new(self.names.len()));
        }
        let sample = predictor.as_mut()?.decode(payload, &self.totals)?;
        self.at_us.push(sample.at_us);
        self.offset_us.push(sample.offset_us);
        self.values.extend_from_slice(&sample.values);
        Some(())
    }

    fn event(&mut self, mut payload: &[u8]) -> Option<()> {
        let at = varint::read(&mut payload)? as i64;
        self.events.push((at, String::from_utf8_lossy(payload).into_owned()));
        Some(())
    }

    fn histogram(&mut self, mut payload: &[u8]) -> Option<()> {
        let at = varint::read(&mut payload)? as i64;
        let (mut bins, mut bin) = (Vec::new(), 0u64);
        while !payload.is_empty() {
            bin = bin.checked_add(varint::read(&mut payload)?)?;
            bins.push((bin, varint::read(&mut payload)?));
        }
        self.histograms.push((at, bins));
        Some(())
    }
}
