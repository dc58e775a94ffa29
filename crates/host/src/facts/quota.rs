use schemars::JsonSchema;
use serde::Serialize;

use crate::tree::field;
use crate::Tree;

const MOUNT: &str = "sys/fs/cgroup";

/// The tightest CPU quota of this process's cgroup and its ancestors.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct CpuQuota {
    /// The file that sets it, relative to the root of the tree.
    pub file: String,
    /// Allowed CPU time per time, in CPUs.
    pub cpus: f64,
    /// Length of a period in microseconds.
    pub period_us: u64,
    /// Throttled periods over the life of the cgroup.
    pub throttled_periods: Option<u64>,
}

impl CpuQuota {
    /// Read the quota of this process's cgroup (cgroup v2 `cpu.max`, v1 `cpu.cfs_quota_us`); `None` if there is
    /// none. In a container the path may be the one on the host: only the folders on the path that exist here
    /// are read.
    pub fn read(tree: &Tree) -> Option<Self> {
        let groups = tree.text("proc/self/cgroup")?;
        groups
            .lines()
            .filter_map(|line| {
                let mut parts = line.splitn(3, ':').skip(1);
                Some((parts.next()?, parts.next()?))
            })
            .flat_map(|(controllers, path)| folders(controllers, path))
            .filter_map(|folder| Self::read_folder(tree, &folder))
            .min_by(|a, b| a.cpus.total_cmp(&b.cpus))
    }

    fn read_folder(tree: &Tree, folder: &str) -> Option<Self> {
        let (file, quota_us, period_us) = Self::v2(tree, folder).or_else(|| Self::v1(tree, folder))?;
        let stat = tree.text(&format!("{folder}/cpu.stat")).unwrap_or_default();
        (period_us > 0).then(|| Self {
            file,
            cpus: quota_us as f64 / period_us as f64,
            period_us,
            throttled_periods: field(&stat, "nr_throttled", ' ').and_then(|count| count.parse().ok()),
        })
    }

    /// `50000 100000`, or `max 100000` without a limit.
    fn v2(tree: &Tree, folder: &str) -> Option<(String, u64, u64)> {
        let file = format!("{folder}/cpu.max");
        let text = tree.text(&file)?;
        let (quota, period) = text.split_once(' ')?;
        Some((file, quota.parse().ok()?, period.parse().ok()?))
    }

    /// The quota is -1 without a limit.
    fn v1(tree: &Tree, folder: &str) -> Option<(String, u64, u64)> {
        let file = format!("{folder}/cpu.cfs_quota_us");
        let quota = tree.value(&file)?;
        let period = tree.value(&format!("{folder}/cpu.cfs_period_us"))?;
        Some((file, quota, period))
    }
}

/// Return the folders of a cgroup and its ancestors, below every possible mount point of its hierarchy.
fn folders(controllers: &str, path: &str) -> Vec<String> {
    let mounts: Vec<String> = match controllers {
        "" => vec![MOUNT.to_owned(), format!("{MOUNT}/unified")],
        _ if controllers.split(',').any(|name| name == "cpu") => {
            vec![format!("{MOUNT}/{controllers}"), format!("{MOUNT}/cpu")]
        }
        _ => return Vec::new(),
    };
    let path = path.trim_matches('/');
    let mut above: Vec<&str> = path.match_indices('/').map(|(end, _)| &path[..end]).collect();
    above.extend(["", path]);
    mounts
        .iter()
        .flat_map(|mount| {
            above.iter().map(move |group| format!("{mount}/{group}").trim_end_matches('/').to_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FakeTree;

    fn check(files: &[(&str, &str)], expected: Option<f64>) {
        let quota = CpuQuota::read(&FakeTree::new(files).tree());
        assert_eq!(quota.map(|quota| quota.cpus), expected, "{files:?}");
    }

    #[test]
    fn the_tightest_ancestor_counts() {
        let own = ("proc/self/cgroup", "0::/a/b/c\n");
        check(&[own, ("sys/fs/cgroup/a/b/c/cpu.max", "150000 100000\n")], Some(1.5));
        check(
            &[
                own,
                ("sys/fs/cgroup/a/cpu.max", "50000 100000\n"),
                ("sys/fs/cgroup/a/b/c/cpu.max", "150000 100000\n"),
            ],
            Some(0.5),
        );
        check(&[own, ("sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n")], None);
        check(&[own, ("sys/fs/cgroup/other/cpu.max", "50000 100000\n")], None);
    }

    #[test]
    fn the_limit_of_a_container_is_at_its_root() {
        let files = [("proc/self/cgroup", "0::/\n"), ("sys/fs/cgroup/cpu.max", "200000 100000")];
        check(&files, Some(2.0));
        let v1 = "12:pids:/docker/1\n4:cpu,cpuacct:/docker/1\n";
        let files = [
            ("proc/self/cgroup", v1),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "25000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "50000\n"),
        ];
        check(&files, Some(0.5));
    }

    #[test]
    fn missing_and_malformed_limits_are_none() {
        let own = ("proc/self/cgroup", "1:cpu:/\nnonsense\n0::/x\n");
        check(&[own, ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n")], None);
        check(
            &[own, ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "5"), ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "0")],
            None,
        );
        check(&[own, ("sys/fs/cgroup/cpu.max", "half all")], None);
        check(&[], None);
    }

    #[test]
    fn throttled_periods_are_read_if_they_are_counted() {
        let fake = FakeTree::new(&[
            ("proc/self/cgroup", "0::/a\n"),
            ("sys/fs/cgroup/a/cpu.max", "100000 100000"),
            ("sys/fs/cgroup/a/cpu.stat", "usage_usec 5\nnr_periods 9\nnr_throttled 4\n"),
        ]);
        let quota = CpuQuota::read(&fake.tree()).unwrap();
        assert_eq!(quota.throttled_periods, Some(4));
        assert_eq!(quota.file, "sys/fs/cgroup/a/cpu.max");
    }
}
