//! The application's cgroup, version 1 or 2.

use std::path::{Path, PathBuf};

use serde_json::{json, Value};

use super::source::{number, Source};
use super::Collector;
use crate::counters::{Id, Values};

/// Open files of a cgroup; None if missing.
pub(crate) struct Cgroup {
    stat: Option<Source>,
    /// Version 1 has the CPU time in a separate file.
    usage: Option<Source>,
    memory: Option<Source>,
    /// Whether a group exists that cannot be found below the mounts of this process.
    hidden: bool,
    /// Whether the process is in the root group, which has no quota.
    in_root: bool,
}

impl Cgroup {
    /// Open the group of a process. The root's files are not read, because they count the whole host.
    pub(crate) fn of_process(root: &Path, pid: u32) -> Self {
        let read = |path: &str| hindmost_sys::file::read_kernel(root.join(path)).unwrap_or_default();
        let (groups, mounted) = (read(&format!("proc/{pid}/cgroup")), mounts(&read("proc/self/mountinfo")));
        let (mut hidden, mut in_root) = (false, false);
        let mut find = |controller: Option<&str>| -> Option<PathBuf> {
            let path = path_of(&groups, controller)?;
            let Some(place) = folder(root, &mounted, controller, path) else {
                hidden = true;
                return None;
            };
            // Only the real root of a hierarchy has `release_agent` (v1) or lacks `cgroup.events` (v2), even where a
            // namespace shows another group as root.
            let true_root = match controller {
                Some(_) => place.join("release_agent").exists(),
                None => !place.join("cgroup.events").exists(),
            };
            // Version 1 controls the CPU if it has that controller.
            in_root |= true_root && (controller == Some("cpu") || path_of(&groups, Some("cpu")).is_none());
            (!true_root).then_some(place)
        };
        let open = |path: &Option<PathBuf>, file: &str| Source::open(path.as_ref()?.join(file)).ok();
        let (cpu, cpuacct, memory) = (find(Some("cpu")), find(Some("cpuacct")), find(Some("memory")));
        let unified = find(None);
        Self {
            stat: open(&cpu, "cpu.stat").or_else(|| open(&unified, "cpu.stat")),
            usage: open(&cpuacct, "cpuacct.usage"),
            memory: open(&memory, "memory.usage_in_bytes").or_else(|| open(&unified, "memory.current")),
            hidden,
            in_root,
        }
    }

    /// Open a group by its folder.
    pub(crate) fn open(folder: &Path) -> Self {
        let open = |file: &str| Source::open(folder.join(file)).ok();
        Self {
            stat: open("cpu.stat"),
            usage: open("cpuacct.usage"),
            memory: open("memory.current").or_else(|| open("memory.usage_in_bytes")),
            hidden: false,
            in_root: false,
        }
    }
}

/// A mounted hierarchy: its v1 controllers (none for v2), the group shown at the mount point, and the mount point.
struct Mount {
    controllers: Vec<String>,
    shown_group: PathBuf,
    place: PathBuf,
}

/// Return the cgroup mounts (`proc_pid_mountinfo(5)`). The last mount at a mount point hides earlier ones.
fn mounts(text: &str) -> Vec<Mount> {
    let mut found: Vec<Mount> = Vec::new();
    for (mount, source) in text.lines().filter_map(|line| line.split_once(" - ")) {
        let mut source = source.split(' ');
        let kind = source.next().unwrap_or_default();
        let fields: Vec<PathBuf> =
            mount.split(' ').map(|field| field.replace("\\040", " ").replace("\\134", "\\").into()).collect();
        let (true, Some(shown_group), Some(place)) =
            (kind.starts_with("cgroup"), fields.get(3), fields.get(4))
        else {
            continue;
        };
        let options = if kind == "cgroup" { source.nth(1).unwrap_or_default() } else { "" };
        let controllers = options.split(',').filter(|one| !one.is_empty()).map(str::to_owned).collect();
        found.retain(|one| one.place != *place);
        found.push(Mount { controllers, shown_group: shown_group.clone(), place: place.clone() });
    }
    found
}

/// Return the path of a process's group in the hierarchy of a v1 controller, or in v2.
fn path_of<'t>(groups: &'t str, controller: Option<&str>) -> Option<&'t str> {
    groups.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let is_match =
            controller.map_or(controllers.is_empty(), |one| controllers.split(',').any(|its| its == one));
        is_match.then_some(path)
    })
}

/// Return the folder of a group, if a mount shows it: a container may show only its own group.
fn folder(root: &Path, mounts: &[Mount], controller: Option<&str>, path: &str) -> Option<PathBuf> {
    let of_hierarchy = |mount: &&Mount| match controller {
        Some(one) => mount.controllers.iter().any(|its| its == one),
        None => mount.controllers.is_empty(),
    };
    mounts.iter().filter(of_hierarchy).find_map(|mount| {
        let inside = Path::new(path).strip_prefix(&mount.shown_group).ok()?;
        let place = root.join(mount.place.strip_prefix("/").ok()?).join(inside);
        place.join("cgroup.procs").exists().then_some(place)
    })
}

