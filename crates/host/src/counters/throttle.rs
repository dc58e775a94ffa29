use schemars::JsonSchema;
use serde::Serialize;

use crate::facts::CpuQuota;
use crate::Tree;

/// How often this process's cgroup was throttled because it had used up its CPU quota, over its life or between two
/// readings. It then stands still until the next period: up to 100 ms, on all its CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Throttling {
    /// Number of throttled periods.
    pub periods: u64,
    /// Length of a period in microseconds.
    pub period_us: u64,
}

impl Throttling {
    /// Read the cgroup's `cpu.stat`; `None` if there is no quota.
    pub fn read(tree: &Tree) -> Option<Self> {
        let quota = CpuQuota::read(tree)?;
        Some(Self { periods: quota.throttled_periods?, period_us: quota.period_us })
    }

    /// Return the difference to `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self { periods: self.periods.saturating_sub(earlier.periods), ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FakeTree;

    #[test]
    fn throttled_periods_are_counted_if_there_is_a_quota() {
        let fake = FakeTree::new(&[
            ("proc/self/cgroup", "0::/a\n"),
            ("sys/fs/cgroup/a/cpu.max", "50000 100000"),
            ("sys/fs/cgroup/a/cpu.stat", "nr_periods 9\nnr_throttled 4\n"),
        ]);
        let before = Throttling::read(&fake.tree()).unwrap();
        fake.write("sys/fs/cgroup/a/cpu.stat", b"nr_periods 90\nnr_throttled 11\n");
        let span = Throttling::read(&fake.tree()).unwrap().since(&before);
        assert_eq!(span, Throttling { periods: 7, period_us: 100_000 });
        fake.write("sys/fs/cgroup/a/cpu.max", b"max 100000");
        assert_eq!(Throttling::read(&fake.tree()), None);
    }
}
