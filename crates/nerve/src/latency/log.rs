//! The end of an access log, followed over rotations.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use hindmost_sys::clock::monotonic_ns;
use serde_json::Value;

use super::{Intake, Unit, Where};
use crate::NerveError;

/// Read at most at a time: a log that grows faster is skipped forward, and counted as errors.
const MOST: u64 = 8 << 20;

/// A followed log.
pub(crate) struct Tail {
    path: PathBuf,
    file: File,
    inode: u64,
    at: u64,
    place: Where,
    unit: Unit,
    /// A line whose end is not there yet.
    begun: Vec<u8>,
}

impl Tail {
    /// From its end on.
    pub(crate) fn open(path: &Path, place: Where, unit: Unit) -> Result<Self, NerveError> {
        let failed = |why: std::io::Error| NerveError::Latency {
            from: path.display().to_string(),
            why: why.to_string(),
        };
        let file = File::open(path).map_err(failed)?;
        let facts = file.metadata().map_err(failed)?;
        let (inode, at) = (facts.ino(), facts.len());
        Ok(Self { path: path.to_owned(), file, inode, at, place, unit, begun: Vec::new() })
    }

    pub(crate) fn take(&mut self, mut empty: Intake) -> Intake {
        self.read_on(&mut empty);
        let rotated = std::fs::metadata(&self.path).is_ok_and(|facts| facts.ino() != self.inode);
        if rotated {
            if let Ok(file) = File::open(&self.path) {
                self.inode = file.metadata().map_or(0, |facts| facts.ino());
                (self.file, self.at) = (file, 0);
                self.begun.clear();
                self.read_on(&mut empty);
            }
        }
        empty
    }

    fn read_on(&mut self, into: &mut Intake) {
        let length = self.file.metadata().map_or(0, |facts| facts.len());
        if length < self.at {
            self.at = 0; // emptied in place (copytruncate)
            self.begun.clear();
        }
        if length - self.at > MOST {
            into.errors += 1;
            self.at = length - MOST;
            self.begun.clear();
        }
        let mut bytes = std::mem::take(&mut self.begun);
        if self.file.seek(SeekFrom::Start(self.at)).is_ok() {
            if let Ok(count) = (&self.file).take(MOST).read_to_end(&mut bytes) {
                self.at += count as u64;
            }
        }
        let now = monotonic_ns();
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        for line in bytes[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            match latency(line, &self.place) {
                Some(value) => into.record(now, (value * self.unit.nanoseconds()) as u64),
                None => into.errors += 1,
            }
        }
        bytes.drain(..whole);
        self.begun = bytes;
    }
}

fn latency(line: &[u8], place: &Where) -> Option<f64> {
    let value = match place {
        Where::Json(key) => {
            let document = serde_json::from_slice::<Value>(line).ok()?;
            // A dot may be of the name itself, or lead into an object.
            let found =
                document.get(key).or_else(|| document.pointer(&format!("/{}", key.replace('.', "/"))));
            match found? {
                Value::String(text) => text.parse().ok()?,
                other => other.as_f64()?,
            }
        }
        Where::Key(key) => {
            let text = std::str::from_utf8(line).ok()?;
            let value = |word: &str| {
                Some(word.strip_prefix(key.as_str())?.strip_prefix('=')?.trim_matches('"').to_owned())
            };
            text.split_ascii_whitespace().find_map(value)?.parse().ok()?
        }
        Where::Column(nth) => {
            let text = std::str::from_utf8(line).ok()?;
            let mut words = text.split_ascii_whitespace();
            let at = nth.unsigned_abs().checked_sub(1)? as usize;
            let word = if *nth > 0 { words.nth(at) } else { words.nth_back(at) };
            word?.trim_matches('"').parse().ok()?
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
    fn a_latency_is_found_where_it_was_said_to_be() {
        let line = br#"127.0.0.1 - - [x] "GET / HTTP/1.1" 200 12 "-" 0.025"#;
        assert_eq!(latency(line, &Where::Column(-1)), Some(0.025));
        assert_eq!(latency(line, &Where::Column(1)), None);
        assert_eq!(latency(br#"{"t":"0.5"}"#, &Where::Json("t".into())), Some(0.5));
        assert_eq!(latency(br#"{"t":7}"#, &Where::Json("u".into())), None);
        assert_eq!(latency(br#"{"http":{"time":7}}"#, &Where::Json("http.time".into())), Some(7.0));
        assert_eq!(latency(br#"{"http.time":8}"#, &Where::Json("http.time".into())), Some(8.0));
        let line = br#"127.0.0.1 "GET /?rt=9 HTTP/1.1" 200 urt="-" rt=0.004"#;
        assert_eq!(latency(line, &Where::Key("rt".into())), Some(0.004));
        assert_eq!(latency(line, &Where::Key("urt".into())), None);
    }

    #[test]
    fn half_lines_wait_and_rotation_loses_nothing() {
        let folder = std::env::temp_dir().join(format!("hindmost-log-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("access.log");
        let append = |text: &str| {
            let mut file = OpenOptions::new().create(true).append(true).open(&path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        };
        append("9\n");
        let mut tail = Tail::open(&path, Where::Column(1), Unit::Ms).unwrap();
        append("1\n2");
        let seen = tail.take(Intake::new(false));
        assert_eq!((seen.latency.count(), seen.latency.max()), (1, Some(1_000_000)));
        append("5\n");
        std::fs::rename(&path, folder.join("access.log.1")).unwrap();
        append("3\n");
        let seen = tail.take(Intake::new(false));
        assert_eq!((seen.latency.count(), seen.latency.max()), (2, Some(25_000_000)));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_log_that_is_emptied_in_place_is_read_from_its_beginning() {
        let path = std::env::temp_dir().join(format!("hindmost-emptied-{}.log", std::process::id()));
        std::fs::write(&path, "1\n2\n").unwrap();
        let mut tail = Tail::open(&path, Where::Column(1), Unit::Ms).unwrap();
        std::fs::write(&path, "3\n").unwrap();
        let seen = tail.take(Intake::new(false));
        assert_eq!((seen.latency.count(), seen.latency.max()), (1, Some(3_000_000)));
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn of_more_lines_than_can_be_read_at_once_the_last_are_read_and_the_rest_is_an_error() {
        let path = std::env::temp_dir().join(format!("hindmost-flood-{}.log", std::process::id()));
        std::fs::write(&path, "").unwrap();
        let mut tail = Tail::open(&path, Where::Column(1), Unit::Ms).unwrap();
        let line = |latency: u32| format!("{latency:<4095}\n");
        let lines = MOST as usize / 4096;
        std::fs::write(&path, line(9).repeat(256) + &line(1).repeat(lines - 1) + &line(7)).unwrap();
        let seen = tail.take(Intake::new(false));
        assert_eq!((seen.latency.count(), seen.latency.max()), (lines as u64, Some(7_000_000)));
        assert_eq!(seen.errors, 1);
        std::fs::remove_file(&path).unwrap();
    }
}
