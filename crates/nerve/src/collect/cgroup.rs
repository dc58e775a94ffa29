//! The application's cgroup, of version 2 or 1.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::source::{number, Source};
use super::Collector;
use crate::counters::{Id, Values};

/// Files of one cgroup, as far as they are there.
pub(crate) struct Cgroup {
    stat: Option<Source>,
    /// Version 1 has the time in a file of its own.
    usage: Option<Source>,
    memory: Option<Source>,
}

impl Cgroup {
    /// The group of a process.
    pub(crate) fn of(root: &Path, pid: u32) -> Self {
        let text =
            hindmost_sys::file::read_kernel(root.join(format!("proc/{pid}/cgroup"))).unwrap_or_default();
        let find = |controller: &str| -> Option<PathBuf> {
            text.lines().find_map(|line| {
                let mut parts = line.splitn(3, ':').skip(1);
                let (controllers, path) = (parts.next()?, parts.next()?);
                let has = controllers.split(',').any(|one| one == controller);
                has.then(|| folder(root, controller, path)).flatten()
            })
        };
        let unified = text.lines().find_map(|line| folder(root, "unified", line.strip_prefix("0::")?));
        let open = |path: Option<PathBuf>, file: &str| Source::open(path?.join(file)).ok();
        Self {
            stat: open(find("cpu").or_else(|| unified.clone()), "cpu.stat"),
            usage: open(find("cpuacct"), "cpuacct.usage"),
            memory: open(find("memory"), "memory.usage_in_bytes").or_else(|| open(unified, "memory.current")),
        }
    }

    /// A group by its folder.
    pub(crate) fn at(folder: &Path) -> Self {
        let open = |file: &str| Source::open(folder.join(file)).ok();
        Self {
            stat: open("cpu.stat"),
            usage: open("cpuacct.usage"),
            memory: open("memory.current").or_else(|| open("memory.usage_in_bytes")),
        }
    }
}

fn folder(root: &Path, controller: &str, path: &str) -> Option<PathBuf> {
    let top = root.join("sys/fs/cgroup");
    let below = path.trim_start_matches('/');
    let places = [top.join(controller), top.join("cpu,cpuacct"), top.clone()];
    let found = places.into_iter().map(|place| place.join(below));
    found.into_iter().find(|place| place.join("cgroup.procs").exists())
}

impl Collector for Cgroup {
    fn name(&self) -> &'static str {
        "cgroup"
    }

    fn read(&mut self, values: &mut Values) -> Option<Value> {
        if let Some(text) = self.stat.as_mut().and_then(Source::read) {
            if let Some(usage) = number(text, "usage_usec", 0) {
                values.set(Id::CgroupCpu, usage);
            }
            values.set(Id::CgroupThrottled, number(text, "nr_throttled", 0).unwrap_or(0));
            let time = number(text, "throttled_usec", 0)
                .or_else(|| number(text, "throttled_time", 0).map(|nanoseconds| nanoseconds / 1000));
            values.set(Id::CgroupThrottledTime, time.unwrap_or(0));
        }
        if let Some(ns) =
            self.usage.as_mut().and_then(Source::read).and_then(|text| text.trim().parse::<u64>().ok())
        {
            values.set(Id::CgroupCpu, ns / 1000);
        }
        if let Some(bytes) =
            self.memory.as_mut().and_then(Source::read).and_then(|text| text.trim().parse().ok())
        {
            values.set(Id::CgroupMemory, bytes);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::tree::Tree;

    fn told(tree: &Tree) -> [i64; 4] {
        let mut values = Values::new();
        Cgroup::of(tree.root(), 7).read(&mut values);
        [Id::CgroupCpu, Id::CgroupThrottled, Id::CgroupThrottledTime, Id::CgroupMemory]
            .map(|id| values.get(id))
    }

    #[test]
    fn version_1_has_nanoseconds_in_three_folders() {
        let tree = Tree::new("cgroup-1");
        tree.write("proc/7/cgroup", "9:memory:/m\n2:cpuacct:/web\n1:cpu:/web\n0::/\n");
        for folder in ["cpu/web", "cpuacct/web", "memory/m"] {
            tree.write(&format!("sys/fs/cgroup/{folder}/cgroup.procs"), "7\n");
        }
        tree.write(
            "sys/fs/cgroup/cpu/web/cpu.stat",
            "nr_periods 9\nnr_throttled 3\nthrottled_time 4500000\n",
        );
        tree.write("sys/fs/cgroup/cpuacct/web/cpuacct.usage", "7000000\n");
        tree.write("sys/fs/cgroup/memory/m/memory.usage_in_bytes", "4096\n");
        assert_eq!(told(&tree), [7_000, 3, 4_500, 4_096]);
    }

    #[test]
    fn version_2_has_microseconds_in_one() {
        let tree = Tree::new("cgroup-2");
        tree.write("proc/7/cgroup", "0::/web\n");
        tree.write("sys/fs/cgroup/web/cgroup.procs", "7\n");
        tree.write("sys/fs/cgroup/web/cpu.stat", "usage_usec 70\nnr_throttled 2\nthrottled_usec 11\n");
        tree.write("sys/fs/cgroup/web/memory.current", "8192\n");
        assert_eq!(told(&tree), [70, 2, 11, 8_192]);
    }
}
