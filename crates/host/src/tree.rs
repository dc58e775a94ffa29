use std::path::PathBuf;
use std::str::FromStr;

use hindmost_sys::ethtool;

/// The files of a host below one root: `/`, or a test's folder with a copy of some of them. Read-only.
#[derive(Clone, Debug)]
pub struct Tree {
    root: PathBuf,
}

impl Tree {
    /// Create a reader of the files below `root`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Return the location of `path`, which is relative to the root.
    pub fn locate(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// Return interface and setting of a path `ethtool/INTERFACE/SETTING` if it must be read from the kernel,
    /// because settings of network interfaces have no file. In a test, such a path is an ordinary file.
    pub fn interface_setting<'a>(&self, path: &'a str) -> Option<(&'a str, &'a str)> {
        let below = path.strip_prefix("ethtool/").filter(|_| self.root.as_os_str() == "/")?;
        below.split_once('/')
    }

    /// Return the text of a file without surrounding white space; `None` if it cannot be read.
    pub fn text(&self, path: &str) -> Option<String> {
        if let Some((interface, setting)) = self.interface_setting(path) {
            return ethtool::read(interface, setting).map(|value| value.to_string());
        }
        let bytes = std::fs::read(self.locate(path)).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// Return the text of a file; `None` also if it is empty.
    pub fn non_empty_text(&self, path: &str) -> Option<String> {
        self.text(path).filter(|text| !text.is_empty())
    }

    /// Parse the whole text of a file; `None` if it is missing or malformed.
    pub fn value<T: FromStr>(&self, path: &str) -> Option<T> {
        self.text(path)?.parse().ok()
    }

    /// Read a file that contains `0` or `1`.
    pub(crate) fn flag(&self, path: &str) -> Option<bool> {
        match self.value::<u8>(path)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    /// Return the names in a folder, sorted; empty if there is no such folder.
    pub fn names(&self, path: &str) -> Vec<String> {
        let path = if path == "ethtool" { "sys/class/net" } else { path };
        let Ok(entries) = std::fs::read_dir(self.locate(path)) else {
            return Vec::new();
        };
        let mut names: Vec<String> =
            entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// Return the numbers of the names in a folder that consist of `prefix` and a number, ascending.
    pub fn numbers(&self, path: &str, prefix: &str) -> Vec<u32> {
        let mut numbers: Vec<u32> =
            self.names(path).iter().filter_map(|name| name.strip_prefix(prefix)?.parse().ok()).collect();
        numbers.sort_unstable();
        numbers
    }
}

/// Return the text after `key` and `separator` in a `key: value` file such as `/proc/self/status`.
pub(crate) fn field<'a>(text: &'a str, key: &str, separator: char) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(separator)?;
        (name.trim() == key).then(|| value.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FakeTree;

    #[test]
    fn missing_and_malformed_files_are_none() {
        let fake = FakeTree::new(&[("a/number", " 42\n"), ("a/junk", "4x2"), ("a/empty", "\n")]);
        let tree = fake.tree();
        assert_eq!(tree.value::<u32>("a/number"), Some(42));
        assert_eq!(tree.value::<u32>("/a/number"), Some(42));
        assert_eq!(tree.value::<u32>("a/junk"), None);
        assert_eq!(tree.value::<u32>("a/none"), None);
        assert_eq!(tree.non_empty_text("a/empty"), None);
        assert_eq!(tree.flag("a/number"), None);
    }

    #[test]
    fn numbered_names_are_sorted_by_number() {
        let fake = FakeTree::new(&[("cpu/cpu10/x", ""), ("cpu/cpu9/x", ""), ("cpu/cpufreq/x", "")]);
        assert_eq!(fake.tree().numbers("cpu", "cpu"), [9, 10]);
        assert!(fake.tree().numbers("none", "cpu").is_empty());
    }

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let text = "Cpus_allowed:\t3\nCpus_allowed_list:\t0-1\n";
        assert_eq!(field(text, "Cpus_allowed_list", ':'), Some("0-1"));
        assert_eq!(field(text, "Cpus", ':'), None);
    }
}
