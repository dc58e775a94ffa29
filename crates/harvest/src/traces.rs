//! Utilisation traces from files. Each file is streamed twice: first to find servers and times, then to average
//! tenants.
//!
//! Memory holds only one cell per tenant and slot, and a few numbers per server: a data center's month is tens of
//! gigabytes of text.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::hash::{BuildHasherDefault, Hasher};
use std::io::Read;
use std::path::PathBuf;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::HarvestError;

/// Bytes of text to parse at once.
const BLOCK: usize = 4 << 20;
/// Number of servers whose readings give the usual gap.
const SAMPLED_SERVERS: usize = 64;
const DAY_S: f64 = 86_400.0;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A file and the roles of its columns.
#[derive(Clone, Debug, Deserialize)]
pub struct Source {
    /// Path of the file.
    pub path: PathBuf,
    /// Columns of time, server and load.
    pub columns: Columns,
    /// Factor from the file's times to seconds.
    pub time_scale: f64,
    /// Factor from the file's loads to shares.
    pub load_scale: f64,
}

/// Columns of time, server and load.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Columns {
    /// Delimited text; columns by position.
    Text {
        /// Delimiter between two fields.
        delimiter: char,
        /// Number of header lines.
        skip: usize,
        /// Position of the time.
        time: usize,
        /// Position of the server; None if the file has one server.
        server: Option<usize>,
        /// Position of the load.
        load: usize,
        /// Fields per row. The last row of a truncated file may have fewer.
        fields: usize,
        /// Name of the server if no column has it.
        name: String,
    },
    /// Parquet; columns by name.
    Parquet {
        /// Column of times.
        time: String,
        /// Column of servers.
        server: String,
        /// Column of loads.
        load: String,
    },
}

/// A fast hash of short names. It needs no protection from collision attacks: whoever writes the files could as well
/// fill the disk.
#[derive(Default)]
struct ShortHasher(u64);

impl Hasher for ShortHasher {
    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.0 = (self.0.rotate_left(5) ^ u64::from_le_bytes(word)).wrapping_mul(0x517c_c1b7_2722_0a95);
        }
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

type Names<V> = HashMap<Vec<u8>, V, BuildHasherDefault<ShortHasher>>;

/// A server in the first pass.
#[derive(Clone, Debug, Serialize)]
pub struct ServerTimes {
    /// Name.
    pub name: String,
    /// Earliest time, in seconds.
    pub first: f64,
    /// Latest time, in seconds.
    pub last: f64,
    /// Number of readings.
    pub readings: u64,
}

/// Counts of one file; lines are numbered from 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FileCounts {
    /// Lines, or rows of a Parquet file.
    pub lines: u64,
    /// Rows with all columns.
    pub rows: u64,
    /// The first line whose time is not a number, and its text.
    pub wrong: Option<(u64, String)>,
    /// The first line with too few fields, unless it is the last.
    pub short: Option<u64>,
    /// The last line, if it has too few fields.
    #[serde(skip)]
    torn: Option<u64>,
}

impl FileCounts {
    /// Count a row; `line` is its number within the block.
    fn row(&mut self, line: u64, time: f64, text: &[u8]) {
        self.rows += 1;
        self.short = self.short.or(self.torn);
        if self.wrong.is_none() && !time.is_finite() {
            self.wrong = Some((line, text_of(&text[..text.len().min(40)])));
        }
    }

    /// Add the counts of the next block.
    fn add(&mut self, next: Self) {
        let at = |line: u64| self.lines + line;
        self.short =
            self.short.or_else(|| (next.rows > 0 || next.torn.is_some()).then_some(self.torn).flatten());
        self.short = self.short.or(next.short.map(at));
        self.torn = next.torn.map(at).or(self.torn);
        self.wrong = self.wrong.take().or(next.wrong.map(|(line, text)| (at(line), text)));
        self.rows += next.rows;
        self.lines += next.lines;
    }
}

