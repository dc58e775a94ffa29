//! The end of an access log, followed across rotations.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use hindmost_sys::clock::monotonic_ns;
use serde_json::Value;

use super::{Intake, LogField, Unit};
use crate::NerveError;

/// Most bytes per reading: the rest of a faster log is skipped and counted as an error.
const MAX_READ: u64 = 8 << 20;
/// Bytes before the current position that are compared at each reading: if they differ, the file was truncated and
/// refilled.
const COMPARED: usize = 64;
/// Longest line.
const MAX_LINE: u64 = 64 << 10;

/// A followed log.
pub(crate) struct Tail {
    path: PathBuf,
    file: File,
    inode: u64,
    at: u64,
    field: LogField,
    unit: Unit,
    /// The incomplete last line.
    partial: Vec<u8>,
    /// The last bytes before `at`.
    last_bytes: Vec<u8>,
}

impl Tail {
    /// Follow a log from its end. An incomplete last line is read from its start.
    pub(crate) fn open(path: &Path, field: LogField, unit: Unit) -> Result<Self, NerveError> {
        let unreadable = |reason: std::io::Error| NerveError::Latency {
            from: path.display().to_string(),
            reason: reason.to_string(),
        };
        let file = File::open(path).map_err(unreadable)?;
        let metadata = file.metadata().map_err(unreadable)?;
        let (inode, at) = (metadata.ino(), metadata.len());
        let mut tail =
            Self { path: path.to_owned(), file, inode, at, field, unit, partial: vec![], last_bytes: vec![] };
        let before = tail.before(MAX_LINE);
        let start_of_line = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        tail.partial = before[start_of_line..].to_vec();
        tail.remember(&before);
        Ok(tail)
    }

    /// Return up to `most` bytes before `at`.
    fn before(&self, most: u64) -> Vec<u8> {
        let from = self.at.saturating_sub(most);
        let mut bytes = vec![0; (self.at - from) as usize];
        match self.file.read_exact_at(&mut bytes, from) {
            Ok(()) => bytes,
            Err(_) => Vec::new(),
        }
    }

    /// Return the start of the first line at or after a position.
    fn line_from(&self, at: u64) -> u64 {
        let mut bytes = vec![0; MAX_LINE as usize];
        let from = at.saturating_sub(1);
        let read = self.file.read_at(&mut bytes, from).unwrap_or(0);
        let end = bytes[..read].iter().position(|byte| *byte == b'\n');
        end.map_or(at, |end| from + end as u64 + 1)
    }

    fn remember(&mut self, read: &[u8]) {
        self.last_bytes.extend_from_slice(&read[read.len().saturating_sub(COMPARED)..]);
        self.last_bytes.drain(..self.last_bytes.len().saturating_sub(COMPARED));
    }

    fn restart(&mut self) {
        self.at = 0;
        self.partial.clear();
        self.last_bytes.clear();
    }

    pub(crate) fn take(&mut self, mut empty: Intake) -> Intake {
        self.read_new_lines(&mut empty);
        let rotated = std::fs::metadata(&self.path).is_ok_and(|metadata| metadata.ino() != self.inode);
        if rotated {
            if let Ok(file) = File::open(&self.path) {
                self.inode = file.metadata().map_or(0, |metadata| metadata.ino());
                self.file = file;
                self.restart();
                self.read_new_lines(&mut empty);
            }
        }
        empty
    }

    fn read_new_lines(&mut self, into: &mut Intake) {
        let length = self.file.metadata().map_or(0, |metadata| metadata.len());
        // The file was truncated in place (copytruncate); it may be longer again than before.
        if length < self.at || self.before(self.last_bytes.len() as u64) != self.last_bytes {
            self.restart();
        }
        if length - self.at > MAX_READ {
            into.errors += 1;
            self.restart();
            self.at = length - MAX_READ;
            self.at = self.line_from(self.at);
        }
        let mut bytes = std::mem::take(&mut self.partial);
        let old = bytes.len();
        if self.file.seek(SeekFrom::Start(self.at)).is_ok() {
            if let Ok(count) = (&self.file).take(MAX_READ).read_to_end(&mut bytes) {
                self.at += count as u64;
            }
        }
        self.remember(&bytes[old..]);
        let now = monotonic_ns();
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        for line in bytes[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            match latency(line, &self.field, self.unit) {
                Some(value) => into.record(now, (value * self.unit.nanoseconds()) as u64),
                None => into.errors += 1,
            }
        }
        bytes.drain(..whole);
        self.partial = bytes;
    }
}

