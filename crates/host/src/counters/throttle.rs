use serde::Serialize;

use crate::facts::CpuQuota;
use crate::Tree;

/// How often this process's control group was stopped because it had used up its CPU quota, since it was
/// made or between two readings. A stop lasts until the next period: up to 100 ms, on all its CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Throttling {
    /// Periods with a stop.
    pub periods: u64,
}

impl Throttling {
    /// Reads the group's `cpu.stat`; `None` where there is no quota.
    pub fn read(tree: &Tree) -> Option<Self> {
        Some(Self { periods: CpuQuota::read(tree)?.throttled_periods? })
    }

    /// What happened after `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self { periods: self.periods.saturating_sub(earlier.periods) }
    }
}