/// Facts about all files.
#[derive(Clone, Debug, Serialize)]
pub struct Facts {
    /// Servers by first appearance.
    pub servers: Vec<ServerTimes>,
    /// Median gap between readings of a server, in seconds; None if no server has two readings.
    pub gap_s: Option<f64>,
    /// First and last time of the main part of the readings, in seconds. It excludes clocks that are off by more than
    /// the window.
    pub window: (f64, f64),
    /// Number of readings in the window.
    pub inside: u64,
}

/// Averages of tenants.
#[derive(Debug)]
pub struct Averages {
    /// One row of slots per tenant; NaN if missing.
    pub cpu: Vec<f32>,
    /// Highest load by server; 0 without readings.
    pub peaks: Vec<f64>,
    /// Readings outside the window, by server.
    pub outside: Vec<u64>,
}

/// The grid of tenants and slots into which readings are averaged.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    /// Start of the first slot, in seconds.
    pub start: f64,
    /// Length of a slot, in seconds.
    pub slot_s: f64,
    /// Number of slots.
    pub slots: usize,
    /// Number of rows.
    pub tenants: usize,
}

impl Grid {
    /// Return the slot of a reading at `time` of a server whose first reading was at `first`. Slots are shifted by the
    /// server's phase, so that a server that is read in the middle of slots has a reading in each.
    fn slot(&self, time: f64, first: f64) -> Option<usize> {
        let place = (first - self.start) / self.slot_s;
        let within = place - (place + 0.25).floor();
        let at = ((time - self.start) / self.slot_s - within).round();
        (at >= 0.0 && at < self.slots as f64).then_some(at as usize)
    }
}

/// A reading: server, slot (None outside the grid) and load.
type Reading = (u32, Option<usize>, f32);

/// State of the first pass.
#[derive(Default)]
pub struct Reader {
    numbers: Names<u32>,
    servers: Vec<ServerTimes>,
    days: BTreeMap<i64, (u64, f64, f64)>,
    times: Vec<Vec<f64>>,
}

impl Reader {
    /// Scan a file for servers and times.
    pub fn survey(&mut self, source: &Source) -> Result<FileCounts, HarvestError> {
        let mut counts = FileCounts::default();
        each_block(source, |block| BlockSurvey::new(block, source), |survey| self.add(survey, &mut counts))?;
        Ok(counts)
    }

    fn add(&mut self, survey: BlockSurvey, counts: &mut FileCounts) {
        counts.add(survey.counts);
        for (at, (name, server)) in survey.servers.into_iter().enumerate() {
            let next = self.servers.len() as u32;
            let number = *self.numbers.entry(name).or_insert(next) as usize;
            if number == self.servers.len() {
                self.servers.push(server);
            } else {
                let known = &mut self.servers[number];
                known.first = known.first.min(server.first);
                known.last = known.last.max(server.last);
                known.readings += server.readings;
            }
            if number < SAMPLED_SERVERS {
                self.times.resize_with(self.times.len().max(number + 1), Vec::new);
                if let Some(times) = survey.times.get(at) {
                    self.times[number].extend(times);
                }
            }
        }
        for (day, (count, first, last)) in survey.days {
            let own = self.days.entry(day).or_insert((0, f64::INFINITY, f64::NEG_INFINITY));
            *own = (own.0 + count, own.1.min(first), own.2.max(last));
        }
    }

    /// Return facts about all files; None if they have no reading.
    pub fn facts(&mut self) -> Option<Facts> {
        let mut gaps: Vec<f64> = Vec::new();
        for times in &mut self.times {
            times.sort_unstable_by(f64::total_cmp);
            gaps.extend(times.windows(2).map(|pair| pair[1] - pair[0]).filter(|&gap| gap > 0.0));
        }
        gaps.sort_unstable_by(f64::total_cmp);
        let usual_gap_s =
            (!gaps.is_empty()).then(|| f64::midpoint(gaps[(gaps.len() - 1) / 2], gaps[gaps.len() / 2]));
        let (first, last, inside) = main_window(&self.days)?;
        Some(Facts { servers: self.servers.clone(), gap_s: usual_gap_s, window: (first, last), inside })
    }

