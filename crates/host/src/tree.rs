use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::PathBuf;
use std::str::FromStr;

use hindmost_sys::ethtool;
use hindmost_sys::process::effective_user;

/// The files of a host below one root: `/` itself, or the copy of some of them that a test laid out.
#[derive(Clone, Debug)]
pub struct Tree {
    root: PathBuf,
}

impl Tree {
    /// The files below `root`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Where `path`, relative to the root, lies.
    fn locate(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// The part of `path` below `ethtool/`, where it is to be asked of the kernel: what a network interface is set to
    /// has no file, so it gets the path `ethtool/INTERFACE/SETTING`, which in a test is a file like any other.
    fn asked<'a>(&self, path: &'a str) -> Option<(&'a str, &'a str)> {
        let below = path.strip_prefix("ethtool/").filter(|_| self.root.as_os_str() == "/")?;
        below.split_once('/')
    }

    /// The text of a file without the white space around it; `None` where it cannot be read.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        if let Some((interface, setting)) = self.asked(path) {
            return ethtool::read(interface, setting).map(|value| value.to_string());
        }
        let bytes = std::fs::read(self.locate(path)).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// The text of a file, `None` also where it is empty.
    pub(crate) fn word(&self, path: &str) -> Option<String> {
        self.text(path).filter(|text| !text.is_empty())
    }

    /// Writes into a file that is there, in one call, as the kernel's files want it.
    pub(crate) fn write(&self, path: &str, text: &str) -> io::Result<()> {
        if let Some((interface, setting)) = self.asked(path) {
            let value = text.parse().map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
            #[expect(clippy::disallowed_methods, reason = "called by knobs only")]
            return ethtool::write(interface, setting, value);
        }
        let mut file = OpenOptions::new().write(true).truncate(true).open(self.locate(path))?;
        file.write_all(text.as_bytes())
    }

    /// Removes a folder that holds nothing of its own, such as a cgroup.
    pub(crate) fn remove_folder(&self, path: &str) -> io::Result<()> {
        std::fs::remove_dir(self.locate(path))
    }

    /// Why a file cannot be written; `None` where it can.
    pub(crate) fn fixed(&self, path: &str) -> Option<String> {
        if self.asked(path).is_some() {
            return (effective_user() != 0).then(|| "Operation not permitted".to_owned());
        }
        OpenOptions::new().write(true).open(self.locate(path)).err().map(|error| error.to_string())
    }

    /// The file's whole text as a value; `None` where it is missing or something else.
    pub(crate) fn value<T: FromStr>(&self, path: &str) -> Option<T> {
        self.text(path)?.parse().ok()
    }

    /// A file that holds `0` or `1`.
    pub(crate) fn flag(&self, path: &str) -> Option<bool> {
        match self.value::<u8>(path)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    /// The names in a folder, sorted; empty where there is none.
    pub(crate) fn names(&self, path: &str) -> Vec<String> {
        let path = if path == "ethtool" { "sys/class/net" } else { path };
        let Ok(entries) = std::fs::read_dir(self.locate(path)) else {
            return Vec::new();
        };
        let mut names: Vec<String> =
            entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// The names in a folder that are `prefix` and a number, as those numbers, ascending.
    pub(crate) fn numbered(&self, path: &str, prefix: &str) -> Vec<u32> {
        let mut numbers: Vec<u32> =
            self.names(path).iter().filter_map(|name| name.strip_prefix(prefix)?.parse().ok()).collect();
        numbers.sort_unstable();
        numbers
    }
}

/// What follows `key` and `separator` on its line of a `key: value` text such as `/proc/self/status`.
pub(crate) fn field<'a>(text: &'a str, key: &str, separator: char) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(separator)?;
        (name.trim() == key).then(|| value.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_tree::FakeTree;

    #[test]
    fn what_is_missing_or_garbage_is_none() {
        let fake = FakeTree::new(&[("a/number", " 42\n"), ("a/junk", "4x2"), ("a/empty", "\n")]);
        let tree = fake.tree();
        assert_eq!(tree.value::<u32>("a/number"), Some(42));
        assert_eq!(tree.value::<u32>("/a/number"), Some(42));
        assert_eq!(tree.value::<u32>("a/junk"), None);
        assert_eq!(tree.value::<u32>("a/none"), None);
        assert_eq!(tree.word("a/empty"), None);
        assert_eq!(tree.flag("a/number"), None);
    }

    #[test]
    fn numbered_names_come_in_the_order_of_their_numbers() {
        let fake = FakeTree::new(&[("cpu/cpu10/x", ""), ("cpu/cpu9/x", ""), ("cpu/cpufreq/x", "")]);
        assert_eq!(fake.tree().numbered("cpu", "cpu"), [9, 10]);
        assert!(fake.tree().numbered("none", "cpu").is_empty());
    }

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let text = "Cpus_allowed:\t3\nCpus_allowed_list:\t0-1\n";
        assert_eq!(field(text, "Cpus_allowed_list", ':'), Some("0-1"));
        assert_eq!(field(text, "Cpus", ':'), None);
    }
}