/// Parse a number in `unit`, or with its own unit, such as `22ms`.
fn number(word: &str, unit: Unit) -> Option<f64> {
    let digits = word.trim_end_matches(|c: char| c.is_alphabetic());
    let value: f64 = digits.parse().ok()?;
    let own = match &word[digits.len()..] {
        "" => return Some(value),
        "ns" => 1.0,
        "us" | "µs" | "μs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    Some(value * own / unit.nanoseconds())
}

fn latency(line: &[u8], field: &LogField, unit: Unit) -> Option<f64> {
    // Requests contain arbitrary bytes from clients.
    let text = String::from_utf8_lossy(line);
    let value = match field {
        LogField::Json(key) => {
            let document = serde_json::from_str::<Value>(&text).ok()?;
            // A dot may be part of a name or separate nested names.
            let found =
                document.get(key).or_else(|| document.pointer(&format!("/{}", key.replace('.', "/"))));
            match found? {
                Value::String(text) => number(text, unit)?,
                other => other.as_f64()?,
            }
        }
        LogField::Key(key) => {
            let value = |word: &str| {
                Some(word.strip_prefix(key.as_str())?.strip_prefix('=')?.trim_matches('"').to_owned())
            };
            number(&text.split_ascii_whitespace().find_map(value)?, unit)?
        }
        LogField::Column(nth) => {
            let mut words = text.split_ascii_whitespace();
            let at = nth.unsigned_abs().checked_sub(1)? as usize;
            let word = if *nth > 0 { words.nth(at) } else { words.nth_back(at) };
            number(word?.trim_matches('"'), unit)?
        }
    };
    (value >= 0.0).then_some(value)
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write;

    use super::*;

    #[test]
    fn a_latency_is_found_in_its_field() {
        let line = br#"127.0.0.1 - - [x] "GET / HTTP/1.1" 200 12 "-" 0.025"#;
        assert_eq!(latency(line, &LogField::Column(-1), Unit::S), Some(0.025));
        assert_eq!(latency(line, &LogField::Column(1), Unit::S), None);
        assert_eq!(latency(br#"{"t":"0.5"}"#, &LogField::Json("t".into()), Unit::S), Some(0.5));
        assert_eq!(latency(br#"{"t":7}"#, &LogField::Json("u".into()), Unit::S), None);
        assert_eq!(
            latency(br#"{"http":{"time":7}}"#, &LogField::Json("http.time".into()), Unit::S),
            Some(7.0)
        );
        assert_eq!(latency(br#"{"http.time":8}"#, &LogField::Json("http.time".into()), Unit::S), Some(8.0));
        let line = br#"127.0.0.1 "GET /?rt=9 HTTP/1.1" 200 urt="-" rt=0.004"#;
        assert_eq!(latency(line, &LogField::Key("rt".into()), Unit::S), Some(0.004));
        assert_eq!(latency(line, &LogField::Key("urt".into()), Unit::S), None);
    }

    #[test]
    fn latencies_may_have_units_and_lines_may_have_any_bytes() {
        for (word, seconds) in
            [("22ms", 0.022), ("1.05s", 1.05), ("7us", 7e-6), ("7µs", 7e-6), ("9ns", 9e-9), ("3", 3.0)]
        {
            let line = format!("GET / {word}");
            assert!(
                (latency(line.as_bytes(), &LogField::Column(-1), Unit::S).unwrap() - seconds).abs() < 1e-12
            );
            let line = format!("{{\"t\": \"{word}\"}}");
            assert!(latency(line.as_bytes(), &LogField::Json("t".into()), Unit::Ms).is_some());
        }
        assert_eq!(latency(b"GET / 3min", &LogField::Column(-1), Unit::S), None);
        assert_eq!(latency(b"GET /caf\xe9 0.5", &LogField::Column(-1), Unit::S), Some(0.5));
        assert_eq!(latency(b"GET /caf\xe9 rt=0.5", &LogField::Key("rt".into()), Unit::S), Some(0.5));
        assert_eq!(
            latency(b"{\"url\": \"caf\xe9\", \"t\": 0.5}", &LogField::Json("t".into()), Unit::S),
            Some(0.5)
        );
    }

    #[test]
    fn an_incomplete_line_at_the_start_is_read_completely() {
        let path = std::env::temp_dir().join(format!("hindmost-half-{}.log", std::process::id()));
        std::fs::write(&path, "x 0.001\nGET /a 0.0").unwrap();
        let mut tail = Tail::open(&path, LogField::Column(-1), Unit::S).unwrap();
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"02\nGET /b 0.003\n").unwrap();
        let intake = tail.take(Intake::new(false));
        assert_eq!((intake.latency.count(), intake.latency.max(), intake.errors), (2, Some(3_000_000), 0));
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_log_truncated_and_refilled_is_read_from_its_start() {
        let path = std::env::temp_dir().join(format!("hindmost-refilled-{}.log", std::process::id()));
        std::fs::write(&path, "before 0.001\n".repeat(20)).unwrap();
        let mut tail = Tail::open(&path, LogField::Column(-1), Unit::S).unwrap();
        std::fs::write(&path, "after, of many 0.002\n".repeat(60)).unwrap();
        let intake = tail.take(Intake::new(false));
        assert_eq!((intake.latency.count(), intake.latency.max(), intake.errors), (60, Some(2_000_000), 0));
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn incomplete_lines_wait_and_rotation_loses_nothing() {
        let folder = std::env::temp_dir().join(format!("hindmost-log-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("access.log");
        let append = |text: &str| {
            let mut file = OpenOptions::new().create(true).append(true).open(&path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        };
        append("9\n");
        let mut tail = Tail::open(&path, LogField::Column(1), Unit::Ms).unwrap();
        append("1\n2");
        let intake = tail.take(Intake::new(false));
        assert_eq!((intake.latency.count(), intake.latency.max()), (1, Some(1_000_000)));
        append("5\n");
        std::fs::rename(&path, folder.join("access.log.1")).unwrap();
        append("3\n");
        let intake = tail.take(Intake::new(false));
        assert_eq!((intake.latency.count(), intake.latency.max()), (2, Some(25_000_000)));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_truncated_log_is_read_from_its_start() {
        let path = std::env::temp_dir().join(format!("hindmost-emptied-{}.log", std::process::id()));
        std::fs::write(&path, "1\n2\n").unwrap();
        let mut tail = Tail::open(&path, LogField::Column(1), Unit::Ms).unwrap();
        std::fs::write(&path, "3\n").unwrap();
        let intake = tail.take(Intake::new(false));
        assert_eq!((intake.latency.count(), intake.latency.max()), (1, Some(3_000_000)));
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_fast_log_is_skipped_to_its_last_lines_with_an_error() {
        let path = std::env::temp_dir().join(format!("hindmost-flood-{}.log", std::process::id()));
        std::fs::write(&path, "").unwrap();
        let mut tail = Tail::open(&path, LogField::Column(1), Unit::Ms).unwrap();
        let line = |latency: u32| format!("{latency:<4095}\n");
        let lines = MAX_READ as usize / 4096;
        std::fs::write(&path, line(9).repeat(256) + &line(1).repeat(lines - 1) + &line(7)).unwrap();
        let intake = tail.take(Intake::new(false));
        assert_eq!((intake.latency.count(), intake.latency.max()), (lines as u64, Some(7_000_000)));
        assert_eq!(intake.errors, 1);
        std::fs::remove_file(&path).unwrap();
    }
}
