//! A file of /proc, /sys or a cgroup that stays open.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A kept-open file with its last contents.
pub(crate) struct Source {
    file: File,
    bytes: Vec<u8>,
    length: usize,
}

impl Source {
    pub(crate) fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        Ok(Self { file: File::open(path)?, bytes: vec![0; 1024], length: 0 })
    }

    /// The contents now; `None` where they are gone, with their process or cgroup.
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
                // Procfs gives whole lines; a second read only to hear of the end would double the cost.
                break;
            }
        }
        let text = &mut self.bytes[..self.length];
        // A process may have any bytes in its name, such as half a letter.
        if !text.is_ascii() && std::str::from_utf8(text).is_err() {
            text.iter_mut().filter(|byte| !byte.is_ascii()).for_each(|byte| *byte = b'?');
        }
        std::str::from_utf8(text).ok()
    }
}

/// The n-th number of a line that begins with `key`.
pub(crate) fn number(text: &str, key: &str, nth: usize) -> Option<u64> {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(key))?;
    line.split_ascii_whitespace().nth(nth)?.parse().ok()
}

/// The fields of `/proc/PID/stat` after the name, which may itself hold brackets: the state is the first.
pub(crate) fn stat_fields(text: &str) -> Option<Vec<&str>> {
    Some(text.rsplit_once(')')?.1.split_ascii_whitespace().collect())
}

/// The name in `/proc/PID/stat`.
pub(crate) fn stat_name(text: &str) -> &str {
    text.split_once('(').and_then(|(_, rest)| rest.rsplit_once(')')).map_or("", |(name, _)| name)
}

/// Whether the host has made a process or a thread since it was last asked, by the last number that it gave: a
/// listing of `/proc` costs a hundred times as much.
pub(crate) struct Births {
    source: Option<Source>,
    last: String,
}

impl Births {
    pub(crate) fn of(proc: &Path) -> Self {
        Self { source: Source::open(proc.join("loadavg")).ok(), last: String::new() }
    }

    pub(crate) fn any(&mut self) -> bool {
        let Some(text) = self.source.as_mut().and_then(Source::read) else { return true };
        let last = text.rsplit(' ').next().unwrap_or_default();
        let any = last != self.last;
        if any {
            self.last = last.to_owned();
        }
        any
    }
}

/// Numbers that name entries of a folder, as processes and threads have them.
pub(crate) fn numbered(folder: &Path) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_hold_what_separates_fields() {
        let text = "7 (a) R (b) S 1 7 7 0 -1 4194560 250 0 1 0 12 34 0 0 20 0 5 0 99 1 2";
        assert_eq!(stat_name(text), "a) R (b");
        let fields = stat_fields(text).unwrap();
        assert_eq!((fields[0], fields[11], fields[12]), ("S", "12", "34"));
    }
}