    /// Average readings by tenant and slot. `rows` has the tenant of each server.
    pub fn average(
        &self,
        sources: &[Source],
        rows: &[Option<usize>],
        grid: Grid,
    ) -> Result<Averages, HarvestError> {
        let cells = grid.tenants * grid.slots;
        let (mut sums, mut numbers) = (vec![0.0_f32; cells], vec![0_u16; cells]);
        let (mut peaks, mut outside) = (vec![0.0_f64; rows.len()], vec![0; rows.len()]);
        for source in sources {
            let take = |readings: Vec<Reading>| {
                for (server, slot, load) in readings {
                    let server = server as usize;
                    match (slot, rows.get(server).copied().flatten()) {
                        (Some(slot), Some(row)) => {
                            let cell = row * grid.slots + slot;
                            sums[cell] += load;
                            numbers[cell] = numbers[cell].saturating_add(1);
                            peaks[server] = peaks[server].max(f64::from(load));
                        }
                        (None, _) => outside[server] += 1,
                        _ => {}
                    }
                }
            };
            each_block(source, |block| self.readings(block, source, grid), take)?;
        }
        for (sum, &count) in sums.iter_mut().zip(&numbers) {
            *sum = if count > 0 { *sum / f32::from(count) } else { f32::NAN };
        }
        Ok(Averages { cpu: sums, peaks, outside })
    }

    /// Return each server's load relative to its tenant's at the same times; 1 if unknown.
    pub fn balance(
        &self,
        sources: &[Source],
        rows: &[Option<usize>],
        grid: Grid,
        cpu: &[f32],
    ) -> Result<Vec<f64>, HarvestError> {
        let mut sums = vec![(0.0, 0.0); rows.len()];
        for source in sources {
            let take = |readings: Vec<Reading>| {
                for (server, slot, load) in readings {
                    if let (Some(slot), Some(row)) = (slot, rows[server as usize]) {
                        let (own, shared) = &mut sums[server as usize];
                        *own += f64::from(load);
                        *shared += f64::from(cpu[row * grid.slots + slot]);
                    }
                }
            };
            each_block(source, |block| self.readings(block, source, grid), take)?;
        }
        Ok(sums.into_iter().map(|(own, shared)| if shared > 0.0 { own / shared } else { 1.0 }).collect())
    }

    /// Return server, slot and load of each row that has a load.
    fn readings(&self, block: &Block, source: &Source, grid: Grid) -> Vec<Reading> {
        let mut loads = Vec::new();
        block.rows(source, None, |time, name, load| {
            if load.is_finite() && load >= 0.0 && time.is_finite() {
                if let Some(&server) = self.numbers.get(name) {
                    let first = self.servers[server as usize].first;
                    loads.push((server, grid.slot(time, first), load as f32));
                }
            }
        });
        loads
    }
}

/// Find the window of most readings. It starts with the largest group of consecutive days, and adds a neighbouring
/// group if the gap is no longer than the window so far.
fn main_window(days: &BTreeMap<i64, (u64, f64, f64)>) -> Option<(f64, f64, u64)> {
    // First and last day, readings, first and last moment.
    let mut parts: Vec<(i64, i64, u64, f64, f64)> = Vec::new();
    for (&day, &(count, first, last)) in days {
        match parts.last_mut() {
            Some(part) if day - part.1 <= 1 => *part = (part.0, day, part.2 + count, part.3, last),
            _ => parts.push((day, day, count, first, last)),
        }
    }
    let main = (0..parts.len()).max_by_key(|&at| parts[at].2)?;
    let (mut low, mut high) = (main, main);
    loop {
        let long = parts[high].1 - parts[low].0 + 1;
        if high + 1 < parts.len() && parts[high + 1].0 - parts[high].1 <= long {
            high += 1;
        } else if low > 0 && parts[low].0 - parts[low - 1].1 <= long {
            low -= 1;
        } else {
            return Some((parts[low].3, parts[high].4, parts[low..=high].iter().map(|part| part.2).sum()));
        }
    }
}

/// Counts of one block.
struct BlockSurvey {
    servers: Vec<(Vec<u8>, ServerTimes)>,
    times: Vec<Vec<f64>>,
    days: HashMap<i64, (u64, f64, f64)>,
    counts: FileCounts,
}