impl Collector for Cgroup {
    fn name(&self) -> &'static str {
        "cgroup"
    }

    fn read(&mut self, values: &mut Values) -> Option<Value> {
        let text = self.stat.as_mut().and_then(Source::read);
        let at = |key| text.and_then(|text| number(text, key, 0));
        let throttled_us = at("throttled_usec").or_else(|| at("throttled_time").map(|ns| ns / 1000));
        let no_quota = self.in_root.then_some(0);
        let usage =
            self.usage.as_mut().and_then(Source::read).and_then(|text| text.trim().parse::<u64>().ok());
        let bytes = self.memory.as_mut().and_then(Source::read).and_then(|text| text.trim().parse().ok());
        values.set_or_unknown(Id::CgroupCpu, usage.map(|ns| ns / 1000).or_else(|| at("usage_usec")));
        values.set_or_unknown(Id::CgroupThrottled, at("nr_throttled").or(no_quota));
        values.set_or_unknown(Id::CgroupThrottledTime, throttled_us.or(no_quota));
        values.set_or_unknown(Id::CgroupMemory, bytes);
        std::mem::take(&mut self.hidden).then(|| {
            json!({"cgroup": "the application's cgroup is not below the cgroups mounted here, so it is not read"})
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::tree::Tree;
    use crate::counters::UNKNOWN;

    fn read_values(tree: &Tree) -> [i64; 4] {
        let mut values = Values::new();
        Cgroup::of_process(tree.root(), 7).read(&mut values);
        [Id::CgroupCpu, Id::CgroupThrottled, Id::CgroupThrottledTime, Id::CgroupMemory]
            .map(|id| values.get(id))
    }

    const V1: &str = "30 20 0:1 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
        31 20 0:2 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n\
        32 20 0:3 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
        33 20 0:4 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

    #[test]
    fn version_1_is_read_from_three_folders_in_nanoseconds() {
        let tree = Tree::new("cgroup-1");
        tree.write("proc/self/mountinfo", V1);
        tree.write("proc/7/cgroup", "9:memory:/m\n2:cpuacct:/web\n1:cpu:/web\n0::/\n");
        for folder in ["cpu/web", "cpuacct/web", "memory/m", "unified"] {
            tree.write(&format!("sys/fs/cgroup/{folder}/cgroup.procs"), "7\n");
        }
        tree.write("sys/fs/cgroup/unified/cpu.stat", "usage_usec 99999\n");
        tree.write(
            "sys/fs/cgroup/cpu/web/cpu.stat",
            "nr_periods 9\nnr_throttled 3\nthrottled_time 4500000\n",
        );
        tree.write("sys/fs/cgroup/cpuacct/web/cpuacct.usage", "7000000\n");
        tree.write("sys/fs/cgroup/memory/m/memory.usage_in_bytes", "4096\n");
        assert_eq!(read_values(&tree), [7_000, 3, 4_500, 4_096]);
    }

    #[test]
    fn version_2_is_read_from_one_folder_in_microseconds() {
        let tree = Tree::new("cgroup-2");
        tree.write("proc/self/mountinfo", "30 20 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        tree.write("proc/7/cgroup", "0::/web\n");
        for (file, text) in [
            ("cgroup.procs", "7\n"),
            ("cgroup.events", "populated 1\n"),
            ("cpu.stat", "usage_usec 70\nnr_throttled 2\nthrottled_usec 11\n"),
            ("memory.current", "8192\n"),
        ] {
            tree.write(&format!("sys/fs/cgroup/web/{file}"), text);
        }
        assert_eq!(read_values(&tree), [70, 2, 11, 8_192]);
    }

    #[test]
    fn a_group_mounted_as_root_in_a_container_is_read() {
        let tree = Tree::new("cgroup-container");
        let own = V1.lines().map(|line| line.replace(" / /", " /docker/1 /") + "\n").collect::<String>();
        // The host's mounts are still listed, but later mounts hide them.
        tree.write("proc/self/mountinfo", &(V1.to_owned() + &own));
        tree.write(
            "proc/7/cgroup",
            "9:memory:/docker/1\n2:cpuacct:/docker/1\n1:cpu:/docker/1\n0::/docker/1\n",
        );
        for folder in ["cpu", "cpuacct", "memory", "unified"] {
            tree.write(&format!("sys/fs/cgroup/{folder}/cgroup.procs"), "7\n");
        }
        tree.write("sys/fs/cgroup/cpuacct/cpuacct.usage", "7000000\n");
        tree.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "4096\n");
        assert_eq!(read_values(&tree), [7_000, UNKNOWN, UNKNOWN, 4_096]);
    }

    #[test]
    fn a_group_outside_the_mounts_is_unknown_and_reported_once() {
        let tree = Tree::new("cgroup-hidden");
        tree.write("proc/self/mountinfo", "30 20 0:1 /docker/1 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        tree.write("proc/7/cgroup", "0::/docker/2\n");
        tree.write("sys/fs/cgroup/cgroup.procs", "1\n");
        tree.write("sys/fs/cgroup/cpu.stat", "usage_usec 70\n");
        let (mut group, mut values) = (Cgroup::of_process(tree.root(), 7), Values::new());
        assert!(group.read(&mut values).is_some_and(|event| event["cgroup"].is_string()));
        assert!(group.read(&mut values).is_none());
        assert_eq!(values.get(Id::CgroupCpu), UNKNOWN);
    }

    #[test]
    fn the_root_group_of_the_host_is_not_read_and_has_no_quota() {
        let tree = Tree::new("cgroup-root");
        tree.write("proc/self/mountinfo", V1);
        tree.write("proc/7/cgroup", "2:cpuacct:/\n1:cpu:/\n0::/\n");
        for folder in ["cpu", "cpuacct", "unified"] {
            tree.write(&format!("sys/fs/cgroup/{folder}/cgroup.procs"), "7\n");
        }
        for folder in ["cpu", "cpuacct"] {
            tree.write(&format!("sys/fs/cgroup/{folder}/release_agent"), "");
        }
        tree.write("sys/fs/cgroup/cpuacct/cpuacct.usage", "7000000\n");
        tree.write("sys/fs/cgroup/unified/cpu.stat", "usage_usec 70\n");
        assert_eq!(read_values(&tree), [UNKNOWN, 0, 0, UNKNOWN]);
    }
}
