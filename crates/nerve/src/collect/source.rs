//! A file of /proc, /sys or a cgroup that is kept open.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// An open file with its last contents.
pub(crate) struct Source {
    file: File,
    bytes: Vec<u8>,
    length: usize,
}

impl Source {
    pub(crate) fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        Ok(Self { file: File::open(path)?, bytes: vec![0; 1024], length: 0 })
    }

    /// Read the contents; return `None` if the process or cgroup is gone.
    pub(crate) fn read(&mut self) -> Option<&str> {
        self.length = 0;
        loop {
            match self.file.read_at(&mut self.bytes[self.length..], self.length as u64) {
                Ok(0) => break,
                Ok(more) => self.length += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
            if self.length == self.bytes.len() {
                self.bytes.resize(2 * self.length, 0);
            } else if self.bytes[self.length - 1] == b'\n' {
                // Procfs returns whole lines; another read to reach the end would double the cost.
                break;
            }
        }
        let text = &mut self.bytes[..self.length];
        // A process name may contain any bytes, such as an incomplete UTF-8 sequence.
        if !text.is_ascii() && std::str::from_utf8(text).is_err() {
            text.iter_mut().filter(|byte| !byte.is_ascii()).for_each(|byte| *byte = b'?');
        }
        std::str::from_utf8(text).ok()
    }
}

/// Return the n-th number of the first line that starts with `key`.
pub(crate) fn number(text: &str, key: &str, nth: usize) -> Option<u64> {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(key))?;
    line.split_ascii_whitespace().nth(nth)?.parse().ok()
}

/// Return the fields of `/proc/PID/stat` after the name, starting with the state. The name may contain brackets.
pub(crate) fn stat_fields(text: &str) -> Option<Vec<&str>> {
    Some(text.rsplit_once(')')?.1.split_ascii_whitespace().collect())
}

/// Return the name in `/proc/PID/stat`.
pub(crate) fn stat_name(text: &str) -> &str {
    text.split_once('(').and_then(|(_, rest)| rest.rsplit_once(')')).map_or("", |(name, _)| name)
}

/// Detects new processes or threads by the last PID that the host assigned: listing `/proc` would cost a hundred times
/// as much.
pub(crate) struct ProcessBirths {
    source: Option<Source>,
    last: String,
}

impl ProcessBirths {
    pub(crate) fn new(proc: &Path) -> Self {
        Self { source: Source::open(proc.join("loadavg")).ok(), last: String::new() }
    }

    pub(crate) fn has_new(&mut self) -> bool {
        let Some(text) = self.source.as_mut().and_then(Source::read) else { return true };
        let last = text.rsplit(' ').next().unwrap_or_default();
        let has_new = last != self.last;
        if has_new {
            self.last = last.to_owned();
        }
        has_new
    }
}

/// Return the numeric entries of a folder, such as processes or threads.
pub(crate) fn numeric_entries(folder: &Path) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_names_may_contain_separators() {
        let text = "7 (a) R (b) S 1 7 7 0 -1 4194560 250 0 1 0 12 34 0 0 20 0 5 0 99 1 2";
        assert_eq!(stat_name(text), "a) R (b");
        let fields = stat_fields(text).unwrap();
        assert_eq!((fields[0], fields[11], fields[12]), ("S", "12", "34"));
    }
}