impl BlockSurvey {
    fn new(block: &Block, source: &Source) -> Self {
        let mut numbers: Names<u32> = Names::default();
        let mut survey = Self {
            servers: Vec::new(),
            times: Vec::new(),
            days: HashMap::new(),
            counts: FileCounts::default(),
        };
        let mut day = (i64::MIN, 0, f64::INFINITY, f64::NEG_INFINITY);
        let mut counts = FileCounts::default();
        block.rows(source, Some(&mut counts), |time, name, _| {
            if !time.is_finite() {
                return;
            }
            let number = if let Some(&number) = numbers.get(name) {
                number as usize
            } else {
                numbers.insert(name.to_vec(), survey.servers.len() as u32);
                let text = text_of(name);
                survey
                    .servers
                    .push((name.to_vec(), ServerTimes { name: text, first: time, last: time, readings: 0 }));
                survey.servers.len() - 1
            };
            let server = &mut survey.servers[number].1;
            (server.first, server.last) = (server.first.min(time), server.last.max(time));
            server.readings += 1;
            if number < SAMPLED_SERVERS {
                survey.times.resize_with(survey.times.len().max(number + 1), Vec::new);
                survey.times[number].push(time);
            }
            let today = (time / DAY_S).floor() as i64;
            if today != day.0 {
                close_day(&mut survey.days, day);
                day = (today, 0, f64::INFINITY, f64::NEG_INFINITY);
            }
            day = (today, day.1 + 1, day.2.min(time), day.3.max(time));
        });
        close_day(&mut survey.days, day);
        survey.counts = counts;
        survey
    }
}

fn close_day(days: &mut HashMap<i64, (u64, f64, f64)>, (day, count, first, last): (i64, u64, f64, f64)) {
    if count > 0 {
        let own = days.entry(day).or_insert((0, f64::INFINITY, f64::NEG_INFINITY));
        *own = (own.0 + count, own.1.min(first), own.2.max(last));
    }
}

/// A part of a file that is parsed at once.
enum Block {
    Text(Vec<u8>),
    Rows(hindmost_table::Rows),
}

impl Block {
    /// Call `each` with time, server and load of each row; NaN stands for a time or load that is not a number. Add to
    /// `counts` if given.
    fn rows(&self, source: &Source, counts: Option<&mut FileCounts>, mut each: impl FnMut(f64, &[u8], f64)) {
        let mut ignored = FileCounts::default();
        let is_survey = counts.is_some(); // a survey needs no loads
        let counts = counts.unwrap_or(&mut ignored);
        match (self, &source.columns) {
            (Self::Text(bytes), Columns::Text { delimiter, time, server, load, fields: need, name, .. }) => {
                let last = (*time).max(*load).max(server.unwrap_or(0)).max(need.saturating_sub(1));
                let mut fields: Vec<&[u8]> = Vec::new();
                for line in bytes.split_inclusive(|&byte| byte == b'\n') {
                    counts.lines += 1;
                    let line = line.strip_suffix(b"\n").unwrap_or(line);
                    let line = line.strip_suffix(b"\r").unwrap_or(line);
                    split(line, *delimiter as u8, last, &mut fields);
                    if fields.len() <= last {
                        if !line.is_empty() && *need > 0 {
                            counts.short = counts.short.or(counts.torn);
                            counts.torn = Some(counts.lines);
                        }
                        continue;
                    }
                    let at = source.time_scale * number(fields[*time]);
                    counts.row(counts.lines, at, fields[*time]);
                    let own = server.map_or(name.as_bytes(), |server| fields[server]);
                    let share = if is_survey { f64::NAN } else { source.load_scale * number(fields[*load]) };
                    each(at, own, share);
                }
            }
            (Self::Rows(rows), _) => {
                for (at, &code) in rows.codes.iter().enumerate() {
                    let time = source.time_scale * rows.reals[0][at];
                    counts.lines += 1;
                    counts.row(counts.lines, time, b"null");
                    each(time, rows.texts[code as usize].as_bytes(), source.load_scale * rows.reals[1][at]);
                }
            }
            (Self::Text(_), Columns::Parquet { .. }) => {}
        }
    }
}

/// Decode UTF-8, or Latin-1 if the bytes are not valid UTF-8.
fn text_of(bytes: &[u8]) -> String {
    std::str::from_utf8(bytes)
        .map_or_else(|_| bytes.iter().map(|&byte| char::from(byte)).collect(), str::to_owned)
}

/// Split a line into fields, up to field `last`. Remove quotes around fields.
fn split<'a>(line: &'a [u8], delimiter: u8, last: usize, fields: &mut Vec<&'a [u8]>) {
    fields.clear();
    let (mut from, mut quoted) = (0, false);
    for (at, &byte) in line.iter().enumerate() {
        if byte == delimiter && !quoted {
            fields.push(strip_quotes(&line[from..at]));
            if fields.len() > last {
                return;
            }
            from = at + 1;
        } else if byte == b'"' && (quoted || at == from) {
            quoted = !quoted;
        }
    }
    fields.push(strip_quotes(&line[from..]));
}

fn strip_quotes(field: &[u8]) -> &[u8] {
    match field {
        [b'"', inner @ .., b'"'] => inner,
        _ => field,
    }
}

/// Parse a number. Text such as NA or null counts as a missing reading, not as an error.
fn number(field: &[u8]) -> f64 {
    decimal(field).unwrap_or_else(|| {
        std::str::from_utf8(field).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(f64::NAN)
    })
}

/// Parse a short decimal number. Both parts are exact, so the quotient is rounded as the standard library rounds it.
fn decimal(field: &[u8]) -> Option<f64> {
    const POWERS: [f64; 16] =
        [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
    let (mut whole, mut point) = (0_u64, None);
    if field.is_empty() || field.len() > POWERS.len() {
        return None;
    }
    for (at, &byte) in field.iter().enumerate() {
        match byte {
            b'0'..=b'9' => whole = 10 * whole + u64::from(byte - b'0'),
            b'.' if point.is_none() && field.len() > 1 => point = Some(field.len() - 1 - at),
            _ => return None,
        }
    }
    (whole < 1 << 53).then(|| whole as f64 / POWERS[point.unwrap_or(0)])
}

/// Read a file by blocks: `work` runs on all CPUs, `take` receives the results in order.
fn each_block<T: Send>(
    source: &Source,
    work: impl Fn(&Block) -> T + Sync,
    mut take: impl FnMut(T),
) -> Result<(), HarvestError> {
    let unreadable =
        |error: &dyn std::fmt::Display| HarvestError::File(format!("{}: {error}", source.path.display()));
    match &source.columns {
        Columns::Parquet { time, server, load } => {
            hindmost_table::read_groups(&source.path, &[time, load], server, |rows| {
                take(work(&Block::Rows(rows)));
            })
            .map_err(|error| unreadable(&error))
        }
        Columns::Text { skip, .. } => {
            let mut file = File::open(&source.path).map_err(|error| unreadable(&error))?;
            let mut rest = Vec::new();
            let mut started = false;
            let mut skip = *skip;
            loop {
                let mut blocks = Vec::new();
                while blocks.len() < 2 * rayon::current_num_threads() {
                    let mut block = std::mem::take(&mut rest);
                    let before = block.len();
                    (&mut file)
                        .take(BLOCK as u64)
                        .read_to_end(&mut block)
                        .map_err(|error| unreadable(&error))?;
                    let is_end = block.len() == before;
                    if !started && block.starts_with(BYTE_ORDER_MARK) {
                        block.drain(..BYTE_ORDER_MARK.len());
                    }
                    started = true;
                    if !is_end {
                        let Some(end) = block.iter().rposition(|&byte| byte == b'\n') else {
                            rest = block;
                            continue;
                        };
                        rest = block.split_off(end + 1);
                    }
                    while skip > 0 && !block.is_empty() {
                        let end =
                            block.iter().position(|&byte| byte == b'\n').map_or(block.len(), |at| at + 1);
                        block.drain(..end);
                        skip -= 1;
                    }
                    if !block.is_empty() {
                        blocks.push(Block::Text(block));
                    }
                    if is_end {
                        break;
                    }
                }
                if blocks.is_empty() {
                    return Ok(());
                }
                blocks.par_iter().map(&work).collect::<Vec<T>>().into_iter().for_each(&mut take);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(name: &str, text: &[u8], fields: usize) -> (Reader, Source, FileCounts) {
        let path = std::env::temp_dir().join(format!("hindmost-traces-{}-{name}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        let columns = Columns::Text {
            delimiter: ',',
            skip: 1,
            time: 0,
            server: Some(1),
            load: 2,
            fields,
            name: String::new(),
        };
        let source = Source { path, columns, time_scale: 1.0, load_scale: 0.01 };
        let mut reader = Reader::default();
        let counts = reader.survey(&source).unwrap();
        (reader, source, counts)
    }

    #[test]
    fn readings_are_averaged_by_tenant_and_slot() {
        let text = b"time,server,cpu\n0,a,10\n0,\"b,2\",30\r\n60,a,NA\n60,c,50\n120,a,-1\n120,c,70\n30,d";
        let (mut reader, source, counts) = reader("average", text, 0);
        assert_eq!((counts.rows, counts.short, counts.wrong), (6, None, None));
        let facts = reader.facts().unwrap();
        let names: Vec<&str> = facts.servers.iter().map(|one| one.name.as_str()).collect();
        assert_eq!((names, facts.gap_s, facts.window), (vec!["a", "b,2", "c"], Some(60.0), (0.0, 120.0)));
        let grid = Grid { start: 0.0, slot_s: 60.0, slots: 3, tenants: 2 };
        let rows = [Some(0), Some(0), Some(1)];
        let averages = reader.average(std::slice::from_ref(&source), &rows, grid).unwrap();
        let cpu: Vec<String> = averages.cpu.iter().map(|value| format!("{value:.2}")).collect();
        assert_eq!(cpu, ["0.20", "NaN", "NaN", "NaN", "0.50", "0.70"]);
        let peaks: Vec<String> = averages.peaks.iter().map(|value| format!("{value:.2}")).collect();
        assert_eq!(peaks, ["0.10", "0.30", "0.70"]);
        let balance = reader.balance(&[source], &rows, grid, &averages.cpu).unwrap();
        assert!((balance[0] - 0.5).abs() < 1e-6 && (balance[2] - 1.0).abs() < 1e-6);
    }

    #[test]
    fn a_server_read_in_the_middle_of_slots_has_a_reading_in_each() {
        let text: String = std::iter::once("head\n".to_owned())
            .chain((0..50).map(|k| format!("{},a,1\n{},b,1\n", 300 * k, 300 * k + 148 + k % 5)))
            .collect();
        let (reader, source, _) = reader("middle", text.as_bytes(), 0);
        let grid = Grid { start: 0.0, slot_s: 300.0, slots: 50, tenants: 2 };
        let averages = reader.average(&[source], &[Some(0), Some(1)], grid).unwrap();
        assert!(averages.cpu.iter().all(|value| value.is_finite()) && averages.outside == [0, 0]);
    }

    #[test]
    fn invalid_rows_are_reported_by_line_and_a_truncated_last_row_is_ignored() {
        let counts = |name, text: &[u8], fields| reader(name, text, fields).2;
        assert_eq!(counts("wrong", b"h\n0,a,1\nsoon,a,1\n", 0).wrong, Some((2, "soon".to_owned())));
        assert_eq!(counts("short", b"h\n0,a,1\n0,a\n1,a,1\n", 3).short, Some(2));
        assert_eq!(counts("torn", b"h\n0,a,1\n0,a", 3).short, None);
    }

    #[test]
    fn the_window_holds_most_readings() {
        let days = |known: &[(i64, u64)]| {
            let entry = |&(day, count): &(i64, u64)| (day, (count, day as f64, day as f64));
            main_window(&known.iter().map(entry).collect()).unwrap()
        };
        assert_eq!(days(&[(-7157, 1), (0, 5), (1, 5)]), (0.0, 1.0, 10));
        assert_eq!(days(&[(0, 5), (1, 5), (3, 5), (4, 1)]), (0.0, 4.0, 16));
        assert_eq!(days(&[(0, 9), (20_000, 90), (20_001, 90)]), (20_000.0, 20_001.0, 180));
    }
}
